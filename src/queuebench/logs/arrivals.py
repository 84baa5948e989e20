"""Whether arrivals came at a constant rate and without gaps."""

import math
from dataclasses import dataclass

import numpy as np

from queuebench.logs.assignment import ALARM, PARTS, chi_squared_tail
from queuebench.logs.findings import WARNING, Finding


@dataclass(frozen=True)
class Arrivals:
    """What speaks against Poisson arrivals at a constant rate.

    Attributes
    ----------
    lowest, highest : float
        Least and most arrivals of a twentieth of the record, over their average.
    varies : bool
        Whether that is more than a constant rate gives.
    findings : list of Finding
        About gaps.
    """

    lowest: float
    highest: float
    varies: bool
    findings: list

    def valid(self, estimator):
        """Return whether a registered estimator's value model holds at such a rate.

        What the queue-length cost is divided by changes nothing about that.
        """
        return not (self.varies and estimator.needs_constant_rate)


def judge_arrivals(replicate):
    """Look at the arrivals of a record.

    Parameters
    ----------
    replicate : queuebench.logs.replicate.LogReplicate

    Returns
    -------
    Arrivals
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
    share = by_part / by_part.mean()
    return Arrivals(
        float(share.min()),
        float(share.max()),
        _varies(by_part),
        _gap(longest, where, replicate),
    )


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


def _varies(by_part):
    expected = by_part.mean()
    if expected < 20:
        return False
    value = float(((by_part - expected) ** 2).sum() / expected)
    return chi_squared_tail(value, PARTS - 1) < ALARM
