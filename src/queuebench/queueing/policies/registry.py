"""The registry of dispatch policies.

A policy is one module of this package that calls `register`. The kernel reaches it through
`choose`, a chain of compiled comparisons built from the registry: numba cannot reload from its cache a
kernel that receives a function as an argument, but it can one that calls a global function.
"""

from collections.abc import Callable
from dataclasses import dataclass

from queuebench.jit import inlined


@dataclass(frozen=True)
class Policy:
    """A dispatch policy as the rest of the package knows it.

    Attributes
    ----------
    name : str
        Name in a study.
    code : int
        Number by which the kernel knows it.
    rule : Callable
        ``rule(permutation, start, size, d, seen, speeds, turn, pool) -> server``, compiled; see `register`.
    parameters : tuple of str
        Names of the parameters a study gives.
    samples : Callable
        ``samples(size, **parameters) -> int``: how many entries of the permutation of a pool of
        `size` servers the policy reads.
    capacity : Callable
        ``capacity(speeds, **parameters) -> list of (servers, share, capacity)``, see
        `queuebench.queueing.policies.capacity`: the policy is stable if for each entry
        ``rate * share < capacity``.
    evenly_blind : Callable
        ``evenly_blind(**parameters) -> bool``: whether every server gets the same flow whatever its
        length (random routing, round robin).
    module : str
        Where the rule is defined.
    """

    name: str
    code: int
    rule: Callable
    parameters: tuple[str, ...]
    samples: Callable
    capacity: Callable
    evenly_blind: Callable
    module: str


_POLICIES: dict[str, Policy] = {}


def register(name, *, parameters=(), samples, capacity, evenly_blind=lambda **_: False):
    """Return a decorator that registers a compiled rule under a name.

    The rule is compiled into the kernel and called for every arrival as ``rule(permutation, start,
    size, d, seen, speeds, turn, pool)``; it returns a server's number. The arm's servers, in the
    arrival's random order, are ``permutation[start : start + size]``, of which the first ``samples``
    entries are valid; `seen` holds the length of each of those servers' queues as the dispatcher
    sees it, `speeds` the service rates, `turn` how many jobs this arm has routed so far, and
    ``pool[start : start + size]`` the arm's servers in increasing order.
    """

    def decorate(rule):
        if name in _POLICIES:
            raise ValueError(f"a dispatch policy named {name} is registered already")
        _POLICIES[name] = Policy(
            name,
            len(_POLICIES),
            inlined(rule),
            tuple(parameters),
            samples,
            capacity,
            evenly_blind,
            rule.__module__,
        )
        return rule

    return decorate


def policy(name):
    """Return the policy registered under a name.

    Raises
    ------
    KeyError
        If there is none.
    """
    return _POLICIES[name]


def known_policies():
    """Return the names of the registered policies, sorted."""
    return sorted(_POLICIES)


def build_chooser():
    """Return the compiled ``choose(code, ...)``, which calls the rule of that code; see `register`."""
    chooser = _unknown
    for entry in _POLICIES.values():
        chooser = _link(entry.code, entry.rule, chooser)
    return chooser


@inlined
def _unknown(code, permutation, start, size, d, seen, speeds, turn, pool):
    return -1


def _link(number, rule, others):
    @inlined
    def choose(code, permutation, start, size, d, seen, speeds, turn, pool):
        if code == number:
            return rule(permutation, start, size, d, seen, speeds, turn, pool)
        return others(code, permutation, start, size, d, seen, speeds, turn, pool)

    return choose
