"""Differences of mean responses: the naive estimator, and the group design's."""

import math

from queuebench.estimators.common.batch_means import BLOCKS, FEWEST_BATCHES, difference, influence
from queuebench.estimators.common.inference import batch_means_error, newey_west_error
from queuebench.estimators.common.registry import Estimate, register, require_both_arms


@register(
    "naive",
    exact="arm difference",
    role="baseline",
    usual=True,
    place=1,
    design="bernoulli",
    observed_costs=True,
    estimand="arm difference",
    assumes=["constant_share"],
)
def naive(record, horizon=None):
    """Mean observed response of the treated minus that of the controls.

    Biased by interference: both arms meet the queues that the mixture of both policies makes.
    """
    return _difference(record)


@register(
    "group",
    role="halves",
    usual=True,
    place=2,
    design="group",
    observed_costs=True,
    estimand="effect",
    assumes=["own_servers"],
    rank=1,
)
def group(record, horizon=None):
    """Mean response of the treated half of the servers minus that of the control half."""
    return _difference(record)


def _difference(record):
    sums = record.responses
    require_both_arms(*sums.count.sum(axis=0))
    batches = len(sums.count) // BLOCKS
    if batches < FEWEST_BATCHES:
        return Estimate(difference(sums), note="record too short for batch means")
    n, setting = record.arrivals, record.setting
    correlated = setting.horizon_arrivals(setting.batch_horizon)
    return Estimate(
        difference(sums),
        batch_means_error(influence(sums.batches()), n),
        batches - 1,
        newey_west_error(influence(sums), n, math.ceil(correlated * len(sums.count) / n)),
    )
