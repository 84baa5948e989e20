"""The number of jobs in the system seen by each arrival, counted from arrivals and departures."""

import numpy as np

from queuebench.jit import inlined, kernel


class InSystemCounter:
    """Counts jobs in the system block by block, carrying the unfinished ones over.

    Counting a block at a time, departures are sorted into the arrivals they precede through a table of
    equal slices of time, in constant time each, so no policy pays for a scan of all servers.
    """

    def __init__(self):
        self._pending = np.empty(0)
        self._scratch = np.empty(0, np.int32)

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
        n = len(arrival)
        if len(self._scratch) < 2 * n + 3:
            self._scratch = np.empty(2 * n + 3, np.int32)
        still = np.empty(len(self._pending) + n)
        kept = _count(arrival, departure, self._pending, self._scratch, out, still)
        self._pending = still[:kept].copy()


@kernel
def _count(arrival, departure, pending, scratch, out, still):
    n = len(arrival)
    left = scratch[: n + 1]
    begin = scratch[n + 1 : 2 * n + 3]
    left[:] = 0
    origin = arrival[0]
    width = arrival[n - 1] - origin
    per_time = n / width if width > 0.0 else 0.0
    _index_slices(arrival, origin, per_time, begin)
    kept = 0
    for i in range(len(pending)):
        j = _first_at_or_after(pending[i], 0, arrival, origin, per_time, begin)
        left[j] += 1
        if j == n:
            still[kept] = pending[i]
            kept += 1
    for i in range(n):
        j = _first_at_or_after(departure[i], i + 1, arrival, origin, per_time, begin)
        left[j] += 1
        if j == n:
            still[kept] = departure[i]
            kept += 1
    present = len(pending)
    for j in range(n):
        present -= left[j]
        out[j] = present
        present += 1
    return kept


@inlined
def _index_slices(arrival, origin, per_time, begin):
    """Store for each slice of time the first arrival in it or after it."""
    n = len(arrival)
    filled = 0
    for j in range(n):
        reached = int((arrival[j] - origin) * per_time)
        while filled <= reached:
            begin[filled] = j
            filled += 1
    while filled <= n:
        begin[filled] = n
        filled += 1


@inlined
def _first_at_or_after(time, lowest, arrival, origin, per_time, begin):
    """Return the first arrival at or after a time, among those from `lowest` on."""
    n = len(arrival)
    if time > arrival[n - 1]:
        return n
    # The same rounding puts times into slices as arrivals, so no arrival before the slice qualifies.
    j = lowest
    if time > origin:
        j = max(j, begin[int((time - origin) * per_time)])
    while j < n and arrival[j] < time:
        j += 1
    return j
