"""The arrival rate at every time of a record, by a centred moving average, in a table.

``lambda_hat(t)`` is the number of arrivals within ``t - w/2 .. t + w/2`` over that window's length, near
the ends of the record over that of its part within. It is tabulated every w/20, exactly, from counts of
one pass, and linear in between; so memory goes with the length of the record over the window. Source:
Diggle, A kernel method for smoothing point process data (1985), with a uniform kernel.

Assumptions: the rate hardly changes within the window; the swing of a cycle of length P is found too small
by a share of about ``(pi w / P)^2 / 6``. And the window is longer than the time over which the number in the
system remembers arrivals, and holds many: the average also holds the very arrivals that made queues long,
and dividing by it takes a share of the effect off that is of the order of its elasticity to the load over
the arrivals in the window. The estimate knows nothing of the arms, so it favours none.
"""

from dataclasses import dataclass

import numpy as np

STEPS = 20
"""Steps of the table per window; even, so that windows begin and end at steps."""


@dataclass(frozen=True)
class RateTable:
    """A rate over its average, linear between equally spaced times from the record's start.

    Attributes
    ----------
    window : float
        Length of the moving average: what was asked for, or a little less to fit whole steps.
    step : float
    relative : ndarray of float64, shape (steps + 1,)
    """

    window: float
    step: float
    relative: np.ndarray

    def at(self, times):
        """Return the rate over its average at some times since the record's start."""
        return np.interp(times, self.step * np.arange(len(self.relative)), self.relative)


def steps_for(duration, window):
    """Return into how many steps a record is cut: memory goes with it."""
    return max(STEPS, int(np.ceil(duration * STEPS / window)))


def local_rate(replicate, window):
    """Estimate the local arrival rate of a record.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
        Or anything with its attributes ``arrivals``, ``record_end`` and ``chunks``, starting at time 0.
    window : float
        Length of the moving average, in the record's time; at most the record's length counts.

    Returns
    -------
    RateTable
        Over the average rate ``(n - 1) / (t_last - t_first)`` that `queuebench.estimators.common.costs` uses;
        above 0 at every arrival.
    """
    steps = steps_for(replicate.record_end, window)
    step = replicate.record_end / steps
    count = np.zeros(steps)
    first, last = None, 0.0
    for (arrival,) in replicate.chunks("arrival_time"):
        place = np.minimum(arrival / step, steps - 1).astype(np.int64)
        base = place[0]
        counted = np.bincount(place - base)
        count[base : base + len(counted)] += counted
        first = arrival[0] if first is None else first
        last = arrival[-1]
    average = (replicate.arrivals - 1) / (last - first)
    before = np.concatenate([[0.0], np.cumsum(count)])
    place = np.arange(steps + 1)
    low, high = np.maximum(place - STEPS // 2, 0), np.minimum(place + STEPS // 2, steps)
    rate = (before[high] - before[low]) / ((high - low) * step)
    return RateTable(STEPS * step, step, rate / average)
