"""The registry of estimators.

An estimator is one function ``f(record, horizon) -> Estimate`` decorated with `register`. It reads
whatever it needs from the record; what several estimators need is computed once per record.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Estimate(NamedTuple):
    """What an estimator says about one record.

    Attributes
    ----------
    value : float
        Treatment minus control, in mean service times.
    standard_error : float
        From batch means; NaN where the record is too short for one, and `note` says so.
    freedom : int
        Degrees of freedom of the standard error, batches minus one; 0 without one.
    kernel_error : float
        From Newey and West's kernel estimate; NaN where there is none.
    alpha : float
        Weight of the response-time version in a mixture, NaN for other estimators.
    note : str
        Why something is missing, else empty.
    """

    value: float
    standard_error: float = math.nan
    freedom: int = 0
    kernel_error: float = math.nan
    alpha: float = math.nan
    note: str = ""


class EstimationError(ValueError):
    """A record on which an estimator is not defined."""


@dataclass(frozen=True)
class Estimator:
    """A registered estimator.

    Attributes
    ----------
    name : str
    function : Callable
    design : str
        Kind of design whose records it reads.
    uses_horizon : bool
        Whether it is truncated at a horizon; the others are called with horizon None.
    needs_cycle : bool
        Whether it is for periodic arrival rates only.
    needs_grid : bool
        Whether it chooses among several horizons.
    observed_costs : bool
        Whether its costs are observed responses and numbers in the system, so that it stays valid
        however the servers work.
    """

    name: str
    function: Callable
    design: str
    uses_horizon: bool
    needs_cycle: bool
    needs_grid: bool
    observed_costs: bool


_ESTIMATORS: dict[str, Estimator] = {}


def register(
    name, *, design, uses_horizon=False, needs_cycle=False, needs_grid=False, observed_costs=False
):
    """Return a decorator that registers an estimator for records of a kind of design.

    The keywords are the attributes of `Estimator`.
    """

    def decorate(function):
        if name in _ESTIMATORS:
            raise ValueError(f"an estimator named {name} is registered already")
        _ESTIMATORS[name] = Estimator(
            name, function, design, uses_horizon, needs_cycle, needs_grid, observed_costs
        )
        return function

    return decorate


def known_estimators():
    """Return the names of all estimators in the order of their registration."""
    return list(_ESTIMATORS)


def all_estimators():
    """Return all registered estimators."""
    return list(_ESTIMATORS.values())


def estimators_for(design, wanted="all", *, periodic=False, horizons=1):
    """Return the estimators that apply.

    Parameters
    ----------
    design : str
        Kind of design.
    wanted : "all" or list of str
        All that apply, or those of these names.
    periodic : bool
        Whether the arrival rate is periodic.
    horizons : int
        Number of horizons in the grid; fewer than three leave nothing to choose.
    """
    return [
        entry
        for entry in _ESTIMATORS.values()
        if entry.design == design
        and (wanted == "all" or entry.name in wanted)
        and (periodic or not entry.needs_cycle)
        and (horizons >= 3 or not entry.needs_grid)
    ]
