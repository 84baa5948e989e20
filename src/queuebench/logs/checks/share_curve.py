"""Whether the mean responses and slopes at several shares lie on one polynomial."""

import math

from queuebench.logs.findings import WARNING, Finding

LEVEL = 0.05


def check_curve(curve):
    """Return a finding if the shares disagree with a polynomial.

    Parameters
    ----------
    curve : queuebench.estimators.common.share_curve.ShareCurve or None
    """
    if curve is None or math.isnan(curve.estimate.check) or curve.estimate.check >= LEVEL:
        return []
    text = (
        f"{curve.estimate.note}: either the mean response bends more than these shares can tell, or blocks "
        "still remember those before them (a longer burn_in), or the slopes are wrong where an assumption is"
    )
    return [Finding(WARNING, "shares_disagree", len(curve.shares), text)]
