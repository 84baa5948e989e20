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

from queuebench.estimators.batch_means import batch_count
from queuebench.estimators.costs import Costs
from queuebench.estimators.inference import jackknife_error, jackknife_parts
from queuebench.estimators.occupancy import Occupancy
from queuebench.estimators.registry import Estimate, EstimationError, register
from queuebench.estimators.weighted_windows import CHOICES
from queuebench.jit import kernel

LEVELS = 14
AT_ONCE = 1024
"""Arrivals whose features are computed at a time."""

_CURVED = 5
_BETWEEN = 2
_MOST_GROUPS = 2
_RARE = 1e-4
"""Share of the largest ``mean((phi - mean phi) (phi - next phi))`` below which a feature is left out: levels
that are hardly ever reached have no value that could be estimated."""
TRACE = 0.95
"""Lambda of `lstd_dq_trace`: a memory of twenty arrivals."""


@register("lstd_dq", design="bernoulli", needs_choices=True)
def lstd_dq(record, horizon=None):
    """LSTD(0) with features of the queue lengths."""
    return estimate(record, 0.0)


@register("lstd_dq_trace", design="bernoulli", needs_choices=True)
def lstd_dq_trace(record, horizon=None):
    """LSTD(lambda), which leans less on the queue lengths being the state."""
    return estimate(record, TRACE)


def estimate(record, trace):
    """Estimate by LSTD(lambda).

    Parameters
    ----------
    record : queuebench.estimators.record.Record
    trace : float
        Lambda, at least 0 and below 1.

    Returns
    -------
    Estimate

    Raises
    ------
    EstimationError
        If the record has fewer than two arrivals.
    """
    if record.arrivals < 2:
        raise EstimationError("LSTD needs at least two arrivals")
    correlated = record.setting.horizon_arrivals(record.setting.batch_horizon)
    batches = batch_count(record.arrivals, correlated)
    parts = _sums(record, trace, max(1, batches))
    whole = Sums(*(part.sum(axis=0) for part in parts))
    value = solve(whole)
    if not batches:
        return Estimate(value, note="record too short for batch means")
    left_out = [
        solve(Sums(*(all_of - one for all_of, one in zip(whole, batch, strict=True))))
        for batch in zip(*parts, strict=True)
    ]
    return Estimate(
        value,
        jackknife_error(np.array(left_out)),
        batches - 1,
        parts=jackknife_parts(value, left_out),
    )


class Sums(NamedTuple):
    """What LSTD needs of a part of a record; feature 0 is the constant 1."""

    change: np.ndarray  # (F + 1, F): of z (phi_i - phi_{i+1})'
    cost: np.ndarray  # (F + 1,): of z c_{i+1}
    trace: np.ndarray  # (F + 1,): of z
    totals: np.ndarray  # (F + 2,): of phi (constant first) and of c
    apart: np.ndarray  # (F,): of phi(x^1) - phi(x^0)


def solve(sums):
    """Return the estimate from sums over a record or a part of it.

    Parameters
    ----------
    sums : Sums

    Returns
    -------
    float
    """
    return float(coefficients(sums) @ sums.apart / sums.totals[0])


def coefficients(sums):
    """Return theta from sums over a record or a part of it.

    Parameters
    ----------
    sums : Sums

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
    used = moves > _RARE * moves.max()
    scale = np.sqrt(moves[used])
    scaled = change[np.ix_(used, used)] / np.outer(scale, scale)
    theta = np.zeros(len(used))
    theta[used] = np.linalg.lstsq(scaled, right[used] / scale, rcond=1e-10)[0] / scale
    return theta


def _sums(record, trace, batches):
    """Return `Sums` whose parts have a leading axis of batches."""
    features = Features(record)
    size = features.number
    sums = Sums(
        np.zeros((batches, size + 1, size)),
        np.zeros((batches, size + 1)),
        np.zeros((batches, size + 1)),
        np.zeros((batches, size + 2)),
        np.zeros((batches, size)),
    )
    length = max(1, (record.arrivals - 1) // batches)
    memory = np.zeros(size + 1)
    before, last = 0, None
    for phi, apart, cost in features.chunks():
        # A transition from arrival i is complete when i + 1 is there.
        if last is not None:
            phi, apart, cost = (
                np.concatenate(pair) for pair in zip(last, (phi, apart, cost), strict=True)
            )
        last = phi[-1:], apart[-1:], cost[-1:]
        instruments = np.column_stack([np.ones(len(phi) - 1), phi[:-1]])
        traces = np.empty_like(instruments)
        _fill_traces(instruments, trace, memory, traces)
        batch = np.minimum((before + np.arange(len(traces))) // length, batches - 1)
        for number in np.unique(batch):
            own = batch == number
            _add(sums, number, instruments[own], traces[own], phi[:-1][own] - phi[1:][own],
                 cost[1:][own], apart[:-1][own])  # fmt: skip
        before += len(traces)
    return sums


@kernel
def _fill_traces(instruments, trace, memory, out):
    """Fill in the traces ``z_i = x_i + trace * z_{i-1}``; `memory` is the last one, kept for the next chunk.

    SciPy's filter does the same, but importing it costs a job more than estimating.
    """
    for i in range(len(instruments)):
        for k in range(len(memory)):
            memory[k] = instruments[i, k] + trace * memory[k]
            out[i, k] = memory[k]


def _add(sums, number, instruments, traces, change, cost, apart):
    sums.change[number] += traces.T @ change
    sums.cost[number] += traces.T @ cost
    sums.trace[number] += traces.sum(axis=0)
    sums.totals[number, :-1] += instruments.sum(axis=0)
    sums.totals[number, -1] += cost.sum()
    sums.apart[number] += apart.sum(axis=0)


class Features:
    """The features of a record's states after each arrival.

    Parameters
    ----------
    record : queuebench.estimators.record.Record
    """

    def __init__(self, record):
        self._record = record
        self._groups = server_groups(record.setting.classes)
        self._sizes = np.bincount(self._groups).astype(float)

    @property
    def number(self):
        """Number F of features."""
        groups = len(self._sizes)
        pairs = groups * (groups - 1) // 2
        return groups * (LEVELS + 2 * _CURVED - 1) + _BETWEEN * pairs

    def chunks(self):
        """Yield phi (m, F), the difference of phi between the choices (m, F), and costs (m,)."""
        record, servers = self._record, len(self._groups)
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
            least = self._sizes[:, None] - np.cumsum(exactly, axis=2)
            after = [self.values(least, choices[arm], choices[2 + arm]) for arm in (0, 1)]
            phi = np.where(treated[:, None], after[1], after[0])
            yield phi, after[1] - after[0], in_system / record.costs.rate

    def values(self, least, server, met):
        """Return the features after a job has joined.

        Parameters
        ----------
        least : ndarray, shape (m, groups, LEVELS)
            Servers with at least 1, 2, .. jobs.
        server, met : ndarray of int, shape (m,)
            The server joined and its length before.
        """
        k = least.copy()
        short = np.flatnonzero(met < LEVELS)
        k[short, self._groups[server[short]], met[short]] += 1.0
        k /= self._sizes[:, None]
        low = k[:, :, :_CURVED]
        parts = [k, low**2, low[:, :, 1:] * low[:, :, :-1]]
        flat = [part.reshape(len(k), -1) for part in parts]
        for g in range(len(self._sizes)):
            flat += [k[:, g, :_BETWEEN] * k[:, h, :_BETWEEN] for h in range(g)]
        return np.hstack(flat)


def slices(replicate, *names):
    """Yield tuples of columns of at most `AT_ONCE` arrivals, whose features fit into the cache.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
    *names : str
        Columns of the trace.
    """
    for columns in replicate.chunks(*names):
        for begin in range(0, len(columns[0]), AT_ONCE):
            yield tuple(column[begin : begin + AT_ONCE] for column in columns)


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
