"""Differences in Q (Farias, Li, Peng and Zheng 2022), and the mixture through Little's law.

The truncated Q value of an arrival is the sum of the centred costs over the horizon that follows it; the
estimate is its mean over treated minus its mean over control arrivals. A response-time cost and a
queue-length cost have the same long-run mean, so any weighted sum of the two versions estimates the
same effect, and the weight can be chosen for the least variance (Jia, Johari, Si and Zheng 2026).
"""

import math

import numpy as np

from queuebench.estimators.common.batch_means import difference, influence
from queuebench.estimators.common.costs import ASSUMED_BY_FIT, Cost
from queuebench.estimators.common.inference import (
    TOO_SHORT,
    difference_estimate,
    jackknife_estimate,
    newey_west_error,
)
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, Estimate, register

_VANISHING = 1e-12
"""Share of the two variances below which their difference's variance counts as zero."""


def _weighted(sums, weights):
    """Estimate with a fixed weighted sum of costs."""
    arms = sums.arms(weights)
    if not sums.enough_batches:
        return Estimate(difference(arms), note=TOO_SHORT)
    return difference_estimate(arms, sums.starts, _lags(sums))


def _lags(sums):
    """Return the horizon in blocks."""
    return math.ceil(sums.length / sums.block_length)


def optimal_weight(sums, cost):
    """Return the weight of a response-time cost that makes the mixture's Q vary least.

    ``alpha* = (Var(Q_q) - Cov(Q_w, Q_q)) / (Var(Q_w) + Var(Q_q) - 2 Cov(Q_w, Q_q))`` from the moments
    pooled over all starts; 1/2 where the denominator vanishes. It is often well above 1.

    Parameters
    ----------
    sums : queuebench.estimators.common.windows.MomentSums
    cost : Cost
        The response-time cost.

    Returns
    -------
    ndarray of float64
        One weight, or one for each part of the record that `sums` holds.
    """
    response = sums.covariance(cost, cost)
    queue = sums.covariance(Cost.QUEUE, Cost.QUEUE)
    both = sums.covariance(cost, Cost.QUEUE)
    denominator = response + queue - 2 * both
    vanishing = denominator <= _VANISHING * (response + queue)
    return np.where(vanishing, 0.5, (queue - both) / np.where(vanishing, 1.0, denominator))


def _mixture(record, horizon, cost):
    """Estimate with the optimal weight; the jackknife accounts for its being estimated."""
    sums = record.windows(horizon)
    alpha = float(optimal_weight(sums.moment_sums(), cost))
    arms = sums.arms({cost: alpha, Cost.QUEUE: 1 - alpha})
    value = difference(arms)
    if not sums.enough_batches:
        return Estimate(value, alpha=alpha, note=TOO_SHORT)
    kernel = newey_west_error(influence(arms), sums.starts, _lags(sums))
    left_out = mixed_effect(cost, *sums.left_out())
    return jackknife_estimate(value, left_out, kernel_error=kernel, alpha=alpha)


def mixed_effect(cost, moments, count, total):
    """Return the mixture's estimate from sums over parts of the record, one for each part."""
    alpha = optimal_weight(moments, cost)[..., None]
    mean = (alpha * total[cost] + (1 - alpha) * total[Cost.QUEUE]) / count
    return mean[..., 1] - mean[..., 0]


@over_shares()
@register(
    "wdq",
    exact="response",
    role="response_cost",
    usual=True,
    place=8,
    design="bernoulli",
    uses_horizon=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def wdq(record, horizon):
    """Differences in Q with the fitted response-time cost."""
    return _weighted(record.windows(horizon), {Cost.FITTED: 1.0})


@register(
    "wdq_markov",
    exact="response",
    usual=True,
    place=7,
    design="bernoulli",
    uses_horizon=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT, "exponential"],
)
def wdq_markov(record, horizon):
    """Differences in Q with the response-time cost ``(queue_length + 1) / mu_hat``."""
    return _weighted(record.windows(horizon), {Cost.MARKOV: 1.0})


@over_shares(rank=5)
@register(
    "wdq_observed",
    exact="response",
    usual=True,
    place=6,
    design="bernoulli",
    uses_horizon=True,
    observed_costs=True,
    assumes=RANDOMISED,
    rank=5,
)
def wdq_observed(record, horizon):
    """Differences in Q with the observed response times."""
    return _weighted(record.windows(horizon), {Cost.OBSERVED: 1.0})


@over_shares(rank=6)
@register(
    "qdq",
    exact="queue",
    role="queue_cost",
    usual=True,
    place=5,
    design="bernoulli",
    uses_horizon=True,
    observed_costs=True,
    assumes=[*RANDOMISED, "complete"],
    rank=6,
)
def qdq(record, horizon):
    """Differences in Q with the queue-length cost ``in_system / Lambda_hat``."""
    return _weighted(record.windows(horizon), {Cost.QUEUE: 1.0})


@over_shares(levels=True, rank=4)
@register(
    "mixed_dq",
    exact="mixture",
    role="mixture",
    compared="model_free",
    usual=True,
    place=10,
    design="bernoulli",
    uses_horizon=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
    rank=4,
)
def mixed_dq(record, horizon):
    """The least variable mixture of `wdq` and `qdq`."""
    return _mixture(record, horizon, Cost.FITTED)


@register(
    "mixed_dq_markov",
    exact="mixture",
    usual=True,
    place=9,
    design="bernoulli",
    uses_horizon=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT, "exponential"],
)
def mixed_dq_markov(record, horizon):
    """The least variable mixture of `wdq_markov` and `qdq`."""
    return _mixture(record, horizon, Cost.MARKOV)


@register(
    "wdq_uncentred",
    design="bernoulli",
    uses_horizon=True,
    needs_cycle=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def wdq_uncentred(record, horizon):
    """`wdq` without centring by phase, to show what the centring removes."""
    return _weighted(record.windows(horizon), {Cost.FITTED_UNCENTRED: 1.0})


@register(
    "qdq_uncentred",
    design="bernoulli",
    uses_horizon=True,
    needs_cycle=True,
    observed_costs=True,
    assumes=[*RANDOMISED, "complete"],
)
def qdq_uncentred(record, horizon):
    """`qdq` without centring by phase, to show what the centring removes."""
    return _weighted(record.windows(horizon), {Cost.QUEUE_UNCENTRED: 1.0})
