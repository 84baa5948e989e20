"""Refining the state set until an answer stops changing.

An adapted set is refined by a smaller threshold, a cut one is compared with the next shorter cut.
The error reported is drawn from what the last refinement changed. Changes shrink from one
threshold to the next by more than half, so the last one exceeds the sum of those to come. From one
cut to the next they shrink about as fast as the mass at the cut: twice that geometric series is
reported.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from queuebench.queueing.oracle.adapt import grow, seed_chain
from queuebench.queueing.oracle.chain import Chain, build_chain, censored_flow
from queuebench.queueing.oracle.reach import TooManyStatesError, extrapolate_states
from queuebench.queueing.oracle.states import full_set, full_size
from queuebench.queueing.oracle.stationary import MAX_SWEEPS, improve, start_law, stationary_law

FIRST_THRESHOLD = 1e-4
REFINEMENT = 10.0
# Solvers stop far below the tolerance, but not below what double precision can resolve.
SOLVER_SHARE = 0.02
SOLVER_FLOOR = 1e-11
WARM_UP_SWEEPS = 10
# Costs grow with the cut, so changes shrink a little more slowly than the mass at the cut.
SAFETY = 2.0
# A set that is not covering only has to show where to grow.
ROUGH_SWEEPS = 100
# A set that more than this share of the events would leave says nothing about the ones to come.
COVERING = 0.01
# Giving up early takes a prediction this many times above what is allowed, from sets this large.
HOPELESS = 10
PREDICTIVE_STATES = 50_000


class NotSolvedError(RuntimeError):
    """An iteration did not reach its tolerance."""


@dataclass(frozen=True)
class Stage:
    """One state set in a sequence of finer ones, with its stationary law.

    Attributes
    ----------
    chain : Chain
        The chain on this set.
    law : ndarray of float64, shape (states,)
        Its stationary law.
    residual : float
        Bound on what the solver's residual does to the mean response time, in mean service times.
    """

    chain: Chain
    law: np.ndarray
    residual: float

    @property
    def mean_jobs(self):
        """Time-average number of jobs in the system."""
        return float(self.law @ self.chain.states.jobs())

    @property
    def mean_response(self):
        """Mean response time, by Little's law with the offered arrival rate."""
        return self.mean_jobs / self.chain.rate

    @cached_property
    def mass_at_cut(self):
        """Probability at the edge of the set.

        With a cut, the probability that some queue is that long. With an adapted set, the share of
        all events that would leave it and are redirected or suppressed.
        """
        chain, states = self.chain, self.chain.states
        if states.cut is not None:
            longest = states.length[states.first[1:] - 1]
            return float(self.law[longest == states.cut].sum())
        arrivals, departures = censored_flow(
            states.first, states.count, states.censored, chain.table, chain.rate, self.law
        )
        return float((arrivals + departures) / (2 * chain.rate))

    @property
    def covering(self):
        """Whether the chain is on the set nearly always, so that finer sets change little.

        Two sets that most events would leave can agree because both are wrong.
        """
        return self.chain.states.cut is not None or self.mass_at_cut <= COVERING


@dataclass(frozen=True)
class Refined:
    """Answers on the finest set.

    Attributes
    ----------
    stage, coarser : Stage
        The finest set and the one before it.
    values, errors : ndarray of float64, shape (answers,)
        The answers on the finest set and bounds on their errors: what the last refinement changed,
        plus what the solvers' residuals can do.
    """

    stage: Stage
    coarser: Stage
    values: np.ndarray
    errors: np.ndarray


def solver_tolerance(tolerance):
    """Return the tolerance of the solvers when results are wanted to ``tolerance``."""
    return max(SOLVER_SHARE * tolerance, SOLVER_FLOOR)


def refinement_error(coarser, finer, before, values):
    """Return bounds on what the states left out of the finer set change.

    Parameters
    ----------
    coarser, finer : Stage
        Two consecutive stages.
    before, values : array_like
        The same answers on each.

    Returns
    -------
    ndarray of float64, shape of the answers
    """
    change = np.abs(np.asarray(values) - np.asarray(before))
    if finer.chain.states.cut is None:
        return change
    shrink = finer.mass_at_cut / coarser.mass_at_cut
    return SAFETY * change * (shrink / (1 - shrink) if shrink < 1 else np.inf)


def refine(stages, answers, tolerance) -> Refined:
    """Take stages until the answers' errors are within the tolerance, or the stages end.

    Parameters
    ----------
    stages : iterable of Stage
        Ever finer; at least two.
    answers : callable
        From a `Stage` to a sequence of answers and one of the errors that the solvers leave in
        them.
    tolerance : float
        Largest error wanted.

    Raises
    ------
    NotSolvedError
        If the stages end and the solvers' errors exceed the tolerance.
    """
    stage = values = None
    for finer in stages:
        if not finer.covering:
            continue
        coarser, before, stage = stage, values, finer
        values, solver_errors = map(np.asarray, answers(stage))
        if coarser is None:
            continue
        errors = refinement_error(coarser, stage, before, values) + solver_errors
        if np.all(errors <= tolerance):
            break
    else:
        if np.any(solver_errors > tolerance):
            raise NotSolvedError(
                f"the residuals leave errors up to {solver_errors.max():.1e}, above the tolerance "
                f"{tolerance:.1e}; a larger one would do"
            )
    return Refined(stage, coarser, values, errors)


def mean_response(stage):
    """Answer with the mean response time, for `refine`."""
    return [stage.mean_response], [stage.residual]


def cut_stages(servers, table, rate, cut, tolerance, max_states):
    """Yield the full sets cut at ``cut - 1`` and at ``cut``, solved.

    Parameters
    ----------
    servers : int
        Number of servers.
    table : ndarray of float64, shape (servers + 1,)
        Routing table.
    rate : float
        Arrival rate.
    cut : int
        Longest queue, at least 2.
    tolerance : float
        Error wanted in the mean response time.
    max_states : int
        Largest set allowed.

    Yields
    ------
    Stage

    Raises
    ------
    TooManyStatesError
        If the full set is larger than ``max_states``.
    """
    if full_size(servers, cut) > max_states:
        raise TooManyStatesError(full_size(servers, cut), max_states)
    for longest in (cut - 1, cut):
        chain = build_chain(full_set(servers, longest), table, rate)
        law = start_law(chain)
        improve(chain, law, WARM_UP_SWEEPS)
        yield _solved(chain, law, tolerance)


def adapted_stages(servers, table, rate, tolerance, max_states):
    """Yield adapted sets for ever smaller thresholds, solved, without end.

    Parameters
    ----------
    servers : int
        Number of servers.
    table : ndarray of float64, shape (servers + 1,)
        Routing table.
    rate : float
        Arrival rate.
    tolerance : float
        Error wanted in the mean response time.
    max_states : int
        Largest set allowed.

    Yields
    ------
    Stage

    Raises
    ------
    TooManyStatesError
        If the next set is larger than ``max_states``.
    """
    threshold, history = FIRST_THRESHOLD, []
    chain, law = seed_chain(servers, table, rate, threshold)
    while True:
        try:
            chain, law = grow(chain, law, threshold, max_states)
        except TooManyStatesError as error:
            if len(history) < 3:
                raise
            predicted = extrapolate_states(history, tolerance)
            raise TooManyStatesError(max(predicted, error.states), max_states) from None
        stage = _solved(chain, law, tolerance, ROUGH_SWEEPS)
        if stage.covering:
            stage = _solved(chain, stage.law, tolerance)
        yield stage
        history.append((threshold, law.size, stage.mean_response, stage.mass_at_cut))
        if len(history) >= 3 and law.size > PREDICTIVE_STATES:
            predicted = extrapolate_states(history, tolerance)
            if predicted > HOPELESS * max_states:
                raise TooManyStatesError(predicted, max_states)
        law = stage.law.copy()
        threshold /= REFINEMENT


def _solved(chain, law, tolerance, max_sweeps=MAX_SWEEPS):
    wanted = chain.rate * solver_tolerance(tolerance)
    law, residual = stationary_law(chain, law, wanted, max_sweeps)
    return Stage(chain, law, residual / chain.rate)
