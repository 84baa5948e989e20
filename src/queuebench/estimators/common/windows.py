"""Truncated Q values by sliding sums: one pass, whatever the horizon.

``Q_i`` is the sum of the centred costs of the arrivals ``i .. i + L``. Only its sums by arm and block and
its second moments by batch are kept; every estimator of the Differences-in-Q family is a function of
those.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, kernel
from queuebench.estimators.common.batch_means import (
    BLOCKS,
    ArmSums,
    block_of,
    first_of,
)
from queuebench.estimators.common.costs import Costs
from queuebench.estimators.common.registry import EstimationError

# How many horizons a running sum may slide before it is added up afresh, so that rounding does not
# pile up over a long record.
FRESH_SUM_EVERY = 64
_ONE = np.uint64(1)


@dataclass(frozen=True)
class WindowSums:
    """Sums of the truncated Q values of one record at one horizon.

    Attributes
    ----------
    length : int
        The horizon L in arrivals; a window has L + 1 of them.
    starts : int
        Number of windows, ``n - L``.
    enough_batches : bool
        Whether the record is long enough for batch means.
    count : ndarray of float64, shape (blocks, 2)
        Starts by block and arm (0 control, 1 treatment).
    total : ndarray of float64, shape (kinds, blocks, 2)
        Sums of Q by cost, block and arm.
    moments : ndarray of float64, shape (batches, kinds, kinds)
        Sums of the products of Q values over the starts of each batch.
    """

    length: int
    starts: int
    enough_batches: bool
    count: np.ndarray
    total: np.ndarray
    moments: np.ndarray

    def arms(self, weights):
        """Return the `ArmSums` of a weighted sum of costs, the weights by `Cost`."""
        total = sum(weight * self.total[cost] for cost, weight in weights.items())
        return ArmSums(self.count, total)

    @property
    def block_length(self):
        """Window starts per block, on average."""
        return self.starts / len(self.count)

    def moment_sums(self):
        """Return `MomentSums` over all starts."""
        return MomentSums(self.count.sum(), self.total.sum(axis=(1, 2)), self.moments.sum(axis=0))

    def left_out(self):
        """Return `MomentSums` and `ArmSums` totals of all batches but one, for every one.

        Returns
        -------
        MomentSums
            With the batches along the first axis.
        count : ndarray of float64, shape (batches, 2)
        total : ndarray of float64, shape (kinds, batches, 2)
        """
        batches = (len(self.moments), BLOCKS)
        count = self.count.reshape(*batches, 2).sum(axis=1)
        total = self.total.reshape(-1, *batches, 2).sum(axis=2)
        whole = self.moment_sums()
        rest = MomentSums(
            whole.count - count.sum(axis=1),
            whole.total - total.sum(axis=2).T,
            whole.moment - self.moments,
        )
        return rest, count.sum(axis=0) - count, total.sum(axis=1, keepdims=True) - total


class MomentSums(NamedTuple):
    """Number of starts, sums of Q by cost, and sums of products of Q values.

    Arrays with leading axes hold those of several parts of a record.
    """

    count: float  # or float64 (...)
    total: np.ndarray  # float64 (..., kinds)
    moment: np.ndarray  # float64 (..., kinds, kinds)

    def covariance(self, a, b):
        """Return the sample covariance of two costs' Q values, pooled over both arms."""
        low, high = min(a, b), max(a, b)
        product = (self.total[..., a] / self.count) * (self.total[..., b] / self.count)
        return self.moment[..., low, high] / self.count - product


def window_sums(record, length) -> WindowSums:
    """Slide a window over a record.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    length : int
        The horizon L in arrivals.

    Raises
    ------
    EstimationError
        If an arm has no arrivals, or fewer than two starts.
    """
    record.require_both_arms()
    (count, total, moments), enough = record.add_up(
        lambda part, batches, _: _window_sums(part, length, batches), length, length
    )
    if np.any(count.sum(axis=0) < 2):
        raise EstimationError("an arm has fewer than two window starts")
    starts = int(count.sum())
    total = np.ascontiguousarray(total.transpose(2, 0, 1))
    return WindowSums(length, starts, enough, count, total, moments)


def _window_sums(record, length, batches):
    """Return counts, totals by block, arm and cost, and moments by batch of a record without gaps."""
    replicate, costs = record.replicate, record.costs
    starts = replicate.arrivals - length
    kinds = costs.kinds
    count, total = np.zeros((batches * BLOCKS, 2)), np.zeros((batches * BLOCKS, 2, kinds))
    moments = np.zeros((batches, kinds, kinds))
    ring, arms, running = (
        np.zeros((length + 1, kinds)),
        np.zeros(length + 1, np.uint8),
        np.zeros(kinds),
    )
    before = 0
    matrix = np.empty((0, kinds))
    for treated, *columns in replicate.chunks("treated", *Costs.COLUMNS):
        if len(matrix) < len(treated):
            matrix = np.empty((len(treated), kinds))
        cost = matrix[: len(treated)]
        costs.matrix(*columns, cost)
        _slide(
            before, max(1, starts // batches), cost, treated.view(np.uint8), ring, arms, running, count,
            total, moments,
        )  # fmt: skip
        before += len(treated)
    return count, total, moments


@kernel
def _slide(before, batch_length, cost, treated, ring, arms, running, count, total, moments):
    """Push a chunk of arrivals through the window; `before` is the number pushed so far."""
    # Once for each number of costs there is: then the loops over costs are unrolled.
    if cost.shape[1] == 4:
        _push(4, before, batch_length, cost, treated, ring, arms, running, count, total, moments)
    else:
        _push(6, before, batch_length, cost, treated, ring, arms, running, count, total, moments)


@inlined
def _push(kinds, before, batch_length, cost, treated, ring, arms, running, count, total, moments):
    width, batches = ring.shape[0], len(moments)
    slot = np.uint64(before % width)
    wraps = before // width
    start = before - width + 1
    block = batch = np.uint64(0)
    edge = max(start, 0)
    for row in range(np.uint64(len(cost))):
        for k in range(kinds):
            kind = np.uint64(k)
            running[kind] += cost[row, kind] - ring[slot, kind]
            ring[slot, kind] = cost[row, kind]
        arms[slot] = treated[row]
        slot += _ONE
        if slot == np.uint64(width):
            slot = np.uint64(0)
            wraps += 1
            if wraps % FRESH_SUM_EVERY == 0:
                add_up(ring, running)
        if start >= 0:
            if start == edge:
                block = np.uint64(block_of(start, batch_length, batches))
                batch = np.uint64(np.int64(block) // BLOCKS)
                edge = first_of(np.int64(block) + 1, batch_length, batches)
            arm = np.uint64(arms[slot])
            count[block, arm] += 1.0
            for k in range(kinds):
                kind = np.uint64(k)
                total[block, arm, kind] += running[kind]
                for o in range(k, kinds):
                    other = np.uint64(o)
                    moments[batch, kind, other] += running[kind] * running[other]
        start += 1


@kernel
def add_up(ring, running):
    """Add up a window afresh: `running` becomes the sums over the ring's slots."""
    for k in range(len(running)):
        running[k] = 0.0
        for slot in range(len(ring)):
            running[k] += ring[slot, k]
