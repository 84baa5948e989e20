"""The number of jobs in the system seen by each arrival, counted from arrivals and departures."""

import numpy as np

from queuebench.base.jit import inlined, kernel

_ONE = np.uint64(1)
_SLICES = 4
"""Slices of time per arrival: with four, four of five departures fall into a slice without arrivals."""


class InSystemCounter:
    """Counts jobs in the system block by block, carrying the unfinished ones over.

    Departures are counted by equal slices of time, and only those that share a slice with an arrival are
    compared with it. Each takes constant time, so no policy pays for a scan of all servers.
    """

    def __init__(self):
        self._arrivals, self._jobs = 0, 0
        self.restart()

    def restart(self):
        """Forget all jobs: the system is empty."""
        self._pending = np.empty(0)

    def count(self, arrival, departure, out):
        """Count the jobs in the system just before each arrival.

        Parameters
        ----------
        arrival : ndarray of float64, shape (n,)
            Increasing times, later than those of the last call.
        departure : ndarray of float64, shape (n,)
            The departures of the same jobs.
        out : ndarray of int32, shape (n,)
            Written in place. A job that departs at the moment of an arrival has left.
        """
        self._make_room(len(arrival), len(self._pending) + len(arrival))
        still, self._spare = self._spare, self._still
        self._still = still
        kept = _count(
            arrival, departure, self._pending, self._table, self._left, self._shared, out, still
        )
        self._pending = still[:kept]

    def _make_room(self, arrivals, jobs):
        """Allocate buffers when the old ones are too small: the pages of new ones are not free."""
        if self._arrivals < arrivals:
            self._arrivals = arrivals
            self._table = np.empty(_SLICES * arrivals + 2, np.int32)
            self._left = np.empty(arrivals + 1, np.int32)
            self._shared = np.empty(arrivals + 1, np.uint32)
        if self._jobs < jobs:
            self._jobs = 2 * jobs
            self._still, self._spare = np.empty(self._jobs), np.empty(self._jobs)


@kernel
def _count(arrival, departure, pending, table, left, shared, out, still):
    """Count, and return how many of the jobs are still there, whose departures are in `still`."""
    n = np.uint64(len(arrival))
    slices = np.uint64(_SLICES) * n
    outside = slices + _ONE
    origin, final = arrival[0], arrival[n - _ONE]
    per_time = slices / (final - origin) if final > origin else 0.0
    if not per_time < np.inf:
        per_time = 0.0
    # A slice holds the number of departures in it, or the complement of its first arrival.
    table[: outside + _ONE] = 0
    left[: n + _ONE] = 0
    for back in range(n):
        j = n - _ONE - back
        table[_slice(arrival[j], origin, per_time, slices)] = ~np.int64(j)

    kept = np.uint64(0)
    for i in range(np.uint64(len(pending))):
        time = pending[i]
        if time > final:
            still[kept] = time
            kept += _ONE
            continue
        k = _slice(time, origin, per_time, slices)
        if table[k] < 0:
            left[_first_at_or_after(time, np.uint64(~np.int64(table[k])), arrival)] += 1
        else:
            table[k] += 1
    # Selects instead of branches: where a departure falls cannot be predicted.
    sharing = np.uint64(0)
    for i in range(n):
        time = departure[i]
        stays = time > final
        still[kept] = time
        kept += np.uint64(stays)
        k = outside if stays else _slice(time, origin, per_time, slices)
        found = table[k]
        table[k] = found + np.int32(found >= 0)
        shared[sharing] = i
        sharing += np.uint64(found < 0)
    for c in range(sharing):
        i = np.uint64(shared[c])
        time = departure[i]
        first = np.uint64(~np.int64(table[_slice(time, origin, per_time, slices)]))
        j = _first_at_or_after(time, max(first, i + _ONE), arrival)
        left[j] += 1
        if j == n:
            still[kept] = time
            kept += _ONE

    gone = np.int32(0)
    for k in range(outside):
        gone += max(table[k], np.int32(0))
        table[k] = gone
    present = np.int32(len(pending))
    for j in range(n):
        present -= left[j]
        out[j] = present - table[_slice(arrival[j], origin, per_time, slices)]
        present += np.int32(1)
    return np.int64(kept)


@inlined
def _slice(time, origin, per_time, slices):
    """Return the slice of a time; the same rounding for arrivals and departures keeps their order."""
    elapsed = max((time - origin) * per_time, 0.0)
    return np.uint64(np.int64(min(elapsed, np.float64(slices))))


@inlined
def _first_at_or_after(time, j, arrival):
    """Return the first arrival at or after a time, among those from j on."""
    while j < np.uint64(len(arrival)) and arrival[j] < time:
        j += _ONE
    return j
