"""Switchback with its carry-over estimated instead of thrown away.

If the system forgets at a geometric rate, a response at time t is, on average, ``m + b A(t) + g M(t)``: A is
the arm in force and ``M(t) = integral_0^inf exp(-s / tau) A(t - s) ds / tau`` the share of treatment in what
the system remembers. Under treatment alone A = M = 1, under control alone both are 0, so the global treatment
effect is ``b + g``. Least squares over all jobs give m, b and g. No burn-in is needed: jobs early in a block
tell what carry-over there is, and blocks that follow one of the same arm have the least of it.

The relaxation time is estimated from the number in system X: within a block ``X(t + l) = c_A + r X(t)`` plus
noise, with a constant for each arm and ``l`` a third of the period, and ``tau = -l / log r``.

Sources: carry-over that decays geometrically, and that it can be corrected for, are Hu and Wager's,
Switchback experiments under geometric mixing (arXiv 2209.00197); a remembered share is a distributed lag of
Koyck's form (1954). The formulas above are this project's, after their idea and not theirs.

Assumptions: one relaxation time for both arms and for all that responses depend on, carry-over linear in
M. Further back than `_REMEMBERED` blocks treatment counts as a half; before the record the arms alternated.

Standard error: delete-a-batch jackknife of the whole solution over runs of pairs of blocks, whose
lengths differ by one pair at most, as the jackknife supposes equal ones.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, kernel
from queuebench.estimators.common.batch_means import FEWEST_BATCHES, MOST_BATCHES
from queuebench.estimators.common.inference import jackknife_estimate, totals_left_out
from queuebench.estimators.common.registry import Estimate, EstimationError, register

CELLS = 24
"""Parts of a block within which responses are pooled."""
LAG = CELLS // 3
"""Cells over which the relaxation time is estimated."""
_REMEMBERED = 4
_HISTORIES = 1 << _REMEMBERED
_PAIRS = 4
"""Pairs of blocks in a batch, at least, so that neighbouring batches are nearly independent; fewer only where
the record would not give `FEWEST_BATCHES` of them."""
_SLOPES = 0.01, 0.98
"""Between which r is kept, so that its logarithm says something."""


class Sums(NamedTuple):
    """Sums over the blocks of a batch; the parts of `_sums` have a leading axis of batches."""

    count: np.ndarray  # (2, histories, CELLS): jobs by arm, arms of the blocks before, cell
    total: np.ndarray  # (2, histories, CELLS): of their responses
    lagged: np.ndarray  # (2, 5): by arm, of 1, x, y, x^2, x y, with x = X(t) and y = X(t + l)


@register(
    "switchback_corrected",
    role="corrected_blocks",
    usual=True,
    design="switchback",
    observed_costs=True,
    estimand="effect",
    assumes=["complete"],
    rank=1,
)
def switchback_corrected(record, horizon=None):
    """Effect of the arm in force and of the share of treatment that the system remembers."""
    period = record.setting.period
    pairs = int(record.replicate.record_end // (2 * period))
    batches = min(MOST_BATCHES, max(FEWEST_BATCHES, pairs // _PAIRS))
    enough = pairs >= FEWEST_BATCHES
    parts = _sums(record, pairs, batches if enough else 1)
    whole = Sums(*(part.sum(axis=0) for part in parts))
    if np.any(whole.count.sum(axis=(1, 2)) < 1):
        raise EstimationError(
            f"no complete pair of blocks of {period:g} with arrivals of both arms in the record"
        )
    value = solve(whole)
    if not enough:
        return Estimate(value, note=f"fewer than {FEWEST_BATCHES} pairs of blocks")
    return jackknife_estimate(value, [solve(Sums(*rest)) for rest in totals_left_out(parts)])


def solve(sums: Sums) -> float:
    """Return the estimate from sums over blocks."""
    share = remembered(relaxation(sums.lagged))
    arm = np.broadcast_to(np.arange(2.0)[:, None, None], share.shape)
    design = np.stack([np.ones(share.shape), arm, share]).reshape(3, -1)
    gram = (design * sums.count.ravel()) @ design.T
    found = np.linalg.lstsq(gram, design @ sums.total.ravel(), rcond=None)[0]
    return float(found[1] + found[2])


def relaxation(lagged):
    """Return the relaxation time in periods, from the sums `Sums.lagged`."""
    count, x, y, squares, products = lagged.T
    count = np.maximum(count, 1.0)
    variance, covariance = np.sum(squares - x * x / count), np.sum(products - x * y / count)
    slope = covariance / variance if variance > 0.0 else 0.0
    return -LAG / CELLS / math.log(min(max(slope, _SLOPES[0]), _SLOPES[1]))


def remembered(tau):
    """Return the mean of M within every cell.

    Parameters
    ----------
    tau : float
        Relaxation time in periods.

    Returns
    -------
    ndarray of float64, shape (2, histories, CELLS)
        By arm, by the arms of the blocks before (a binary number, the last block its lowest digit), and by
        cell.
    """
    edges = np.exp(-np.arange(CELLS + 1) / (CELLS * tau))
    left = (edges[:-1] - edges[1:]) * CELLS * tau  # mean over each cell of exp(-t / tau)
    ages = np.arange(_REMEMBERED)
    arms = (np.arange(_HISTORIES)[:, None] >> ages) & 1
    block = math.exp(-1.0 / tau)
    start = arms @ ((1.0 - block) * block**ages) + 0.5 * block**_REMEMBERED
    arm = np.arange(2.0)[:, None, None]
    return arm + (start[:, None] - arm) * left


def _sums(record, pairs, batches):
    sums = Sums(
        *(np.zeros((batches, 2, _HISTORIES, CELLS)) for _ in range(2)), np.zeros((batches, 2, 5))
    )
    place = np.array([-1, 0, 0b0101])  # block, cell, and arms of the block and of those before it
    seen = np.zeros(CELLS)
    for columns in record.replicate.chunks(
        "arrival_time", "block", "treated", "in_system", "response_time"
    ):
        _add(*columns, record.setting.period, pairs, place, seen, *sums)
    return sums


@kernel
def _add(
    arrival, block, treated, in_system, response, period, pairs, place, seen, count, total, lagged
):
    """Add consecutive arrivals; `place` and the numbers `seen` in the block are kept for the next ones."""
    batches = len(count)
    for i in range(len(arrival)):
        pair = block[i] // 2
        if pair >= pairs:
            continue
        batch = pair * batches // pairs
        arm = np.int64(treated[i])
        cell = np.int64((arrival[i] - block[i] * period) * CELLS / period)
        cell = min(max(cell, 0), CELLS - 1)
        if block[i] != place[0]:
            _enter(block[i], arm, cell, place)
            for early in range(cell + 1):
                seen[early] = in_system[i]
        for later in range(place[1] + 1, cell + 1):
            seen[later] = in_system[i]
            if later >= LAG:
                x, y = seen[later - LAG], seen[later]
                lagged[batch, arm, 0] += 1.0
                lagged[batch, arm, 1] += x
                lagged[batch, arm, 2] += y
                lagged[batch, arm, 3] += x * x
                lagged[batch, arm, 4] += x * y
        place[1] = cell
        history = (place[2] >> 1) & (_HISTORIES - 1)
        count[batch, arm, history, cell] += 1.0
        total[batch, arm, history, cell] += response[i]


@inlined
def _enter(block, arm, cell, place):
    """Begin a block. Of a block without arrivals the arm is unknown: it counts as the other one."""
    for _ in range(place[0] + 1, block):
        place[2] = ((place[2] << 1) | (~place[2] & 1)) & (2 * _HISTORIES - 1)
    place[2] = ((place[2] << 1) | arm) & (2 * _HISTORIES - 1)
    place[0], place[1] = block, cell
