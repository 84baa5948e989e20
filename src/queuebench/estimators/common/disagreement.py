"""Whether estimators that assume different things differ by more than their errors allow.

Replay assumes the structure of the system, LSTD that queue lengths are its state, and Differences in Q
neither. Where all are right their estimates of one record differ by noise; where they differ by more,
at least one assumption is wrong, and the estimate that leans on it is not to be believed, however small
its standard error.

With pseudo-values ``P_b^k`` of batch b and estimator k (`Estimate.parts`), the vectors ``P_b^k - P_b^0`` are
nearly independent, and Hotelling's test says whether their mean, the differences of the estimates, is
zero. The pairs are compared by Student's t of ``P_b^k - P_b^l``. Both are right however much the
estimators' errors are correlated. What a finite horizon or interference leaves of bias is not noise: where it
is not small beside the standard errors, the test finds it too.
"""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np

from queuebench.estimators.common.hotelling import hotelling
from queuebench.estimators.common.inference import batch_means_error
from queuebench.estimators.common.registry import COMPARED, compared_estimators

PAIRS = tuple(combinations(COMPARED, 2))


class Disagreement(NamedTuple):
    """What a comparison of estimates says.

    Attributes
    ----------
    p_value : float
        Of the hypothesis that all estimate the same; NaN where fewer than two are at hand.
    t : dict of (str, str) to float
        Difference over its standard error for each of `PAIRS`, NaN where one is missing.
    freedom : int
        Degrees of freedom of the t values.
    names : dict of str to str
        The estimator that stands for each kind of assumptions.
    """

    p_value: float
    t: dict
    freedom: int
    names: dict


def disagreement(estimates) -> Disagreement:
    """Compare the estimates of one record.

    Parameters
    ----------
    estimates : dict of str to Estimate
        By name of the estimator, at one horizon.
    """
    names = {kind: _first(estimates, known) for kind, known in compared_estimators().items()}
    names = {kind: name for kind, name in names.items() if name is not None}
    parts, batches = _aligned({kind: estimates[name] for kind, name in names.items()})
    t = {pair: _student(parts, *pair) for pair in PAIRS}
    if len(parts) < 2:
        return Disagreement(math.nan, t, 0, names)
    reference, *others = parts.values()
    differences = np.column_stack([other - reference for other in others])
    return Disagreement(hotelling(differences), t, batches - 1, names)


def compare(one, other):
    """Compare two estimates of one record.

    Parameters
    ----------
    one, other : Estimate

    Returns
    -------
    t : float
        Difference over its standard error; NaN where a record is too short, or they do not differ at all.
    freedom : int
    """
    if one.parts is None or other.parts is None:
        return math.nan, 0
    parts, batches = _aligned({0: one, 1: other})
    return _student(parts, 0, 1), batches - 1


def _aligned(estimates):
    """Return the pseudo-values of estimates by batches of which all have as many, and how many."""
    batches = min((len(estimate.parts) for estimate in estimates.values()), default=0)
    return {key: _parts(estimate, batches) for key, estimate in estimates.items()}, batches


def _first(estimates, known):
    """Return the first name whose estimate is there and of a record long enough for batches."""
    there = (name for name in known if name in estimates)
    return next((name for name in there if estimates[name].parts is not None), None)


def _parts(estimate, batches):
    """Return pseudo-values whose mean is the estimate, of as many batches as all have.

    Each estimator cuts the record into batches as its own horizon asks for. Where one has more, they are
    cut and joined to as few, so that the batches compared lie at the same time.
    """
    own = len(estimate.parts)
    before = np.concatenate([[0.0], np.cumsum(estimate.parts)]) / own
    cuts = np.linspace(0.0, 1.0, batches + 1)
    parts = batches * np.diff(np.interp(cuts, np.linspace(0.0, 1.0, own + 1), before))
    return parts - parts.mean() + estimate.value


def _student(parts, one, other):
    if one not in parts or other not in parts:
        return math.nan
    difference = parts[one] - parts[other]
    error = batch_means_error(difference, len(difference))
    return float(difference.mean() / error) if error > 0 else math.nan
