"""DQ(lambda): Differences in Q with eligibility traces, a fading memory instead of a window.

The Q value of start i is ``Q_i = sum_{j >= i} lambda^(j - i) (c_j - mean c)``. The weights ``z_i`` of the
arms, of mean zero, reach every later cost through the eligibility trace ``e_j = lambda e_{j-1} + z_j``, so
that the sum of ``z_i Q_i`` over starts is the sum of ``e_j (c_j - mean c)`` over costs, and one forward pass
without a window gives the estimate ``mean((e_j - mean e) (c_j - mean c))``. In the same way the sum of
``z_i^2 Q_i Q'_i`` for two costs is that of ``c_j h'_j + h_j c'_j - s_j c_j c'_j`` with ``s_j = lambda^2
s_{j-1} + z_j^2`` and ``h_j = lambda h_{j-1} + s_j c_j``. Sources: the Q values are those of Farias, Li, Peng
and Zheng (arXiv 2206.02371), eligibility traces those of Sutton and Barto, Reinforcement Learning (2018),
chapter 12; the forward second moments are this project's.

``lambda = L / (L + 1)``, with L the horizon in arrivals: then the weights ``lambda^k`` sum to the L + 1 costs
of a window, and a horizon means the same memory for both. Where an effect fades like ``exp(-k / m)`` the
window misses ``exp(-L / m)`` of it and the trace ``m / (m + L)``, which is more; independent costs
have half the window's variance.

`dq_lambda` has ``z_i = A_i / p - (1 - A_i) / (1 - p)``; `dq_lambda_coupled` the same where the arms choose
different servers, else 0 (`queuebench.estimators.coupled`). Both mix the fitted response cost and the queue
cost so that the sum of ``z_i^2 Q_i^2`` is least, as `mixed_dq_coupled` does.

Assumptions: those of `queuebench.estimators.differences_in_q`; the coupled form needs both choices. The
first L arrivals build up the trace and are not averaged, because the starts before the record are not
known.

Standard error: delete-a-batch jackknife over batches of costs j (not of starts i, as in windows): a cost is
charged to all earlier starts at once.
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import BLOCKS, block_of
from queuebench.estimators.common.costs import ASSUMED_BY_FIT, Cost, Costs
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.weighted_windows import (
    CHOICES,
    COSTS,
    Weighting,
    arm_weights,
    empty_sums,
    pooled_sums,
)
from queuebench.estimators.coupled import estimate_mixed

_MIXED = [Cost.FITTED, Cost.QUEUE]


@over_shares()
@register(
    "dq_lambda",
    design="bernoulli",
    uses_horizon=True,
    nanoseconds=50.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def dq_lambda(record, horizon):
    """`mixed_dq` with a fading memory as long as the horizon."""
    return estimate_mixed(trace_sums(record, horizon), Weighting.ALL, (0, 1))


@over_shares(levels=True)
@register(
    "dq_lambda_coupled",
    usual=True,
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=50.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def dq_lambda_coupled(record, horizon):
    """`mixed_dq_coupled` with a fading memory as long as the horizon."""
    return estimate_mixed(trace_sums(record, horizon), Weighting.CHOICE, (0, 1))


def trace_sums(record, horizon):
    """Return the sums of traces times costs, computed once per record and horizon.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
        In mean service times.

    Returns
    -------
    queuebench.estimators.common.weighted_windows.WeightedSums
        Of arrivals from the L-th on; weights are the traces, values the fitted and the queue cost.

    Raises
    ------
    EstimationError
        If the horizon is longer than half the record, or an arm has no arrivals.
    """
    length = record.horizon_arrivals(horizon)
    return record.shared(
        ("traces", length),
        lambda: pooled_sums(
            record, length, lambda part, batches, _: _follow_record(part, length, batches)
        ),
    )


def _follow_record(record, length, batches):
    replicate, costs, setting = record.replicate, record.costs, record.setting
    weightings, kinds = 2 if setting.choices else 1, len(_MIXED)
    sums = empty_sums(batches, weightings, kinds)
    batch_length = max(1, (record.arrivals - length) // batches)
    state = np.zeros(weightings), np.zeros(weightings), np.zeros((weightings, kinds))
    before = 0
    choices = CHOICES if setting.choices else ()
    for treated, *columns in replicate.chunks("treated", *Costs.COLUMNS, *choices):
        own, chosen = columns[: len(Costs.COLUMNS)], columns[len(Costs.COLUMNS) :]
        cost = np.empty((len(treated), COSTS))
        costs.matrix(*own, cost)
        weight = arm_weights(treated, chosen, setting)
        follow(
            before - length, batch_length, length / (length + 1), cost[:, _MIXED], weight, *state, *sums
        )  # fmt: skip
        before += len(treated)
    return sums


@kernel
def follow(
    unit, batch_length, decay, cost, weight, trace, square, reach, count, total, weights, product,
    moments,
):  # fmt: skip
    """Add a chunk of costs; `unit` is the number of the first one after the build-up.

    `trace`, `square` and `reach` are e, s and h of the module's docstring.
    """
    kinds = cost.shape[1]
    batches = len(moments)
    for row in range(len(cost)):
        for w in range(len(trace)):
            z = weight[row, w]
            trace[w] = decay * trace[w] + z
            square[w] = decay * decay * square[w] + z * z
            for k in range(kinds):
                reach[w, k] = decay * reach[w, k] + square[w] * cost[row, k]
        if unit >= 0:
            block = block_of(unit, batch_length, batches)
            count[block] += 1.0
            for k in range(kinds):
                total[block, k] += cost[row, k]
            for w in range(len(trace)):
                weights[block, w] += trace[w]
                for k in range(kinds):
                    product[block, w, k] += trace[w] * cost[row, k]
                _add_moments(cost[row], square[w], reach[w], moments[block // BLOCKS, w])
        unit += 1


@kernel
def _add_moments(cost, square, reach, moments):
    for k in range(len(cost)):
        for other in range(k, len(cost)):
            both = cost[k] * reach[other] + reach[k] * cost[other]
            moments[k + 1, other + 1] += both - square * cost[k] * cost[other]
