"""Regret of a path against the fluid bound, from two small counts.

On any path and for any policy, anticipating or not, exactly

``sample fluid - reward = (r_H - r_L)*(H rejected) + r_L*(ticks wasted) - r_L*(b_end - b_start)``

with ``sample fluid = r_H*#H + r_L*(#ticks - #H)``: count what becomes of every arrival and tick.
The left side is the difference of two numbers of order ``N``, the right side is of the order of
regret.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.path import count_path


class Ratio(NamedTuple):
    """A ratio estimate and its standard error (NaN with fewer than two terms)."""

    estimate: float
    standard_error: float


def path_regret(network, counts):
    """Regret of a part of a path, boundary term included.

    Parameters
    ----------
    network : LossNetwork
    counts : Counts

    Returns
    -------
    float
        Not a rate: divide by the duration.
    """
    premium = network.high_reward - network.low_reward
    served = counts.busy_end - counts.busy_start
    return premium * counts.rejected_high + network.low_reward * (counts.wasted_ticks - served)


def ratio_estimate(numerators, denominators) -> Ratio:
    """Ratio of two sums, with the standard error of the linearised ratio.

    Parameters
    ----------
    numerators, denominators : array_like of float, shape (n,)
        One pair for each independent replicate (or batch).
    """
    numerators = np.asarray(numerators, float)
    denominators = np.asarray(denominators, float)
    count, total = len(numerators), denominators.sum()
    estimate = numerators.sum() / total
    if count < 2:
        return Ratio(float(estimate), math.nan)
    residuals = numerators - estimate * denominators
    error = math.sqrt(np.sum(residuals**2) * count / (count - 1)) / total
    return Ratio(float(estimate), float(error))


def batch_means(network, events, path, first, last, batches=20) -> Ratio:
    """Regret rate of one path, with the standard error of its batch means.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    path : Path
    first, last : float
        The measured span of time.
    batches : int, optional
        Number of batches of equal length, at least 2.

    Raises
    ------
    ValueError
        If ``batches < 2``.
    """
    if batches < 2:
        raise ValueError(f"batches >= 2 must hold, got {batches}")
    edges = np.searchsorted(events.time, np.linspace(first, last, batches + 1), side="right")
    regrets = [
        path_regret(network, count_path(events, path, start, stop))
        for start, stop in pairwise(edges)
    ]
    return ratio_estimate(regrets, np.full(batches, (last - first) / batches))


def mean_idle(network, events, path, start, stop) -> float:
    """Time-average number idle between two events.

    Times ``mu`` this is the expected rate of wasted ticks for policies whose number busy does not
    depend on the marks to come; not for the offline optimum.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    path : Path
    start, stop : int
        From the time of event `start` to that of event ``stop - 1``, which must be later.
    """
    busy = _busy_time(events.time, path.busy, start, stop)
    return network.servers - busy / float(events.time[stop - 1] - events.time[start])


@njit
def _busy_time(time, busy, start, stop):
    total = 0.0
    for e in range(start, stop - 1):
        total += busy[e + 1] * (time[e + 1] - time[e])
    return total
