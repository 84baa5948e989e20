"""Quadrature: slopes at several treated shares add up to the effect.

Let T(p) be the mean response at share p. An estimator of the slope T'(p), applied to every section of a
record (`queuebench.estimators.common.sections`), gives ``sum_k w_k T'(p_k)``, the effect T(1) - T(0) if the
weights integrate T' exactly (`queuebench.study.shares`): at K points of Gauss and Legendre for a T of
degree 2 K. Sources: the slope is what Differences in Q estimate (Farias, Li, Peng and Zheng, arXiv
2206.02371); to add it up over shares is this project's.

Assumptions: those of the slope's estimator at every share, and T a polynomial in the share as far as the
weights integrate it.

Standard error: where batches are rounds, that of the mean of the weighted pseudo-values by round, so that
what slowly changes and touches neighbouring blocks alike is in it; else shares count as independent, and
the degrees of freedom are Welch and Satterthwaite's.
"""

import math

import numpy as np

from queuebench.estimators.common.inference import TOO_SHORT
from queuebench.estimators.common.registry import Estimate
from queuebench.estimators.common.sections import rounds, sections_of

ONE_SHARE = "one share has a slope: it is that slope, not the effect"


def quadrature(function, record, horizon) -> Estimate:
    """Add up what an estimator of the slope says of the sections of a record.

    Parameters
    ----------
    function : Callable
        ``function(section, horizon)`` gives an `Estimate`.
    record : queuebench.estimators.common.record.Record
    horizon : float or None
        In mean service times.

    Raises
    ------
    EstimationError
        If a share has no block longer than the burn-in, or the estimator is not defined on a section.
    """
    found, weights = [], []
    for section, weight in zip(sections_of(record).values(), record.setting.weights, strict=True):
        if weight:
            found.append((section, function(section, horizon)))
            weights.append(weight)
    sections, estimates = zip(*found, strict=True)
    estimate = combined(np.array(weights), sections, estimates)
    if len(found) > 1:
        return estimate
    return estimate._replace(note="; ".join(filter(None, (ONE_SHARE, estimate.note))))


def combined(weights, sections, estimates) -> Estimate:
    """Return the weighted sum of estimates, one for each of some sections.

    Parameters
    ----------
    weights : ndarray, shape (K,)
    sections : sequence of queuebench.estimators.common.sections.Section
    estimates : sequence of Estimate
    """
    value = float(weights @ [one.value for one in estimates])
    errors = np.array([one.standard_error for one in estimates])
    note = "; ".join(dict.fromkeys(one.note for one in estimates if one.note))
    if np.any(np.isnan(errors)):
        return Estimate(value, note=note or TOO_SHORT)
    if rounds(sections) and all(one.parts is not None for one in estimates):
        parts = weights @ by_round([one.parts for one in estimates])
        error = float(parts.std(ddof=1) / math.sqrt(len(parts)))
        return Estimate(value, error, len(parts) - 1, note=note, parts=parts)
    variances = (weights * errors) ** 2
    freedom = [one.freedom for one in estimates]
    return Estimate(value, math.sqrt(variances.sum()), satterthwaite(variances, freedom), note=note)


def satterthwaite(variances, freedom) -> int:
    """Return the degrees of freedom of a sum of variances, Welch and Satterthwaite's, rounded down."""
    total = sum(variances)
    if not total:
        return int(sum(freedom))
    return max(1, int(total**2 / sum(v**2 / f for v, f in zip(variances, freedom, strict=True))))


def by_round(parts):
    """Return pseudo-values of several sections by round, averaged where a section has more stretches.

    Parameters
    ----------
    parts : sequence of ndarray

    Returns
    -------
    ndarray, shape (len(parts), rounds)
    """
    number = min(map(len, parts))
    return np.array([
        one if len(one) == number else [part.mean() for part in np.array_split(one, number)]
        for one in parts
    ])  # fmt: skip
