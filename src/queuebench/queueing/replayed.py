"""Arrivals and service requirements of a recorded workload, gone through in a circle."""

import numpy as np

from queuebench.queueing.arrivals import accumulate


class ReplayedArrivals:
    """The jobs of a workload from a random place on, at a given average rate.

    Parameters
    ----------
    rng : numpy.random.Generator
        Chooses the place.
    rate : float
        Average arrivals per mean service time.
    start : float
        Time from which jobs arrive.
    gaps, sizes : ndarray of float64, shape (n,)
        Time since the previous arrival and service requirement of each job, both of mean 1.
    """

    def __init__(self, rng, rate, start, gaps, sizes):
        self._gaps, self._sizes = gaps, sizes
        self._scale = 1.0 / rate
        self._now = start
        self._next = int(rng.integers(len(gaps)))
        self._jobs = np.empty(0, np.int64)

    def fill(self, out):
        """Fill an array with the next arrival times."""
        self._jobs = (self._next + np.arange(len(out))) % len(self._gaps)
        self._next = (self._next + len(out)) % len(self._gaps)
        np.take(self._gaps, self._jobs, out=out)
        self._now = accumulate(out, self._scale, self._now)

    def fill_requirements(self, out):
        """Fill an array with the requirements of the jobs that the last `fill` let arrive."""
        np.take(self._sizes, self._jobs, out=out)
