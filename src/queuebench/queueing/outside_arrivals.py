"""Arrival processes from outside the package.

Apart from those of the package, whose kernels would be compiled again after an edit of the settings.
"""

from collections.abc import Callable

from queuebench.study.settings import admit
from queuebench.study.types import Strict

_OUTSIDE: dict[str, Callable] = {}


def register_arrivals(model: type[Strict]) -> Callable:
    """Return a decorator that registers an arrival process from outside the package.

    Parameters
    ----------
    model : type
        What a study says of it: `kind`, its name, and parameters, each with its bounds.

    Returns
    -------
    Callable
        Of ``process(rng, rate, start, **parameters)``, a stationary stream of `rate` arrivals per mean
        service time from `start` on, with a ``fill(out)`` like that of
        `queuebench.queueing.arrivals.PoissonArrivals`: the same times
        from one stream however they are split into calls.

    Raises
    ------
    ValueError
        If the model has no name or one that is taken.
    """
    name = admit("arrival_process", model)
    return lambda process: _OUTSIDE.setdefault(name, process)


def outside_arrivals(kind: str) -> Callable | None:
    """Return the process from outside the package of a name, if there is one."""
    return _OUTSIDE.get(kind)
