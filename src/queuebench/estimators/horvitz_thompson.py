"""Horvitz-Thompson on exposures: jobs that followed a run of one arm.

Job j is exposed to an arm if the last m arrivals up to and including j all had it, which happens with
probability ``p^m`` (treatment) or ``(1 - p)^m`` (control). Weighted by one over these and normalised by the
sum of the weights (Hájek's form), the estimate is the mean response of the jobs exposed to the treatment
minus that of those exposed to the control. Sources: Horvitz and Thompson (1952); Hájek (1971); exposures
to the assignments of others after Aronow and Samii, Estimating average causal effects under general
interference (2017); runs of arrivals as exposures are this project's.

m is the largest number for which either exposure may expect `FEWEST_JOBS` jobs, ``m = floor(log(n / 1000) /
log(1 / min(p, 1 - p)))``, and at least 1, which is the naive comparison. It grows like log n: six of 100 000
arrivals, nineteen of a thousand million.

Assumptions: that what was assigned more than m arrivals ago no longer matters. In a queue it does, unless m
exceeds the number of arrivals within the system's memory, hundreds at high load: the estimate is biased,
even more so than the naive one as long as a run of treated arrivals mostly spoils the short queues for its
last one. Nothing is assumed about service, information or policies.

Standard error: batch means of the influence, with batches ten horizons long as for the naive comparison.
"""

import math

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import (
    BLOCKS,
    FEWEST_BATCHES,
    ArmSums,
    batch_count,
    block_of,
    difference,
)
from queuebench.estimators.common.inference import TOO_SHORT, difference_estimate
from queuebench.estimators.common.registry import RANDOMISED, Estimate, register, require_both_arms

FEWEST_JOBS = 1000
"""Jobs that either exposure must be able to expect."""

_ROUNDING = 1e-9


@register(
    "horvitz_thompson",
    design="bernoulli",
    observed_costs=True,
    estimand="effect",
    assumes=RANDOMISED,
)
def horvitz_thompson(record, horizon=None):
    """Mean response after a run of treated arrivals minus that after a run of controls."""
    setting = record.setting
    run = run_length(record.arrivals, setting.treated_share)
    correlated = setting.horizon_arrivals(setting.batch_horizon)
    batches = batch_count(record.arrivals, correlated)
    sums = exposed_responses(record.replicate, run, max(1, batches))
    if min(sums.count.sum(axis=0)) < 1:
        require_both_arms(*record.responses.count.sum(axis=0))
        return Estimate(math.nan, note=f"an arm never had {run} arrivals in a row")
    if batches < FEWEST_BATCHES:
        return Estimate(difference(sums), note=TOO_SHORT)
    jobs = sums.count.sum()
    lags = math.ceil(correlated * len(sums.count) / record.arrivals)
    return difference_estimate(sums, jobs, lags)


def run_length(arrivals, share) -> int:
    """Return m, the number of arrivals of one arm that make an exposure.

    Parameters
    ----------
    arrivals : int
        Recorded arrivals n.
    share : float
        Probability of treatment, above 0 and below 1.
    """
    rarer = min(share, 1.0 - share)
    run = 1
    while arrivals * rarer ** (run + 1) >= FEWEST_JOBS * (1.0 - _ROUNDING):
        run += 1
    return run


def exposed_responses(replicate, run, batches) -> ArmSums:
    """Return the sums of observed responses of exposed jobs, by arm and block of arrivals.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
    run : int
        Arrivals of one arm that make an exposure.
    batches : int
        At least 1.
    """
    sums = ArmSums(np.zeros((batches * BLOCKS, 2)), np.zeros((batches * BLOCKS, 2)))
    latest = np.zeros(2, np.int64)
    batch_length, before = max(1, replicate.arrivals // batches), 0
    for treated, response in replicate.chunks("treated", "response_time"):
        _add(before, batch_length, run, treated, response, latest, *sums)
        before += len(treated)
    return sums


@kernel
def _add(before, batch_length, run, treated, response, latest, count, total):
    """Add a chunk; `latest` is how many arrivals of each arm ended the last one without a break."""
    batches = len(count) // BLOCKS
    for i in range(len(response)):
        arm = np.int64(treated[i])
        latest[arm] += 1
        latest[1 - arm] = 0
        if latest[arm] >= run:
            block = block_of(before + i, batch_length, batches)
            count[block, arm] += 1.0
            total[block, arm] += response[i]
