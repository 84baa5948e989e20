"""Batch means: standard errors of a difference of arm means from one record."""

import math
from typing import NamedTuple

import numpy as np

from queuebench.jit import kernel

FEWEST_BATCHES = 10
MOST_BATCHES = 100


class ArmSums(NamedTuple):
    """Sums over batches of consecutive units; column 0 control, 1 treatment."""

    count: np.ndarray  # float64 (batches, 2)
    total: np.ndarray  # float64 (batches, 2)


def batch_count(units, correlated):
    """Return into how many batches a record is cut, or 0 if it is too short.

    Batches are ten correlation lengths long where the record allows ten of them, at least three
    otherwise; more than a hundred would gain nothing.

    Parameters
    ----------
    units : int
        Arrivals or window starts.
    correlated : int
        Over how many units they are correlated: the horizon in arrivals.
    """
    batches = min(MOST_BATCHES, max(FEWEST_BATCHES, units // (10 * max(1, correlated))))
    return batches if units // batches >= max(1, 3 * correlated) else 0


def response_sums(replicate, batches):
    """Return the sums of observed response times by arm over batches of consecutive arrivals.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
    batches : int
        At least 1; what is left over joins the last one.

    Returns
    -------
    ArmSums
    """
    sums = ArmSums(np.zeros((batches, 2)), np.zeros((batches, 2)))
    before = 0
    for treated, response in replicate.chunks("treated", "response_time"):
        _add(before, replicate.arrivals // batches, treated, response, *sums)
        before += len(treated)
    return sums


@kernel
def _add(before, length, treated, values, count, total):
    last = len(count) - 1
    for i in range(len(values)):
        batch = min((before + i) // length, last)
        arm = np.int64(treated[i])
        count[batch, arm] += 1.0
        total[batch, arm] += values[i]


def difference(sums):
    """Return the treated mean minus the control mean."""
    count, total = sums.count.sum(axis=0), sums.total.sum(axis=0)
    return float(total[1] / count[1] - total[0] / count[0])


def standard_error(sums):
    """Return the batch-means standard error of `difference`.

    With the influence ``psi_i = A_i (x_i - m_1) / s_1 - (1 - A_i) (x_i - m_0) / s_0`` of a unit, where
    ``m`` and ``s`` are an arm's mean and share, and ``S_b`` its sum over batch b, it is
    ``sqrt(B / (B - 1) * sum_b (S_b - mean S)**2) / n``.

    Parameters
    ----------
    sums : ArmSums

    Returns
    -------
    float
        NaN for fewer than two batches.
    """
    batches = len(sums.count)
    if batches < 2:
        return math.nan
    count, total = sums.count.sum(axis=0), sums.total.sum(axis=0)
    units = count.sum()
    centred = (sums.total - sums.count * (total / count)) / (count / units)
    influence = centred[:, 1] - centred[:, 0]
    return float(np.sqrt(batches * influence.var(ddof=1)) / units)
