"""Coupled Differences in Q: arrivals at which both arms do the same carry no signal.

Under nested sampling the trace holds what both arms would have chosen. Let ``z_i = (A_i / p - (1 - A_i) /
(1 - p)) 1[the choices differ]``; the estimate is ``mean(z_i (Q_i - mean Q))`` over the starts. Where the
choices agree, the treated and the control Q values have the same law, so leaving those arrivals out
changes no expectation and removes their variance. Source: the truncated Q values are those of Farias, Li,
Peng and Zheng (arXiv 2206.02371), the weights are this project's.

Assumptions: those of `queuebench.estimators.differences_in_q`, and a trace with both choices. The `met`
form also takes two servers of one speed class with equal queues for the same choice: right where the
queue lengths are the state of the system (exponential service, fresh information, policies that treat
servers of a class alike), and a bias elsewhere.

The mixture's weight makes ``mean(z^2 (Q - mean Q)^2)`` least. Standard errors are those of the plain
versions: batch means of the influence, and the delete-a-batch jackknife for the mixture.
"""

import math

import numpy as np

from queuebench.estimators.common.batch_means import merge_blocks
from queuebench.estimators.common.costs import ASSUMED_BY_FIT, Cost
from queuebench.estimators.common.inference import (
    TOO_SHORT,
    batch_means_estimate,
    jackknife_estimate,
    newey_west_error,
)
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, Estimate, register
from queuebench.estimators.common.weighted_windows import COSTS, Weighting, weighted_sums

_RARE = 1e-2
"""Share of the most variable control's variance below which a control is left out: levels that are
hardly ever reached have weights that cannot be estimated."""

NEVER_APART = "the arms never chose differently"


def fixed_estimate(record, horizon, weighting, cost) -> Estimate:
    """Estimate with one cost.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
        In mean service times.
    weighting : Weighting
    cost : Cost
    """
    mixture = np.zeros(COSTS)
    mixture[cost] = 1.0
    return estimate_fixed(weighted_sums(record, horizon), weighting, mixture)


def estimate_fixed(sums, weighting, mixture) -> Estimate:
    """Estimate with a weighted sum of costs, from sums over a record.

    Parameters
    ----------
    sums : queuebench.estimators.common.weighted_windows.WeightedSums
    weighting : int
    mixture : ndarray, shape (kinds,)
        Weights of the costs.
    """
    whole = sums.whole(weighting)
    value, note = float(whole.effects() @ mixture), _note(sums, whole)
    if not sums.enough_batches:
        return Estimate(value, note=note)
    influence = sums.influence(weighting, mixture)
    kernel = _kernel_error(sums, influence)
    return batch_means_estimate(value, merge_blocks(influence), sums.count.sum(), kernel, note=note)


def mixed_estimate(record, horizon, weighting, costs, controls=()):
    """Estimate with the mixture of costs, and of controls, that varies least.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
    weighting : Weighting
    costs : sequence of Cost
        Their weights sum to one.
    controls : sequence of int
        Columns of controls, which have no effect of their own; their weights are free.

    Returns
    -------
    Estimate
        ``alpha`` is the weight of the first cost.
    """
    return estimate_mixed(
        weighted_sums(record, horizon, controls=bool(controls)), weighting, costs, controls
    )


def estimate_mixed(sums, weighting, costs, controls=()):
    """Estimate with the mixture that varies least, from sums over a record.

    Parameters
    ----------
    sums : queuebench.estimators.common.weighted_windows.WeightedSums
    weighting : int
    costs, controls : sequence of int
        Columns, see `mixed_estimate`.

    Returns
    -------
    Estimate
        ``alpha`` is the weight of the first cost.
    """
    whole = sums.whole(weighting)
    mixture = least_variance(whole.covariance(), costs, controls)
    value, alpha = float(whole.effects() @ mixture), float(mixture[costs[0]])
    note = _note(sums, whole)
    if not sums.enough_batches:
        return Estimate(value, alpha=alpha, note=note)
    left_out = [
        rest.effects() @ least_variance(rest.covariance(), costs, controls)
        for rest in sums.left_out(weighting)
    ]
    kernel = _kernel_error(sums, sums.influence(weighting, mixture))
    return jackknife_estimate(value, left_out, kernel_error=kernel, alpha=alpha, note=note)


def least_variance(covariance, costs, controls=()):
    """Return the weights ``w`` that minimize ``w' C w``.

    Parameters
    ----------
    covariance : ndarray, shape (kinds, kinds)
    costs : sequence of int
        Columns whose weights sum to one.
    controls : sequence of int
        Columns whose weights are free, but zero for those that hardly vary; all others are zero.

    Returns
    -------
    ndarray, shape (kinds,)
        Of the least norm where several do, each column in units of its standard deviation.
    """
    spread = np.diag(covariance)
    largest = max((spread[control] for control in controls), default=0.0)
    controls = [control for control in controls if spread[control] > _RARE * largest]
    start = np.zeros(len(covariance))
    start[list(costs)] = 1.0 / len(costs)
    directions = np.zeros((len(covariance), len(costs) - 1 + len(controls)))
    for column, cost in enumerate(costs[1:]):
        directions[cost, column] = 1.0
        directions[costs[0], column] = -1.0
    for column, control in enumerate(controls, len(costs) - 1):
        directions[control, column] = 1.0
    inner = directions.T @ covariance @ directions
    # A direction in which nothing varies decides nothing.
    scale = np.sqrt(np.where(np.diag(inner) > 0.0, np.diag(inner), np.inf))
    scaled = inner / np.outer(scale, scale)
    step = np.linalg.pinv(scaled, rcond=1e-12, hermitian=True) @ (
        directions.T @ covariance @ start / scale
    )
    return start - directions @ (step / scale)


def _note(sums, part):
    """Return what is to be said of an estimate: too few batches, or nothing to compare."""
    if not part.moment.any():
        return NEVER_APART
    return "" if sums.enough_batches else TOO_SHORT


def _kernel_error(sums, influence):
    starts = sums.count.sum()
    lags = math.ceil(sums.length * len(sums.count) / starts)
    return newey_west_error(influence, starts, lags)


@over_shares()
@register(
    "wdq_coupled",
    usual=True,
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=25.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def wdq_coupled(record, horizon):
    """`wdq` over the arrivals at which the arms choose different servers."""
    return fixed_estimate(record, horizon, Weighting.CHOICE, Cost.FITTED)


@over_shares()
@register(
    "qdq_coupled",
    usual=True,
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    observed_costs=True,
    nanoseconds=25.0,
    assumes=[*RANDOMISED, "equal_service", "complete"],
    rank=3,
)
def qdq_coupled(record, horizon):
    """`qdq` over the arrivals at which the arms choose different servers."""
    return fixed_estimate(record, horizon, Weighting.CHOICE, Cost.QUEUE)


@over_shares(levels=True, rank=3)
@register(
    "mixed_dq_coupled",
    compared="model_free",
    usual=True,
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=25.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
    rank=2,
)
def mixed_dq_coupled(record, horizon):
    """`mixed_dq` over the arrivals at which the arms choose different servers."""
    return mixed_estimate(record, horizon, Weighting.CHOICE, (Cost.FITTED, Cost.QUEUE))


@register(
    "mixed_dq_coupled_met",
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=25.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT, "exponential"],
)
def mixed_dq_coupled_met(record, horizon):
    """`mixed_dq` over the arrivals at which the arms choose servers of different class or length."""
    return mixed_estimate(record, horizon, Weighting.MET, (Cost.FITTED, Cost.QUEUE))
