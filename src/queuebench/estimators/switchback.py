"""Switchback estimators: the whole system alternates between the arms.

Hu and Wager, Switchback experiments under geometric mixing (arXiv 2209.00197), leave out a burn-in at
the start of each block, in which the system still remembers the other arm.
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import FEWEST_BATCHES, ArmSums, difference, influence
from queuebench.estimators.common.inference import batch_means_estimate, newey_west_error
from queuebench.estimators.common.registry import Estimate, EstimationError, register


@register(
    "switchback",
    role="blocks",
    usual=True,
    place=3,
    design="switchback",
    observed_costs=True,
    estimand="effect",
    assumes=[],
    rank=3,
)
def switchback(record, horizon=None):
    """Mean response of all jobs that arrive in treated blocks minus that of the control blocks."""
    return _difference(record, 0.0)


@register(
    "switchback_burn_in",
    role="later_blocks",
    usual=True,
    place=4,
    design="switchback",
    observed_costs=True,
    estimand="effect",
    assumes=[],
    rank=2,
)
def switchback_burn_in(record, horizon=None):
    """`switchback` without the arrivals in the first part of each block."""
    return _difference(record, record.setting.burn_in)


def _difference(record, burn_in):
    """Difference over complete pairs of blocks, with one batch per pair for the standard error."""
    period = record.setting.period
    pairs = int(record.replicate.record_end // (2 * period))
    sums = ArmSums(np.zeros((pairs, 2)), np.zeros((pairs, 2)))
    for arrival, block, treated, response in record.replicate.chunks(
        "arrival_time", "block", "treated", "response_time"
    ):
        _add(arrival, block, treated, response, period, burn_in, *sums)
    if min(sums.count.sum(axis=0), default=0) < 1:
        raise EstimationError(
            f"no complete pair of blocks of {period:g} with arrivals of both arms in the record"
        )
    if pairs < FEWEST_BATCHES:
        note = f"fewer than {FEWEST_BATCHES} pairs of blocks"
        return Estimate(difference(sums), note=note)
    influences, jobs = influence(sums), sums.count.sum()
    kernel = newey_west_error(influences, jobs, fewest_lags=1)
    return batch_means_estimate(difference(sums), influences, jobs, kernel)


@kernel
def _add(arrival, block, treated, response, period, burn_in, count, total):
    for i in range(len(arrival)):
        pair = block[i] // 2
        if pair >= len(count) or arrival[i] - block[i] * period < burn_in:
            continue
        arm = np.int64(treated[i])
        count[pair, arm] += 1.0
        total[pair, arm] += response[i]
