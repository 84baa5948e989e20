"""Admission policies and the registry that names them.

A policy is a function ``run(network, events, window)`` that returns a `Path`, registered under a
name in a module of this package. Every module here is found by itself: a new policy is one new
file.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

_REGISTRY = {}


@dataclass(frozen=True)
class Policy:
    """A registered policy.

    Attributes
    ----------
    name : str
    run : callable
        ``run(network, events, window) -> Path``; `window` is None unless `lookahead` is "window".
    lookahead : str
        What the policy sees: "none", "window" (the next ``W``) or "all" (the whole list).
    threshold : callable
        ``threshold(network) -> int or None``, the number idle the policy compares with.
    judged : bool
        Whether its errors against the promise criterion are reported.
    """

    name: str
    run: Callable
    lookahead: str
    threshold: Callable
    judged: bool


def register(name, lookahead, threshold=lambda network: None, judged=True):
    """Register the decorated function as a policy.

    Parameters
    ----------
    name : str
    lookahead : {"none", "window", "all"}
    threshold : callable, optional
        Maps a `LossNetwork` to the number idle the policy compares with.
    judged : bool, optional
        Whether its errors against the promise criterion are reported.

    Raises
    ------
    ValueError
        If the name is taken or `lookahead` is not one of the three.
    """
    if lookahead not in ("none", "window", "all"):
        raise ValueError(f'lookahead must be "none", "window" or "all", got {lookahead!r}')

    def add(run):
        if name in _REGISTRY:
            raise ValueError(f"a policy named {name!r} is registered already")
        _REGISTRY[name] = Policy(name, run, lookahead, threshold, judged)
        return run

    return add


def modules() -> list[str]:
    """Return the dotted names of the modules that register policies."""
    return sorted(f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__))


def policies() -> dict[str, Policy]:
    """Return all registered policies by name, in alphabetical order."""
    for module in modules():
        importlib.import_module(module)
    return dict(sorted(_REGISTRY.items()))


def policy(name: str) -> Policy:
    """Return the policy registered under a name.

    Raises
    ------
    ValueError
        If there is none; the message lists those there are.
    """
    known = policies()
    if name not in known:
        raise ValueError(f"unknown policy {name!r}; known are {', '.join(known)}")
    return known[name]
