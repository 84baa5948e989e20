"""The registry of estimators.

An estimator is one function ``f(record, horizon) -> Estimate`` decorated with `register`. It reads
whatever it needs from the record; what several estimators need is computed once per record.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

ESTIMANDS = ("effect", "slope", "arm difference")
"""What an estimate is of: all treated minus none (of halves of the system in the group design); the slope of
the mean response in the treated share, at the share run; or treated minus control jobs as they were run."""

ASSUMPTIONS = {
    "equal_service": "a job needs the same service in either arm",
    "size_blind": "the service that a job needs does not depend on where its policy sends it",
    "queue_state": "jobs that meet equally long queues at equally fast servers respond alike in both arms",
    "first_come": "servers work on one job at a time, in order of arrival",
    "exponential": "service times are exponential, so that queue lengths are the state of the system",
    "structure": "policies, speeds, travel time and information are those described",
    "independent_assignment": "every arrival's arm was drawn independently of the others",
    "constant_share": "the treated share was the same throughout",
    "complete": "the record holds every job, so that queues can be counted from it",
    "own_servers": "each arm has its own servers",
    "polynomial_in_share": "the mean response is a polynomial in the treated share, of as high a degree "
    "as the shares run can tell",
}
"""What estimators may assume of a record, and what a record may show to be false."""

RANDOMISED = ("independent_assignment", "constant_share")
"""What is assumed where arms are compared by weights that one probability of treatment gives."""


EXACT = ("arm difference", "response", "queue", "mixture")
"""What the exact oracle knows of an estimator: the mean difference of the arms, or Differences in Q truncated
at its horizon with the response-time cost, the queue-length cost or a mixture of both."""

COMPARED = ("structural", "model_based", "model_free")
"""Kinds of assumptions whose estimates are compared: the structure of the system, queue lengths as its state,
and neither."""

ROLES = (
    "baseline", "queue_cost", "response_cost", "mixture", "halves", "blocks", "later_blocks",
    "corrected_blocks", "resimulation",
)  # fmt: skip
"""Parts of which claims, reports and figures speak, each played by one estimator: the comparison made without
a thought; Differences in Q with one cost, the other, and both; two halves of the servers; switchback with
whole blocks, with their later parts, and corrected for what carries over; running the record again."""


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
        Why something is missing, or what a specification check says, else empty.
    check : float
        P-value of the estimator's check of its own assumptions, NaN where it has none.
    horizon : float
        The horizon it chose for itself, in mean service times; NaN for other estimators.
    parts : ndarray of float64, shape (batches,), optional
        Pseudo-values of the batches behind the standard error: nearly independent, with the estimate as
        their mean. Those of two estimators on one record say how far the two may differ.
    """

    value: float
    standard_error: float = math.nan
    freedom: int = 0
    kernel_error: float = math.nan
    alpha: float = math.nan
    note: str = ""
    check: float = math.nan
    horizon: float = math.nan
    parts: np.ndarray | None = None


class EstimationError(ValueError):
    """A record on which an estimator is not defined."""


def require_both_arms(control, treated):
    """Refuse a record in which one arm was never drawn: it says nothing of the difference.

    Weighted forms would not notice, as sums of an empty arm are zero and not undefined.

    Parameters
    ----------
    control, treated : float
        Arrivals of either arm.

    Raises
    ------
    EstimationError
        If one of them is below 1.
    """
    if min(control, treated) < 1:
        raise EstimationError("an arm has no arrivals")


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
    needs_choices : bool
        Whether the trace must hold the choices of both arms.
    needs_structure : bool
        Whether policies, speeds and information must be known (`Setting.structure`).
    needs_constant_rate : bool
        Whether its value model leaves the time out of the state, so that it is wrong under a periodic
        arrival rate.
    nanoseconds : float
        About how much CPU time it takes per arrival (and horizon, if it uses one) beside the others, as
        `make bench` prints it; for telling what a study will cost.
    estimand : str
        One of `ESTIMANDS`.
    assumes : collection of str
        Keys of `ASSUMPTIONS`; where one is false its estimates mislead.
    rank : int
        Place among those that may stand for a log as its one number, 1 before 2; 0 for those that may not:
        what they rest on is not tested on the log, or they are known to mislead. A place is given by what
        is known of bias, not by spread.
    usual : bool
        Whether it is used on a log whose description asks for none: quick, neither erratic nor known to
        mislead.
    exact : str
        One of `EXACT`, empty where the oracle does not know what it estimates.
    compared : str
        One of `COMPARED` that it may stand for, the first by rank at hand; else empty.
    role : str
        One of `ROLES`, or empty.
    place : int
        Place in figures; those without one (0) follow in alphabetical order.

    Raises
    ------
    ValueError
        If a word is not a known one.
    """

    name: str
    function: Callable
    design: str
    uses_horizon: bool = False
    needs_cycle: bool = False
    needs_grid: bool = False
    observed_costs: bool = False
    needs_choices: bool = False
    needs_structure: bool = False
    needs_constant_rate: bool = False
    nanoseconds: float = 8.0
    estimand: str = "slope"
    assumes: Collection[str] = tuple(ASSUMPTIONS)
    rank: int = 0
    usual: bool = False
    exact: str = ""
    compared: str = ""
    role: str = ""
    place: int = 0

    def __post_init__(self):
        object.__setattr__(self, "assumes", frozenset(self.assumes))
        for what, words, known in (
            ("estimand", [self.estimand], ESTIMANDS),
            ("assumption", self.assumes, ASSUMPTIONS),
            ("exact answer", [self.exact], ("", *EXACT)),
            ("comparison", [self.compared], ("", *COMPARED)),
            ("role", [self.role], ("", *ROLES)),
        ):
            if unknown := set(words) - set(known):
                raise ValueError(
                    f"{self.name}: no {what} is named {min(unknown)!r}; known are "
                    + ", ".join(filter(None, known))
                )


_ESTIMATORS: dict[str, Estimator] = {}


def register(name: str, **attributes):
    """Return a decorator that registers an estimator for records of a kind of design.

    The keywords are the attributes of `Estimator`. One that does not say what it assumes is taken to assume
    everything, so that a finding never spares it for want of a word.

    Raises
    ------
    ValueError
        If the name or the role is taken, or a word is not a known one.
    """
    entry = Estimator(name, None, **attributes)

    def decorate(function):
        if name in _ESTIMATORS:
            raise ValueError(f"an estimator named {name} is registered already")
        if entry.role and any(entry.role == other.role for other in _ESTIMATORS.values()):
            raise ValueError(f"{name}: {in_role(entry.role).name} is the {entry.role} already")
        _ESTIMATORS[name] = replace(entry, function=function)
        return function

    return decorate


def in_role(role: str) -> Estimator:
    """Return the estimator that plays one of `ROLES`."""
    return next(entry for entry in _ESTIMATORS.values() if entry.role == role)


def roles() -> dict[str, str]:
    """Return the name of the estimator in each of `ROLES`."""
    return {role: in_role(role).name for role in ROLES}


def compared_estimators() -> dict[str, list[str]]:
    """Return by kind of assumptions the names of those that may stand for it, the first choice first."""
    entries = sorted(_ESTIMATORS.values(), key=lambda entry: entry.rank)
    return {kind: [e.name for e in entries if e.compared == kind] for kind in COMPARED}


def known_estimators():
    """Return the names of all estimators in the order of their registration."""
    return list(_ESTIMATORS)


def all_estimators():
    """Return all registered estimators."""
    return list(_ESTIMATORS.values())


def assuming(*assumptions, design=None):
    """Return the names of the estimators that assume any of some things.

    Parameters
    ----------
    *assumptions : str
        Keys of `ASSUMPTIONS`.
    design : str, optional
        Only estimators for records of this kind of design.

    Returns
    -------
    tuple of str
        In the order of their registration.
    """
    return tuple(
        entry.name
        for entry in _ESTIMATORS.values()
        if entry.assumes.intersection(assumptions) and design in (None, entry.design)
    )


def estimators_for(
    design, wanted="all", *, periodic=False, horizons=1, choices=False, structure=False
):
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
    choices, structure : bool
        Whether the trace holds the choices of both arms, and whether the setting has a structure.
    """
    return [
        entry
        for entry in _ESTIMATORS.values()
        if entry.design == design
        and (wanted == "all" or entry.name in wanted)
        and (periodic or not entry.needs_cycle)
        and not (periodic and entry.needs_constant_rate)
        and (horizons >= 3 or not entry.needs_grid)
        and (choices or not entry.needs_choices)
        and (structure or not entry.needs_structure)
    ]
