"""LSTD-DQ: Differences in Q with values learned by least-squares temporal differences.

The state after arrival i has joined is ``x_i``, and its value ``V(x_i) = E[c_{i+1} - mean c + V(x_{i+1})]``
with ``c_j = in_system_j / Lambda_hat`` is approximated by ``theta' phi(x)``. Average-reward LSTD(lambda)
solves ``sum_i z_i (phi_i - phi_{i+1})' theta = sum_i z_i (c_{i+1} - mean c)`` with the traces ``z_i = lambda
z_{i-1} + phi_i - mean phi``. The estimate is the mean over arrivals of ``theta' (phi(x_i^1) - phi(x_i^0))``,
the states after the treatment's and after the control's choice. Sources: Bradtke and Barto, Linear
least-squares algorithms for temporal difference learning (1996); Tsitsiklis and Van Roy, Average cost
temporal-difference learning (1999); that both choices enter is this project's.

Features, for each group of servers and divided by the group's size: ``k_j``, the servers with at least j
jobs, for j = 1 .. 14; squares and neighbouring products of the first five; and the products of ``k_1`` and
of ``k_2`` between groups. Speed classes are the groups, or two halves of them by speed if there are more.

Assumptions: a trace with both choices; queue lengths are the state (exponential service, fresh information,
constant rate) and V is near the span of the features. Where they are not the state the estimate is biased,
and its standard error does not know: with delayed information it is confidently wrong.

Standard error: delete-a-batch jackknife of the whole solution.
"""

from typing import NamedTuple

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.costs import Costs
from queuebench.estimators.common.inference import TOO_SHORT, jackknife_estimate, totals_left_out
from queuebench.estimators.common.occupancy import Occupancy
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, Estimate, EstimationError, register
from queuebench.estimators.common.weighted_windows import CHOICES

LENGTHS_ARE_THE_STATE = ("equal_service", "size_blind", "queue_state", "exponential", "complete")
"""What is assumed where a value depends on queue lengths alone."""
LEVELS = 14
_CURVED = 5
_BETWEEN = 2
_MOST_GROUPS = 2
PIECE = 1024
"""Arrivals whose features are held at a time, few enough for the processor's cache."""
RARE = 1e-4
"""Share of the largest ``mean((phi - mean phi) (phi - next phi))`` below which a feature is left out: levels
that are hardly ever reached have no value that could be estimated."""
TRACE = 0.95
"""Lambda of `lstd_dq_trace`: a memory of twenty arrivals."""


@over_shares(levels=True)
@register(
    "lstd_dq",
    compared="model_based",
    usual=True,
    design="bernoulli",
    needs_choices=True,
    needs_constant_rate=True,
    nanoseconds=400.0,
    assumes=[*RANDOMISED, *LENGTHS_ARE_THE_STATE],
)
def lstd_dq(record, horizon=None):
    """LSTD(0) with features of the queue lengths."""
    return estimate(record, Features, 0.0)


@register(
    "lstd_dq_trace",
    design="bernoulli",
    needs_choices=True,
    needs_constant_rate=True,
    nanoseconds=400.0,
    assumes=[*RANDOMISED, *LENGTHS_ARE_THE_STATE],
)
def lstd_dq_trace(record, horizon=None):
    """LSTD(lambda), which leans less on the queue lengths being the state."""
    return estimate(record, Features, TRACE)


def estimate(record, features, trace) -> Estimate:
    """Estimate by LSTD(lambda).

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    features : Callable
        From a record to its `Features`, or to anything with their ``record``, ``number`` and ``chunks``.
    trace : float
        Lambda, at least 0 and below 1.

    Raises
    ------
    EstimationError
        If the record has fewer than two arrivals.
    """
    if record.arrivals < 2:
        raise EstimationError("LSTD needs at least two arrivals")
    correlated = record.setting.horizon_arrivals(record.setting.batch_horizon)
    parts, enough = record.add_up(
        lambda part, batches, _: _sums(features(part), trace, batches), 0, correlated
    )
    whole = Sums(*(part.sum(axis=0) for part in parts))
    value = solve(whole)
    if not enough:
        return Estimate(value, note=TOO_SHORT)
    left_out = [solve(Sums(*rest)) for rest in totals_left_out(parts)]
    return jackknife_estimate(value, left_out)


class Sums(NamedTuple):
    """What LSTD needs of a part of a record; feature 0 is the constant 1."""

    change: np.ndarray  # (F + 1, F): of z (phi_i - phi_{i+1})'
    cost: np.ndarray  # (F + 1,): of z c_{i+1}
    trace: np.ndarray  # (F + 1,): of z
    totals: np.ndarray  # (F + 2,): of phi (constant first) and of c
    apart: np.ndarray  # (F,): of phi(x^1) - phi(x^0)


def solve(sums: Sums) -> float:
    """Return the estimate from sums over a record or a part of it."""
    return float(coefficients(sums) @ sums.apart / sums.totals[0])


def coefficients(sums: Sums):
    """Return theta from sums over a record or a part of it.

    Returns
    -------
    ndarray of float64, shape (F,)
        Zero for features that hardly ever vary.
    """
    transitions = sums.totals[0]
    mean, mean_cost = sums.totals[1:-1] / transitions, sums.totals[-1] / transitions
    change = sums.change[1:] - np.outer(mean, sums.change[0])
    cost = sums.cost - mean_cost * sums.trace
    right = cost[1:] - mean * cost[0]
    moves = np.diag(change)
    used = moves > RARE * moves.max()
    theta = np.zeros(len(used))
    theta[used] = least_squares(change[np.ix_(used, used)], right[used], moves[used])
    return theta


def least_squares(change, right, moves):
    """Return the least theta with ``change theta = right``, features measured in roots of their `moves`.

    Parameters
    ----------
    change : ndarray, shape (F, F)
    right, moves : ndarray, shape (F,)

    Returns
    -------
    ndarray, shape (F,)
    """
    scale = np.sqrt(moves)
    scaled = change / np.outer(scale, scale)
    return np.linalg.lstsq(scaled, right / scale, rcond=1e-10)[0] / scale


def _sums(features, trace, batches):
    """Return `Sums` whose parts have a leading axis of batches."""
    size = features.number
    sums = Sums(
        np.zeros((batches, size + 1, size)),
        np.zeros((batches, size + 1)),
        np.zeros((batches, size + 1)),
        np.zeros((batches, size + 2)),
        np.zeros((batches, size)),
    )
    memory = np.zeros(size + 1)
    for number, moves in transitions(features, batches):
        traces = np.empty_like(moves.instruments)
        _fill_traces(moves.instruments, trace, memory, traces)
        sums.change[number] += traces.T @ (moves.instruments[:, 1:] - moves.joined)
        sums.cost[number] += moves.cost @ traces
        sums.trace[number] += traces.sum(axis=0)
        sums.totals[number, :-1] += moves.instruments.sum(axis=0)
        sums.totals[number, -1] += moves.cost.sum()
        sums.apart[number] += moves.apart
    return sums


class Moves(NamedTuple):
    """Consecutive transitions, each from the state after an arrival to the next one."""

    instruments: np.ndarray  # (m, F + 1): 1 and phi_i
    after: np.ndarray  # (2, m, F): phi_{i+1} after the control's and the treatment's choice
    joined: np.ndarray  # (m, F): phi_{i+1} after the choice that was made
    treated: np.ndarray  # (m,): bool, of arrival i + 1
    cost: np.ndarray  # (m,): c_{i+1}
    apart: np.ndarray  # (F,): sum of phi(x_i^1) - phi(x_i^0)


def transitions(features, batches):
    """Yield batch numbers and `Moves`, batch by batch and each in pieces.

    Parameters
    ----------
    features : Features
        Or anything with its ``record`` and ``chunks``.
    batches : int
        At least 1; what is left over joins the last.
    """
    length = max(1, (features.record.arrivals - 1) // batches)
    before, last = 0, None
    for after, treated, cost in features.chunks():
        # A transition from arrival i is complete when i + 1 is there.
        if last is not None:
            after = np.concatenate([last[0], after], axis=1)
            treated, cost = (
                np.concatenate(pair) for pair in zip(last[1:], (treated, cost), strict=True)
            )
        last = after[:, -1:], treated[-1:], cost[-1:]
        joined = np.where(treated[:, None], after[1], after[0])
        instruments = np.column_stack([np.ones(len(joined)), joined])
        begin, n = 0, len(joined) - 1
        while begin < n:
            number = min((before + begin) // length, batches - 1)
            left = (number + 1) * length - before if number < batches - 1 else n
            end = min(n, left)
            own, following = slice(begin, end), slice(begin + 1, end + 1)
            apart = after[1, own].sum(axis=0) - after[0, own].sum(axis=0)
            yield number, Moves(
                instruments[own], after[:, following], joined[following], treated[following],
                cost[following], apart,
            )  # fmt: skip
            begin = end
        before += n


@kernel
def _fill_traces(instruments, trace, memory, out):
    """Fill in the traces ``z_i = x_i + trace * z_{i-1}``; `memory` is the last one, kept for the next chunk.

    SciPy's filter does the same, but importing it costs a job more than estimating.
    """
    for i in range(len(instruments)):
        for k in range(len(memory)):
            memory[k] = instruments[i, k] + trace * memory[k]
            out[i, k] = memory[k]


class Features:
    """The features of a record's states after each arrival.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    """

    def __init__(self, record):
        self.record = record
        self._groups = server_groups(record.setting.classes)
        self._sizes = np.bincount(self._groups).astype(float)
        self.number = feature_count(len(self._sizes))

    def chunks(self):
        """Yield phi after either choice (2, m, F), arms (m,) and costs (m,) of consecutive arrivals."""
        record, servers = self.record, len(self._groups)
        occupancy = Occupancy(
            record.replicate.carry,
            record.setting.travel_time,
            self._groups,
            np.ones(servers),
            LEVELS,
        )
        for columns in slices(record.replicate, *Costs.COLUMNS, "treated", *CHOICES):
            arrival, server, _, in_system, response, treated, *choices = columns
            exactly = np.empty((len(arrival), len(self._sizes), LEVELS))
            occupancy.fill(arrival, server, response, exactly)
            after = np.empty((2, len(arrival), self.number))
            for arm in (0, 1):
                fill_features(
                    exactly, choices[arm], choices[2 + arm], self._groups, self._sizes, after[arm]
                )
            yield after, treated, in_system / record.costs.rate


def slices(replicate, *names):
    """Yield tuples of columns of at most `PIECE` arrivals, whose features fit into the cache.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
    *names : str
        Columns of the trace.
    """
    for columns in replicate.chunks(*names):
        for begin in range(0, len(columns[0]), PIECE):
            yield tuple(column[begin : begin + PIECE] for column in columns)


def feature_count(groups):
    """Return the number F of features for a number of groups of servers."""
    pairs = groups * (groups - 1) // 2
    return groups * (LEVELS + 2 * _CURVED - 1) + _BETWEEN * pairs


@kernel
def fill_features(exactly, server, met, groups, sizes, out):
    """Fill in phi after a job has joined a server where it met others; see the module's formulas.

    Parameters
    ----------
    exactly : ndarray of float64, shape (m, groups, LEVELS)
        Servers of each group with exactly 0, 1, .. jobs before.
    server, met : ndarray of int, shape (m,)
        The server joined and its jobs before.
    groups : ndarray of int, shape (N,)
    sizes : ndarray of float64, shape (groups,)
    out : ndarray of float64, shape (m, F), or with more columns, which are left alone
        Written in place.
    """
    levels = exactly.shape[2]
    curved = len(sizes) * levels
    mixed = curved + len(sizes) * _CURVED
    between = mixed + len(sizes) * (_CURVED - 1)
    for i in range(len(exactly)):
        for g in range(len(sizes)):
            least = sizes[g]
            for j in range(levels):
                least -= exactly[i, g, j]
                joined = 1.0 if groups[server[i]] == g and met[i] == j else 0.0
                out[i, g * levels + j] = (least + joined) / sizes[g]
            for j in range(_CURVED):
                out[i, curved + g * _CURVED + j] = out[i, g * levels + j] ** 2
            for j in range(_CURVED - 1):
                product = out[i, g * levels + j] * out[i, g * levels + j + 1]
                out[i, mixed + g * (_CURVED - 1) + j] = product
        column = between
        for g in range(len(sizes)):
            for h in range(g):
                for j in range(_BETWEEN):
                    out[i, column] = out[i, g * levels + j] * out[i, h * levels + j]
                    column += 1


def server_groups(classes):
    """Return the group of every server: its speed class, or the slow or fast half of many classes.

    Parameters
    ----------
    classes : ndarray of int, shape (N,)
        Slowest first.
    """
    number = int(classes.max()) + 1
    if number <= _MOST_GROUPS:
        return np.asarray(classes, np.int64)
    return (np.asarray(classes, np.int64) * _MOST_GROUPS) // number
