"""Whether estimators that assume different things agree on a log."""

import math

from queuebench.estimators.disagreement import disagreement
from queuebench.logs.findings import NOTE, WARNING, Finding

LEVEL = 0.05
"""Level of the comparison."""

_ASSUMED = {
    "structural": "the structure described",
    "model_based": "that queue lengths are the state of the system",
    "model_free": "neither",
}


def check_agreement(estimates):
    """Return what the comparison of the main estimates says, nothing if there are not two to compare.

    Parameters
    ----------
    estimates : dict of str to queuebench.estimators.registry.Estimate
        By name of the estimator, at the main horizon.

    Returns
    -------
    list of Finding
    """
    found = disagreement(estimates)
    if math.isnan(found.p_value):
        return []
    assumptions = ", ".join(
        f"{name} assumes {_ASSUMED[kind]}" for kind, name in found.names.items()
    )
    if found.p_value >= LEVEL:
        listed = " and ".join(found.names.values())
        text = f"{listed} agree within their errors (p = {found.p_value:.2g}); {assumptions}"
        return [Finding(NOTE, "estimators_agree", len(found.names), text)]
    t = {pair: abs(value) for pair, value in found.t.items() if not math.isnan(value)}
    one, other = (found.names[kind] for kind in max(t, key=t.get))
    text = (
        f"{one} and {other} differ by {max(t.values()):.3g} standard errors of their difference (p = "
        f"{found.p_value:.2g} for all compared), so something assumed is wrong: {assumptions}"
    )
    return [Finding(WARNING, "estimators_disagree", len(found.names), text)]
