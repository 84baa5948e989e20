"""Levels alone: the mean responses at several treated shares, and the polynomial through them.

The estimate is T(1) - T(0) of the curve of `queuebench.estimators.common.share_curve`, fitted to levels
without slopes. With the shares 0 and 1 among them it needs nothing but that blocks forget what was before
them; without these it extrapolates, and errs with the degree.
"""

from queuebench.estimators.common.registry import register
from queuebench.estimators.common.share_curve import share_curve


@register(
    "levels",
    usual=True,
    design="shares",
    observed_costs=True,
    estimand="effect",
    assumes=["polynomial_in_share"],
    rank=2,
)
def levels(record, horizon=None):
    """Difference of the ends of the curve through the mean responses at the shares run."""
    return share_curve(record).estimate
