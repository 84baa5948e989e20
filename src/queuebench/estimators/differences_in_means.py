"""Differences of mean responses: the naive estimator, and the group design's."""

import math

from queuebench.estimators.common.batch_means import BLOCKS, FEWEST_BATCHES, difference
from queuebench.estimators.common.inference import TOO_SHORT, difference_estimate
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import Estimate, register, require_both_arms


@over_shares(estimand="arm difference")
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
        return Estimate(difference(sums), note=TOO_SHORT)
    n, setting = record.arrivals, record.setting
    correlated = setting.horizon_arrivals(setting.batch_horizon)
    return difference_estimate(sums, n, math.ceil(correlated * len(sums.count) / n))
