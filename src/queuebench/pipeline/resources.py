"""What a job asks for: memory and time, from what jobs of its kind were measured to use.

A submitted job is two processes of Snakemake (230 MB each) and its script: 220 MB, 260 while it compiles
kernels, to which comes what it has mapped of a trace, 46 bytes per arrival. Simulating and estimating
with the estimators of the shipped studies took 0.2 to 0.9 microseconds of processor time per arrival.
"""

import math

_MB = 1000
_MB_PER_ARRIVAL = 60e-6
# For slower processors and more servers.
_SAFETY = 10.0
# The same times what was measured.
_SECONDS_PER_ARRIVAL = 6e-6
# Starting, and compiling the kernels where nobody has yet.
_MINUTES = 20


def job_memory(mapped_arrivals=0):
    """Return the MB for a job that maps a trace of so many arrivals at a time."""
    return math.ceil(_MB + _MB_PER_ARRIVAL * mapped_arrivals)


def job_minutes(arrivals, estimation=0.0):
    """Return the minutes for a job that simulates, or estimates from, so many arrivals in all.

    Parameters
    ----------
    arrivals : int
    estimation : float
        CPU nanoseconds that all estimators together take per arrival, for studies that ask for costly ones.
    """
    seconds = max(_SECONDS_PER_ARRIVAL, _SAFETY * estimation * 1e-9) * arrivals
    return math.ceil(_MINUTES + seconds / 60)
