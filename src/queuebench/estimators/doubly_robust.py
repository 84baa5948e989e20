"""Doubly robust Differences in Q: learned values, and a windowed residual that corrects them.

Let ``V(x_i)`` be an estimate of the relative value ``E[sum_{j > i} (c_j - mean c)]`` of the state after
arrival i has joined. The estimate is the mean over starts of ::

    V(x_i^1) - V(x_i^0) + z_i (sum_{j=i+1}^{i+L} (c_j - mean c) + V(x_{i+L}) - V(x_i))

with ``x_i^a`` the state after arm a's choice and ``z_i = (A_i / p - (1 - A_i) / (1 - p)) 1[the choices
differ]``. The bracket is the sum of the L temporal differences ``c_{j+1} - mean c + V(x_{j+1}) - V(x_j)``. As
``z_i V(x_i)`` has the mean of ``V(x_i^1) - V(x_i^0)`` for any function V, a wrong V costs no bias but ``E[z_i
(V - V*)(x_{i+L})]``, V* being the right one: what is wrong with it and still remembered after L arrivals.
With V = 0 this is the coupled Differences in Q with its truncation bias. With the right V the temporal
differences are martingale differences: no bias at any horizon, and a variance that grows with L. Sources:
Jiang and Li, Doubly robust off-policy value evaluation for reinforcement learning (2016); Kallus and Uehara,
Double reinforcement learning (2020), for cross-fitting; that the two choices of one arrival are compared is
this project's.

V is that of `queuebench.estimators.common.cross_fitted_values`: the V of a start was fitted on the other
folds of the record (a window may reach L arrivals into the next one). There is one V for the fitted response
cost and one for the queue cost, and the two estimates are mixed as in `queuebench.estimators.coupled`. The
fitted cost of the arrival itself also differs between its choices, by what the fit says for the lengths
there; where the job met another length, after a travel time, that is corrected through ``z_i`` too.

Assumptions: those of `queuebench.estimators.coupled`, and departures. Queue lengths need not be the state.

A first pass fits V, a second one sums the residuals. Standard error: delete-a-batch jackknife with V as it
is, since errors in V enter the estimate only through the end of the window: too small where the horizon is
short against the memory of the system.
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import BLOCKS, block_of
from queuebench.estimators.common.costs import ASSUMED_BY_FIT
from queuebench.estimators.common.cross_fitted_values import FOLDS, fitted_values, stretches
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.weighted_windows import empty_sums, pooled_sums
from queuebench.estimators.common.windows import FRESH_SUM_EVERY, add_up
from queuebench.estimators.coupled import estimate_mixed


@over_shares()
@register(
    "doubly_robust_dq",
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=900.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def doubly_robust_dq(record, horizon):
    """`mixed_dq_coupled` with cross-fitted values at both ends of the window."""
    return estimate_mixed(residual_sums(record, horizon), 0, (0, 1))


def residual_sums(record, horizon):
    """Return the sums of the residuals of all starts, and of the differences of values.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
        In mean service times; at least one arrival is taken.

    Returns
    -------
    queuebench.estimators.common.weighted_windows.WeightedSums
        Of starts, for the fitted and the queue cost. The differences of values are part of the
        products.

    Raises
    ------
    EstimationError
        If the horizon is longer than half the record, or the record has too few arrivals for the
        folds or none of an arm.
    """
    length, fit = max(1, record.horizon_arrivals(horizon)), fitted_values(record)
    return pooled_sums(
        record, length,
        lambda part, batches, number: _slide_record(part, length, fit, batches, number),
    )  # fmt: skip


def _slide_record(record, length, fit, batches, number):
    starts, kinds = record.arrivals - length, fit.values.shape[2]
    sums = empty_sums(batches, 1, kinds)
    batch_length = max(1, starts // batches)
    # Of the last L arrivals: cost, value subtracted (V of the start), what is added to the product,
    # z and fold; and the running sums of costs.
    window = (
        np.zeros((length, kinds)), np.zeros((length, kinds)), np.zeros((length, kinds)),
        np.zeros(length), np.zeros(length, np.int64), np.zeros(kinds),
    )  # fmt: skip
    before = 0
    flat = fit.values.reshape(len(fit.values), -1)
    for stretch in stretches(record):
        m = len(stretch.phi)
        rows, fold = np.arange(m), fit.fold_of(before + np.arange(m), number)
        value = (stretch.phi @ flat).reshape(m, FOLDS, kinds)
        direct = (stretch.apart @ flat).reshape(m, FOLDS, kinds)[rows, fold] + stretch.own_apart
        start_value = value[rows, fold]
        start_value[:, 0] -= stretch.surprise
        _slide(
            before, batch_length, stretch.cost, value, start_value, direct, stretch.weight, fold,
            *window, *sums,
        )  # fmt: skip
        before += m
    return sums


@kernel
def _slide(
    before, batch_length, cost, value, start_value, direct, weight, fold, ring, ring_value,
    ring_direct, ring_weight, ring_fold, running, count, total, weights, product, moments,
):  # fmt: skip
    """Push a stretch of arrivals through the window; `before` is the number pushed so far."""
    width, kinds = ring.shape
    batches = len(moments)
    slot = before % width
    wraps = before // width
    for row in range(len(cost)):
        start = before + row - width
        for k in range(kinds):
            running[k] += cost[row, k] - ring[slot, k]
        if start >= 0:
            block = block_of(start, batch_length, batches)
            batch = block // BLOCKS
            z, square = ring_weight[slot], ring_weight[slot] ** 2
            count[block] += 1.0
            weights[block, 0] += z
            moments[batch, 0, 0, 0] += square
            for k in range(kinds):
                at_end = value[row, ring_fold[slot], k]
                residual = running[k] + at_end - ring_value[slot, k]
                # No longer needed as the value of the start; for the products of residuals below.
                ring_value[slot, k] = residual
                total[block, k] += residual
                product[block, 0, k] += z * residual + ring_direct[slot, k]
                moments[batch, 0, 0, k + 1] += square * residual
                for other in range(k + 1):
                    both = residual * ring_value[slot, other]
                    moments[batch, 0, other + 1, k + 1] += square * both
        for k in range(kinds):
            ring[slot, k] = cost[row, k]
            ring_value[slot, k] = start_value[row, k]
            ring_direct[slot, k] = direct[row, k]
        ring_weight[slot] = weight[row]
        ring_fold[slot] = fold[row]
        slot += 1
        if slot == width:
            slot = 0
            wraps += 1
            if wraps % FRESH_SUM_EVERY == 0:
                add_up(ring, running)
