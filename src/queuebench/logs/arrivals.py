"""Whether arrivals came at a constant rate and without gaps."""

import math

import numpy as np

from queuebench.logs.assignment import ALARM, PARTS, chi_squared_tail
from queuebench.logs.findings import WARNING, Finding


def check_arrivals(replicate):
    """Return what speaks against Poisson arrivals at a constant rate.

    Parameters
    ----------
    replicate : queuebench.logs.replicate.LogReplicate

    Returns
    -------
    list of Finding
    """
    by_part = np.zeros(PARTS)
    longest, where, previous = 0.0, 0.0, np.nan
    for (arrival,) in replicate.chunks("arrival_time"):
        part = np.minimum(arrival * (PARTS / replicate.record_end), PARTS - 1).astype(np.int64)
        by_part += np.bincount(part, minlength=PARTS)
        gaps = np.diff(arrival, prepend=previous)
        place = int(np.nanargmax(gaps)) if len(gaps) > 1 or gaps[0] == gaps[0] else 0
        if gaps[place] > longest:
            longest, where = float(gaps[place]), float(arrival[place])
        previous = arrival[-1]
    return [*_gap(longest, where, replicate), *_varying_rate(by_part)]


def _gap(longest, where, replicate):
    """Report a gap that has probability below `ALARM` among n exponential ones."""
    n = replicate.arrivals
    usual = replicate.record_end / n
    if n < 20 or longest < usual * (math.log(n) - math.log(ALARM)):
        return []
    text = (
        f"no arrival for {longest:.6g}, {longest / usual:,.0f} times the mean interval, until "
        f"{where:.6g} after the record's start: are rows missing?"
    )
    return [Finding(WARNING, "gap", 1, text)]


def _varying_rate(by_part):
    expected = by_part.mean()
    if expected < 20:
        return []
    value = float(((by_part - expected) ** 2).sum() / expected)
    if chi_squared_tail(value, PARTS - 1) >= ALARM:
        return []
    text = (
        f"the arrival rate varies, from {by_part.min() / expected:.0%} to "
        f"{by_part.max() / expected:.0%} of its average between twentieths of the record; the "
        "queue-length cost (qdq, mixed_dq) takes it to be constant, so compare with wdq"
    )
    return [Finding(WARNING, "varying_rate", PARTS, text)]
