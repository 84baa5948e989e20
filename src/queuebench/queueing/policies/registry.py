"""The registry of dispatch policies.

A policy is one module of this package that calls `register`, or one from outside, a plug-in's, that is
imported before the first run. The kernel reaches its rule through a chain of compiled comparisons of codes
built from the registry: numba cannot reload from its cache a kernel that receives a function as an argument,
but it can one that calls a global function.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

from queuebench.base.jit import inlined, sources_hash


@dataclass(frozen=True)
class Parameter:
    """A parameter of a policy, a number that the study gives.

    Attributes
    ----------
    name : str
    least, most : float
        Between which it must lie, both allowed.
    whole : bool
        Whether it must be a whole number.
    of_servers : bool
        Whether the number of servers an arm chooses from is a bound too.
    """

    name: str
    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    of_servers: bool = False


SAMPLES = Parameter("d", least=1, whole=True, of_servers=True)
"""How many servers are sampled."""


@dataclass(frozen=True)
class Policy:
    """A dispatch policy as the rest of the package knows it.

    Attributes
    ----------
    name : str
        Name in a study.
    rule : Callable
        ``rule(permutation, start, size, parameters, seen, speeds, turn, pool, uniform) -> server``,
        compiled; see `register`.
    module : str
        Where the rule is defined.
    samples : Callable
        ``samples(size, **parameters) -> int``: how many entries of the permutation of a pool of
        `size` servers the policy reads.
    capacity : Callable
        ``capacity(speeds, **parameters) -> list of (servers, share, capacity)``, see
        `queuebench.queueing.policies.capacity`: the policy is stable if for each entry
        ``rate * share < capacity``.
    parameters : tuple of Parameter
        What a study gives.
    evenly_blind : Callable
        ``evenly_blind(**parameters) -> bool``: whether every server gets the same flow whatever its
        length (random routing, round robin).
    randomised : bool
        Whether the rule reads the random number it is given.
    joins_shortest : bool
        Whether it takes the shortest of the queues it reads, ties at random: then the exact oracle knows it.
    overload_is_certain : bool
        Whether it is unstable where `capacity` says so; else it is then not known to be stable.
    """

    name: str
    rule: Callable
    module: str
    samples: Callable
    capacity: Callable
    parameters: tuple[Parameter, ...] = ()
    evenly_blind: Callable = lambda **_: False
    randomised: bool = False
    joins_shortest: bool = False
    overload_is_certain: bool = True


_POLICIES: dict[str, Policy] = {}
_CODES: dict[str, int] = {}
"""By name, once a run has asked for one; from then on nothing can be registered."""


def register(name: str, **attributes):
    """Return a decorator that registers a rule under a name; the keywords are attributes of `Policy`.

    The rule is compiled into the kernel and called for every arrival as ``rule(permutation, start,
    size, parameters, seen, speeds, turn, pool, uniform)``; it returns a server's number. The arm's
    servers, in the arrival's random order, are ``permutation[start : start + size]``, of which the
    first ``samples`` entries are valid; `parameters` are the policy's own, floats in the order in which
    they are declared here; `seen` holds the length of each of those servers' queues as the
    dispatcher sees it, `speeds` the service rates, `turn` how many jobs this arm has routed so far, and
    ``pool[start : start + size]`` the arm's servers in increasing order. `uniform` is a random number
    from [0, 1), independent of the permutation and the same for both arms, for a policy registered
    as `randomised`; for others it means nothing.

    Raises
    ------
    ValueError
        If the name is taken.
    RuntimeError
        If there was a run already, whose kernel is without this policy.
    """

    def decorate(rule):
        if name in _POLICIES:
            raise ValueError(f"a dispatch policy named {name} is registered already")
        if _CODES:
            raise RuntimeError(
                f"the dispatch policy {name} comes too late, there was a run without it already; import "
                f"{rule.__module__} before the first"
            )
        _POLICIES[name] = Policy(name, inlined(rule), rule.__module__, **attributes)
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


def registered():
    """Return what the kernel's compiled code depends on besides the package's own sources.

    Returns
    -------
    str
        The policies in the order of their codes, with the sources of those from outside the package.
    """
    return ";".join(f"{name}={sources_hash(_POLICIES[name].module)}" for name in known_policies())


def code(name):
    """Return the number by which the kernel knows a policy: its place among the sorted names."""
    build_chooser()
    return _CODES[name]


@functools.cache
def build_chooser():
    """Return what the kernel calls; nothing can be registered after that.

    Returns
    -------
    choose : Callable
        Compiled ``choose(code, ...)``, which calls the rule of that code, see `register`; -1 for a code
        that no policy has, which the kernel must refuse before.
    codes : int
        How many codes there are, from 0.
    """
    _CODES.update((name, number) for number, name in enumerate(known_policies()))
    chooser = _unknown
    for name, number in _CODES.items():
        chooser = _link(number, _POLICIES[name].rule, chooser)
    return chooser, len(_CODES)


@inlined
def _unknown(code, permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    return -1


def _link(number, rule, others):
    @inlined
    def choose(code, permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
        if code == number:
            return rule(permutation, start, size, parameters, seen, speeds, turn, pool, uniform)
        return others(code, permutation, start, size, parameters, seen, speeds, turn, pool, uniform)

    return choose
