"""Whether estimators that assume different things agree on a log."""

import math

from scipy.special import stdtr

from queuebench.estimators.disagreement import disagreement
from queuebench.logs.findings import NOTE, WARNING, Finding

LEVEL = 0.05
"""Level of the comparison."""

_ASSUMED = {
    "structural": "the structure described",
    "model_based": "that queue lengths are the state of the system",
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
    assumptions = _assumptions(found.names)
    count = len(found.names)
    if found.p_value >= LEVEL:
        listed = " and ".join(found.names.values())
        text = f"{listed} agree within their errors (p = {found.p_value:.2g}); {assumptions}"
        return [Finding(NOTE, "estimators_agree", count, text)]
    text = f"{_differences(found)}, so something assumed is wrong: {assumptions}"
    return [Finding(WARNING, "estimators_disagree", count, text)]


def _assumptions(names):
    """Say what each of the estimators compared assumes, the last of them none of what the others do."""
    said = [(names[kind], what) for kind, what in _ASSUMED.items() if kind in names]
    texts = [f"{name} {'' if i else 'assumes '}{what}" for i, (name, what) in enumerate(said)]
    if "model_free" in names:
        texts.append(f"{names['model_free']} {'assumes neither' if len(said) > 1 else 'does not'}")
    return ", ".join(texts)


def _differences(found):
    """Name the two that differ most, or all where no two differ by more than the test of a pair allows."""
    t = {pair: abs(value) for pair, value in found.t.items() if not math.isnan(value)}
    pair = max(t, key=t.get, default=None)
    if pair is None or 2 * stdtr(found.freedom, -t[pair]) >= LEVEL:
        *others, last = found.names.values()
        return (
            f"{', '.join(others)} and {last} differ jointly (p = {found.p_value:.2g}), though no two of "
            "them by more than their errors"
        )
    one, other = (found.names[kind] for kind in pair)
    return (
        f"{one} and {other} differ by {t[pair]:.3g} standard errors of their difference (p = "
        f"{found.p_value:.2g} for all compared)"
    )
