"""Whether two arms' values have one law within strata: tests on ranks, whatever the values' laws are.

Within a stratum values are replaced by mid-ranks, and ranks by scores; ties share a score. If which
values are the treated ones is as good as drawn by lot within every stratum, the sum of the treated scores
less its mean has the variance of sampling without replacement, and is nearly normal over all strata. Sources:
Hájek, Sidák and Sen, Theory of Rank Tests (1999), chapters 3 and 4; van Elteren (1960) for strata.

Two kinds of scores. Savage's, ``-log(1 - u) - 1``, are the best there are against a change of scale of an
exponential law, and signed. The first four Legendre polynomials of u see other changes of level, spread and
shape (Neyman's smooth test; Eubank, LaRiccia and Rosenstein 1987). Neither minds how heavy the tails are.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

_SAVAGE = 0.9
"""Share of the level that goes to Savage's scores: a change of scale is what is to be expected."""
_ORDERS = 4
"""Legendre polynomials in the test of the law."""


class Comparison(NamedTuple):
    """How the treated values of some strata compare with the others.

    Attributes
    ----------
    p_value : float
        Of one law in both arms: by Bonferroni's inequality from the two tests.
    between : float
        P-value of one difference in all groups of strata, by Savage's scores; 1 for fewer than two groups.
    difference, error : float
        Treated minus control mean, strata weighted as in a regression on their means, and its standard
        error from batches.
    mean : float
        Of all values compared.
    count : int
        Values compared: those of strata with both arms.
    """

    p_value: float
    between: float
    difference: float
    error: float
    mean: float
    count: int


_NOTHING = Comparison(1.0, 1.0, 0.0, np.inf, np.nan, 0)
_BATCHES = 100
_FEWEST = 50
"""Values of the rarer arm below which normal laws are not relied on."""


def compare(values, treated, strata, groups=None) -> Comparison:
    """Compare the treated values with the others within strata.

    Parameters
    ----------
    values : ndarray of float64, shape (m,)
        In order of arrival.
    treated : ndarray of bool, shape (m,)
    strata : ndarray of int, shape (m,)
    groups : ndarray of int, shape (m,), optional
        Of whole strata, to be compared with each other.
    """
    strata, treated, values, groups = _with_both(strata, treated, values, groups)
    if min(np.count_nonzero(treated), np.count_nonzero(~treated)) < _FEWEST:
        return _NOTHING
    size = np.bincount(strata)
    share = (np.bincount(strata, treated) / size)[strata]
    ranks = mid_ranks(values, strata)
    away = treated - share
    savage = _savage(ranks, strata, size)
    legendre = _legendre(ranks, strata, size)
    # The variance of a sum of n p of n values drawn without replacement.
    weight = share * (1 - share) * size[strata] / (size[strata] - 1)
    p_values = _normal(away @ savage, weight @ savage**2), _smooth(away, legendre, weight)
    between = 1.0 if groups is None else _between(away, savage, weight, share * (1 - share), groups)
    residual = _centred(values, strata, size)
    total = float(share @ (1 - share))
    difference = float(away @ residual / total)
    parts = _batches(away * (residual - difference * away))
    return Comparison(
        min(1.0, p_values[0] / _SAVAGE, p_values[1] / (1.0 - _SAVAGE)), between, difference,
        float(np.sqrt(len(parts) * np.var(parts, ddof=1)) / total), float(values.mean()), len(values),
    )  # fmt: skip


def mid_ranks(values, strata):
    """Return the mid-ranks of values within their strata, over the strata's sizes: between 0 and 1.

    Parameters
    ----------
    values : ndarray of float64, shape (m,)
    strata : ndarray of int, shape (m,)

    Returns
    -------
    ndarray of float64, shape (m,)
        ``(r - 1/2) / n``, the same for equal values.
    """
    order = np.lexsort((values, strata))
    sorted_strata, sorted_values = strata[order], values[order]
    fresh = np.ones(len(values), bool)
    fresh[1:] = sorted_strata[1:] != sorted_strata[:-1]
    first = np.maximum.accumulate(np.where(fresh, np.arange(len(values)), 0))
    tie = fresh.copy()
    tie[1:] |= sorted_values[1:] != sorted_values[:-1]
    starts = np.flatnonzero(tie)
    ends = np.append(starts[1:], len(values))
    middle = np.repeat((starts + ends) / 2.0, ends - starts)
    ranks = np.empty(len(values))
    ranks[order] = (middle - first) / np.bincount(strata)[sorted_strata]
    return ranks


def depends(values, labels, strata) -> float:
    """Return the p-value of values not depending on labels within strata, by Savage's scores.

    Parameters
    ----------
    values : ndarray of float64, shape (m,)
    labels, strata : ndarray of int, shape (m,)
        Labels of few values.
    """
    if not len(values):
        return 1.0
    strata = np.unique(strata, return_inverse=True)[1]
    labels = np.unique(labels, return_inverse=True)[1]
    size, kinds = np.bincount(strata), labels.max() + 1
    if kinds < 2:
        return 1.0
    scores = _savage(mid_ranks(values, strata), strata, size)
    spread = np.bincount(strata, scores**2) / np.maximum(size - 1, 1)
    count = np.zeros((len(size), kinds))
    np.add.at(count, (strata, labels), 1.0)
    total = np.bincount(labels, scores)
    covariance = np.diag(spread @ count) - (count * (spread / size)[:, None]).T @ count
    return _quadratic(total, covariance)


def _with_both(strata, treated, values, groups):
    """Return what belongs to strata with both arms, strata numbered without gaps."""
    strata = np.unique(strata, return_inverse=True)[1]
    size, of_treatment = np.bincount(strata), np.bincount(strata, treated)
    both = ((of_treatment > 0) & (of_treatment < size))[strata]
    kept = np.unique(strata[both], return_inverse=True)[1]
    return kept, treated[both], values[both], None if groups is None else groups[both]


def _centred(values, strata, size):
    return values - (np.bincount(strata, values) / size)[strata]


def _savage(ranks, strata, size):
    return _exact(_centred(-np.log1p(-ranks) - 1.0, strata, size))


def _legendre(ranks, strata, size):
    basis = (np.polynomial.legendre.Legendre.basis(order) for order in range(1, _ORDERS + 1))
    scores = [_centred(polynomial(2.0 * ranks - 1.0), strata, size) for polynomial in basis]
    return _exact(np.column_stack(scores))


def _exact(scores):
    """Return centred scores without rounding: where all values are equal there must be nothing left."""
    return np.where(np.abs(scores) < 1e-12, 0.0, scores)


def _normal(total, variance):
    return float(2.0 * ndtr(-abs(total) / np.sqrt(variance))) if variance > 0 else 1.0


def _smooth(away, scores, weight):
    return _quadratic(away @ scores, (scores * weight[:, None]).T @ scores)


def _quadratic(total, covariance):
    """Return the p-value of a normal vector of mean zero whose covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    used = values > 1e-9 * max(values.max(), 0.0)
    if not used.any():
        return 1.0
    statistic = float(((vectors.T @ total)[used] ** 2 / values[used]).sum())
    return float(chdtrc(used.sum(), statistic))


def _between(away, scores, weight, information, groups):
    """Compare groups' differences, each estimated by ``sum(away scores) / sum(p (1 - p))``."""
    groups = np.unique(groups, return_inverse=True)[1]
    information = np.bincount(groups, information)
    variance = np.bincount(groups, weight * scores**2)
    there = variance > 0
    if there.sum() < 2:
        return 1.0
    difference = (np.bincount(groups, away * scores) / np.maximum(information, 1e-300))[there]
    precision = information[there] ** 2 / variance[there]
    common = precision @ difference / precision.sum()
    statistic = float(precision @ (difference - common) ** 2)
    return float(chdtrc(there.sum() - 1, statistic))


def _batches(influence):
    """Return the sums of consecutive parts."""
    return np.add.reduceat(influence, np.arange(_BATCHES) * len(influence) // _BATCHES)
