"""Choosing the truncation horizon from the data (Lepski's method on the grid of horizons).

A longer horizon has less truncation bias and more variance. The rule takes the shortest horizon whose
estimate agrees with those of all longer ones within their noise: as long as the truncation bias cannot be
seen, the shorter horizon errs less.
"""

import math

from queuebench.estimators.differences_in_q import mixed_dq
from queuebench.estimators.registry import register

_TOLERANCE = 1.0
"""How many standard errors of the difference a longer horizon may be away."""


@register("mixed_dq_auto", design="bernoulli", needs_grid=True)
def mixed_dq_auto(record, horizon=None):
    """`mixed_dq` at the horizon that Lepski's rule chooses from the study's grid.

    The standard error is that of the chosen estimate; that the choice was made on the same data is
    not accounted for. Without standard errors (a short record) the longest horizon is taken.
    """
    estimates = [mixed_dq(record, h) for h in record.setting.horizons]
    for k, estimate in enumerate(estimates):
        if all(_agree(estimate, longer) for longer in estimates[k + 1 :]):
            return estimate
    return estimates[-1]


def _agree(shorter, longer):
    """Whether two estimates differ by no more than the noise the longer horizon adds.

    The longer sum contains the shorter one, so their difference has about the variance by which
    the longer one's exceeds the shorter one's.
    """
    added = longer.standard_error**2 - shorter.standard_error**2
    if not added > 0.0:
        return False
    return abs(longer.value - shorter.value) <= _TOLERANCE * math.sqrt(added)
