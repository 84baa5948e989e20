"""Choosing the truncation horizon from the data (Lepski's method on the grid of horizons).

A longer horizon has less truncation bias and more variance. The rule takes the shortest horizon whose
estimate agrees with those of all longer ones within their noise: as long as the truncation bias cannot be
seen, the shorter horizon errs less. Horizons so long that the record gives them no standard error cannot be
compared, and are not chosen.
"""

import math

from queuebench.estimators.common.costs import ASSUMED_BY_FIT
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.differences_in_q import mixed_dq

CAUTION = "its standard error does not account for the choice of the horizon"

_TOLERANCE = 2.0
"""How many standard errors of the difference a longer horizon may be away. With 1 the rule flees from noise
to the longest horizons: one of four comparisons fails by chance in most records."""


@register(
    "mixed_dq_auto",
    exact="mixture",
    design="bernoulli",
    needs_grid=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def mixed_dq_auto(record, horizon=None):
    """`mixed_dq` at the horizon that Lepski's rule chooses from the study's grid.

    The standard error is that of the chosen estimate; that the choice was made on the same data is
    not accounted for. On a record too short for any standard error the shortest horizon is taken.
    """
    grid = record.setting.horizons
    estimates = [_at(record, h) for h in grid]
    known = [estimate for estimate in estimates if not math.isnan(estimate.standard_error)]
    for k, estimate in enumerate(known):
        if all(_agree(estimate, longer) for longer in known[k + 1 :]):
            return estimate
    return estimates[0]


def _at(record, horizon):
    estimate = mixed_dq(record, horizon)._replace(horizon=horizon)
    if math.isnan(estimate.standard_error):
        return estimate
    return estimate._replace(note=f"{estimate.note}; {CAUTION}" if estimate.note else CAUTION)


def _agree(shorter, longer):
    """Whether two estimates differ by no more than the noise the longer horizon adds.

    The longer sum contains the shorter one, so their difference has about the variance by which
    the longer one's exceeds the shorter one's.
    """
    added = longer.standard_error**2 - shorter.standard_error**2
    if not added > 0.0:
        return False
    return abs(longer.value - shorter.value) <= _TOLERANCE * math.sqrt(added)
