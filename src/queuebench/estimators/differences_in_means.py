"""Differences of mean responses: the naive estimator, and the group design's."""

import math

from queuebench.estimators.batch_means import FEWEST_BATCHES, difference, standard_error
from queuebench.estimators.registry import Estimate, EstimationError, register


@register("naive", design="bernoulli")
def naive(record, horizon=None):
    """Mean observed response of the treated minus that of the controls.

    Biased by interference: both arms meet the queues that the mixture of both policies makes.
    """
    return _difference(record)


@register("group", design="group")
def group(record, horizon=None):
    """Mean response of the treated half of the servers minus that of the control half."""
    return _difference(record)


def _difference(record):
    sums = record.responses
    if min(sums.count.sum(axis=0)) < 1:
        raise EstimationError("an arm has no arrivals")
    if len(sums.count) < FEWEST_BATCHES:
        return Estimate(difference(sums), math.nan, note="record too short for batch means")
    return Estimate(difference(sums), standard_error(sums))
