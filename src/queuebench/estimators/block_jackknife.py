"""Block jackknife: the bias that the estimated weight of the mixture leaves, taken off.

The weight of `mixed_dq` is a ratio of sample moments, so that the estimate has a bias of order 1/n. With B
batches, ``theta`` the estimate of the whole record and ``theta_(-b)`` the one without batch b, the estimate
is ``B theta - (B - 1) mean(theta_(-b))``, the mean of the pseudo-values ``B theta - (B - 1) theta_(-b)``.
Sources: Quenouille, Notes on bias in estimation (1956); Künsch, The jackknife and the bootstrap for general
stationary observations (1989), for blocks of dependent data.

Assumptions: those of `queuebench.estimators.differences_in_q`, and batches that are nearly independent.
Neither the truncation bias nor the bias that DQ leaves is of order 1/n; both stay.

Standard error: that of the mean of the pseudo-values, which is the delete-a-batch jackknife's.
"""

import numpy as np

from queuebench.estimators.common.costs import ASSUMED_BY_FIT, Cost
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.differences_in_q import mixed_dq, mixed_effect


@register(
    "mixed_dq_jackknife",
    design="bernoulli",
    uses_horizon=True,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def mixed_dq_jackknife(record, horizon):
    """`mixed_dq` without the bias of order 1/n; where the record has too few batches, as it is."""
    plain = mixed_dq(record, horizon)
    sums = record.windows(horizon)
    if not sums.enough_batches:
        return plain
    left_out = mixed_effect(Cost.FITTED, *sums.left_out())
    batches = len(left_out)
    value = batches * plain.value - (batches - 1) * np.mean(left_out)
    return plain._replace(value=float(value))
