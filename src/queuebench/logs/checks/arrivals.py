"""Whether arrivals came at a constant rate and without gaps."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, fdtrc

from queuebench.logs.checks.assignment import ALARM, PARTS
from queuebench.logs.findings import WARNING, Finding
from queuebench.logs.record.replicate import LogReplicate

_LONGEST = 200
"""Gaps without arrivals that are compared with each other."""
_STEPS = 5
"""Gaps that may be longer than all others."""


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


def judge_arrivals(replicate: LogReplicate) -> Arrivals:
    """Look at the arrivals of a record."""
    by_part = np.zeros(PARTS)
    longest, previous = np.zeros((0, 2)), np.nan
    for (arrival,) in replicate.chunks("arrival_time"):
        part = np.minimum(arrival * (PARTS / replicate.record_end), PARTS - 1).astype(np.int64)
        by_part += np.bincount(part, minlength=PARTS)
        gaps = np.nan_to_num(np.diff(arrival, prepend=previous))
        longest = np.concatenate([longest, np.column_stack([gaps, arrival])])
        longest = longest[np.argsort(-longest[:, 0], kind="stable")[: _LONGEST + 1]]
        previous = arrival[-1]
    share = by_part / by_part.mean()
    return Arrivals(
        float(share.min()),
        float(share.max()),
        _varies(by_part),
        _gap(longest, replicate),
    )


def _gap(longest, replicate):
    """Report gaps that stand out from the next longest ones.

    With ``x_1 >= x_2 >= ..`` the longest gaps and an exponential tail, ``k (x_k - x_{k+1})`` are independent
    and exponential (Rényi 1953); with a Pareto tail those of their logarithms are. A gap stands out if under
    both tails a step as wide, among the first `_STEPS`, has a probability below `ALARM`. So bursts, sessions
    and slow hours, whose gaps are long but come in all lengths up to the longest, do not.

    Parameters
    ----------
    longest : ndarray, shape (m, 2)
        The longest gaps and where they end, longest first.
    replicate : queuebench.logs.record.replicate.LogReplicate
    """
    length, end = longest.T
    # A gap is seldom among the longest tenth by itself; of fewer arrivals nothing is said.
    most = min(_LONGEST, replicate.arrivals // 10, np.count_nonzero(length) - 1)
    if most < 2 * _STEPS:
        return []
    rank = np.arange(1, most + 1)
    reach = np.full(most, np.inf)
    for tail in (length, np.log(np.maximum(length, 1e-300))):
        steps = rank * (tail[:most] - tail[1 : most + 1])
        usual = steps[_STEPS:].mean()
        reach = np.minimum(reach, steps / usual if usual > 0 else 0.0)
    # The mean of m exponential steps is itself random: a quotient of the two has an F law.
    freedom = 2 * (most - _STEPS)
    apart = np.flatnonzero(_STEPS * fdtrc(2, freedom, reach[:_STEPS]) < ALARM)
    if not len(apart):
        return []
    count = int(apart[-1]) + 1
    usual = replicate.record_end / replicate.arrivals
    text = (
        f"no arrival for {length[0]:.6g}, {length[0] / usual:,.0f} times the mean interval, until "
        f"{end[0]:.6g} after the record's start"
        f"{f', and {count - 1} more such gaps' if count > 1 else ''}; the next longest gap is "
        f"{length[count]:.4g}: are rows missing?"
    )
    return [Finding(WARNING, "gap", count, text)]


def _varies(by_part):
    expected = by_part.mean()
    if expected < 20:
        return False
    value = float(((by_part - expected) ** 2).sum() / expected)
    return bool(chdtrc(PARTS - 1, value) < ALARM)
