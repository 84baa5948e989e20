"""The mean response T as a function of the treated share, from its levels and slopes at several shares.

A section of a record at share p gives the level T(p), its mean response, and with an estimator of the slope
T'(p). On the scale ``g(T) = T`` or ``g(T) = 1 / T`` (a response near saturation is like 1 / (1 - load)) T is
taken to be a polynomial of degree d in p, fitted to levels and slopes by generalised least squares, with
their covariance within each section from its batches and sections counted as independent. The effect is
T(1) - T(0) of the fit. Levels at the shares 0 and 1 make it a switchback, a single slope makes it Differences
in Q, levels alone increasing allocations (Cortez-Rodriguez, Eichhorn and Yu, Staggered rollout designs,
arXiv 2205.14552; Han, Li, Mao and Wu, arXiv 2211.03262).

Degree and scale are chosen by a test: the lowest degree from `LOWEST` on at which the weighted residual sum
of squares J, chi-square with (data - degree - 1) degrees of freedom, is not rejected at `LEVEL`, and at one
degree the scale with the smaller J; without degrees of freedom, that of 1 / T. A fit on the scale of 1 / T
with an end beyond `_FAR` times the longest level is not considered. The choice is made anew in each of
`RESAMPLES` bootstrap samples of the batches, and their mean is the estimate: bagging. Its standard error is
Efron's, Estimation and accuracy after model selection (2014): with N_b the times that batch b is in a sample,
``sum_b cov(N_b, t)^2`` less its Monte Carlo part ``B var(t) / RESAMPLES``, times B / (B - 1); it holds the
choice too.

Check: J at the highest degree that leaves a degree of freedom, on the scale that fits better.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import chdtrc, chdtri

from queuebench.base.randomness import stream
from queuebench.estimators.common.batch_means import merge_blocks
from queuebench.estimators.common.inference import TOO_SHORT
from queuebench.estimators.common.quadrature import by_round, satterthwaite
from queuebench.estimators.common.registry import Estimate
from queuebench.estimators.common.sections import rounds, sections_of

LOWEST = 2
LEVEL = 0.2
RESAMPLES = 500
_FAR = 5.0
_REJECTED = 0.05
_LEAST = 0.2
"""Part of the variance that stays whatever its Monte Carlo part is said to be."""
GRID = np.linspace(0.0, 1.0, 41)
"""Shares at which the curve is given."""


class ShareCurve(NamedTuple):
    """Levels and slopes at the shares run, and the curve fitted to them.

    Attributes
    ----------
    shares : ndarray, shape (K,)
        Increasing.
    levels, levels_se, slopes, slopes_se : ndarray, shape (K,)
        Mean responses and slopes, NaN where there is none.
    curve, curve_se : ndarray, shape (len(GRID),)
        Fitted mean response at the shares `GRID`.
    estimate : queuebench.estimators.common.registry.Estimate
        Of the effect; its check is the test of the polynomial.
    """

    shares: np.ndarray
    levels: np.ndarray
    levels_se: np.ndarray
    slopes: np.ndarray
    slopes_se: np.ndarray
    curve: np.ndarray
    curve_se: np.ndarray
    estimate: Estimate


class _Data(NamedTuple):
    """Levels of all shares, then slopes of those that have one, and the batches behind them."""

    shares: np.ndarray  # (K,)
    sloped: np.ndarray  # (S,): places among the shares
    values: np.ndarray  # (K + S,)
    groups: list  # of (columns, ndarray (batches, columns)): pseudo-values that belong together

    @property
    def covariance(self):
        """Covariance of the values, sections independent; the identity where it is not known."""
        k = len(self.shares)
        section = np.concatenate([np.arange(k), self.sloped])
        if not self.groups:
            return np.eye(len(self.values))
        found = np.zeros((len(self.values),) * 2)
        for columns, parts in self.groups:
            found[np.ix_(columns, columns)] = np.cov(parts.T) / len(parts)
        return np.where(section[:, None] == section, found, 0.0)


def share_curve(record, function=None, horizon=None) -> ShareCurve:
    """Fit the mean response as a function of the share.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        Of a design of several shares.
    function : Callable, optional
        ``function(section, horizon)`` gives an `Estimate` of the slope; by default levels are all.
    horizon : float, optional
        In mean service times.

    Raises
    ------
    EstimationError
        If a share has no block longer than the burn-in, or the slope is not defined on a section.
    """
    sections = sections_of(record)
    inside = [0.0 < share < 1.0 for share in sections]
    for section, run in zip(sections.values(), inside, strict=True):
        if run:
            section.require_both_arms()
    levels = [_level(section) for section in sections.values()]
    slopes = [
        function(section, horizon) if function and run else None
        for section, run in zip(sections.values(), inside, strict=True)
    ]
    shares = np.array(list(sections))
    data = _data(shares, levels, slopes, rounds(sections.values()))
    curve, errors, estimate = _fitted(data, record) if data.groups else _interpolated(data)
    return ShareCurve(
        shares,
        *(np.array([getattr(one, name) for one in levels]) for name in ("value", "standard_error")),
        *(
            np.array([math.nan if one is None else getattr(one, name) for one in slopes])
            for name in ("value", "standard_error")
        ),
        curve, errors, estimate,
    )  # fmt: skip


def _level(section):
    """Return the mean response of a section."""
    sums = section.responses
    jobs, total = sums.count.sum(), sums.total.sum()
    value = float(total / jobs)
    count, response = (merge_blocks(part).sum(axis=1) for part in sums)
    if len(count) < 2:
        return Estimate(value, note=TOO_SHORT)
    parts = value + (response - count * value) * (len(count) / jobs)
    return Estimate(
        value, float(parts.std(ddof=1) / math.sqrt(len(parts))), len(parts) - 1, parts=parts
    )


def _data(shares, levels, slopes, together):
    """Return `_Data`; without groups where an estimate has no pseudo-values."""
    sloped = np.array([k for k, one in enumerate(slopes) if one is not None], int)
    found = [*levels, *(slopes[k] for k in sloped)]
    values = np.array([one.value for one in found])
    if any(one.parts is None for one in found):
        return _Data(shares, sloped, values, [])
    if together:
        columns = [list(range(len(found)))]
    else:
        columns = [[k, *(len(levels) + np.flatnonzero(sloped == k))] for k in range(len(levels))]
    groups = [(own, by_round([found[c].parts for c in own]).T) for own in columns]
    return _Data(shares, sloped, values, groups)


class _Fit(NamedTuple):
    """One scale and degree: linear maps from transformed levels and slopes."""

    reciprocal: bool
    degree: int
    solve: np.ndarray  # (degree + 1, data): to the coefficients
    misfit: np.ndarray  # (data, data): of the quadratic form J
    freedom: int


def _fits(data):
    """Return the fits that are considered, those of higher degrees later."""
    number = len(data.values)
    degrees = range(min(LOWEST, number - 1), number)
    return [_fit(data, reciprocal, degree) for degree in degrees for reciprocal in (True, False)]


def _fit(data, reciprocal, degree):
    places = 2.0 * data.shares - 1.0
    basis = legendre.legvander(places, degree)
    change = [
        2.0 * legendre.legval(places[data.sloped], legendre.legder(one))
        for one in np.eye(degree + 1)
    ]
    model = np.vstack([basis, np.array(change).T.reshape(len(data.sloped), degree + 1)])
    jacobian = _jacobian(data) if reciprocal else np.eye(len(data.values))
    weight = np.linalg.pinv(jacobian @ data.covariance @ jacobian.T, hermitian=True)
    solve = np.linalg.lstsq(model.T @ weight @ model, model.T @ weight, rcond=None)[0]
    rest = np.eye(len(data.values)) - model @ solve
    return _Fit(reciprocal, degree, solve, rest.T @ weight @ rest, len(data.values) - degree - 1)


def _jacobian(data):
    """Return the derivative of ``(1 / T, -T' / T^2)`` by levels and slopes."""
    k = len(data.shares)
    level, slope = data.values[:k], data.values[k:]
    found = np.diag(np.concatenate([-(level**-2.0), -(level[data.sloped] ** -2.0)]))
    found[k + np.arange(len(slope)), data.sloped] = 2.0 * slope / level[data.sloped] ** 3
    return found


def _predict(fit, data, values):
    """Return the curves (samples, grid) and J (samples,) of a fit to samples of the values."""
    k = len(data.shares)
    if fit.reciprocal:
        level, slope = values[:, :k], values[:, k:]
        values = np.hstack([1.0 / level, -slope / level[:, data.sloped] ** 2])
    curve = values @ fit.solve.T @ legendre.legvander(2.0 * GRID - 1.0, fit.degree).T
    misfit = np.einsum("bi,ij,bj->b", values, fit.misfit, values)
    if fit.reciprocal:
        near = 1.0 / (_FAR * data.values[:k].max())
        misfit = np.where(np.all(curve[:, [0, -1]] > near, axis=1), misfit, np.inf)
        curve = 1.0 / np.where(np.abs(curve) > near, curve, near)
    return curve, misfit


def chosen_curves(data, values):
    """Return for samples of the values the curves of the fits that the test chooses."""
    curves = np.empty((len(values), len(GRID)))
    open_ = np.ones(len(values), bool)
    fits = _fits(data)
    for pair in zip(fits[::2], fits[1::2], strict=True):
        found = [_predict(fit, data, values) for fit in pair]
        freedom = pair[0].freedom
        bound = chdtri(freedom, LEVEL) if freedom else math.inf
        # Without freedom nothing is tested: the reciprocal's J is a zero too, or infinite.
        better = found[0][1] <= found[1][1] if freedom else np.isfinite(found[0][1])
        least = np.where(better, found[0][1], found[1][1])
        taken = open_ & (least <= bound) if freedom else open_
        curves[taken] = np.where(better[:, None], found[0][0], found[1][0])[taken]
        open_ = open_ & ~taken
    return curves


def _fitted(data, record):
    """Return curve, its standard errors, and the estimate, by bagging."""
    rng = stream(*record.setting.random_key, "shares", record.replicate.number)
    values = np.empty((RESAMPLES, len(data.values)))
    times = []
    for columns, parts in data.groups:
        batches = len(parts)
        drawn = rng.multinomial(batches, np.full(batches, 1.0 / batches), RESAMPLES)
        # Pseudo-values have the estimate as their mean to the first order only.
        values[:, columns] = data.values[columns] + drawn @ (parts - parts.mean(axis=0)) / batches
        times.append(drawn)
    curves = chosen_curves(data, values)
    effects = curves[:, -1] - curves[:, 0]
    everything = np.column_stack([effects, curves])
    error = np.sqrt(sum(_variance(drawn, everything) for drawn in times))
    curve, value = curves.mean(axis=0), float(effects.mean())
    freedom = [drawn.shape[1] - 1 for drawn in times]
    note, check = _check(data)
    if len(times) > 1:
        by_group = [_variance(drawn, effects[:, None])[0] for drawn in times]
        estimate = Estimate(
            value, float(error[0]), satterthwaite(by_group, freedom), note=note, check=check
        )
    else:
        parts = _pseudo_values(times[0], effects, value, error[0])
        estimate = Estimate(value, float(error[0]), freedom[0], note=note, check=check, parts=parts)
    return curve, error[1:], estimate


def _variance(drawn, found):
    """Return Efron's variance of the mean over samples of the columns of what was found in each."""
    centred = found - found.mean(axis=0)
    raw = (((drawn - 1.0).T @ centred / len(found)) ** 2).sum(axis=0)
    noise = drawn.shape[1] / len(found) * centred.var(axis=0)
    # A bootstrap of B batches has (B - 1) / B of the variance.
    return np.maximum(raw - noise, _LEAST * raw) * drawn.shape[1] / (drawn.shape[1] - 1)


def _pseudo_values(drawn, effects, value, error):
    """Return pseudo-values of the batches with a mean and its standard error as given."""
    influence = (drawn - 1.0).T @ (effects - effects.mean())
    influence -= influence.mean()
    spread = influence.std(ddof=1)
    if spread == 0.0:
        return np.full(len(influence), value)
    return value + influence * (error * math.sqrt(len(influence)) / spread)


def _check(data):
    """Return a note and the p-value of the test of the polynomial; NaN where every fit is exact."""
    testable = [fit for fit in _fits(data) if fit.freedom == 1]
    if not testable:
        return "", math.nan
    misfit = min(float(_predict(fit, data, data.values[None])[1][0]) for fit in testable)
    p_value = float(chdtrc(1, misfit)) if math.isfinite(misfit) else 0.0
    if p_value >= _REJECTED:
        return "", p_value
    degree = testable[0].degree
    return f"the shares disagree with a polynomial of degree {degree} (p = {p_value:.2g})", p_value


def _interpolated(data):
    """Return the polynomial through all data, without errors."""
    fit = _fit(data, False, len(data.values) - 1)
    curve = _predict(fit, data, data.values[None])[0][0]
    estimate = Estimate(float(curve[-1] - curve[0]), note=TOO_SHORT)
    return curve, np.full(len(GRID), math.nan), estimate
