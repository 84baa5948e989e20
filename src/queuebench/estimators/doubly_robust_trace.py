"""Doubly robust DQ(lambda): learned values, and temporal differences on eligibility traces.

The doubly robust estimate of `queuebench.estimators.doubly_robust` with the fading memory of
`queuebench.estimators.dq_lambda` instead of a window: the mean of ::

    V(x_j^1) - V(x_j^0) + e_j (c_{j+1} - mean c + V(x_{j+1}) - V(x_j))

with the traces ``e_j = lambda e_{j-1} + z_j`` of the coupled arms' weights and ``lambda = L / (L + 1)``.
Temporal differences that are not correlated with each other, as with the right V, give half the variance of
a window, while a wrong V costs ``sum_k (1 - lambda) lambda^(k-1) E[z_i (V - V*)(x_{i+k})]`` of bias. Sources:
as there, and Sutton and Barto, Reinforcement Learning (2018), chapter 12.

Both values of a temporal difference are those of its own fold, so those of the L starts before a fold's
boundary mix two fits.

Assumptions: those of `queuebench.estimators.doubly_robust`. A first pass fits V, a second one follows the
traces; the first L arrivals build them up and are not averaged. Standard error: delete-a-batch jackknife over
batches of temporal differences with V as it is, too small where the horizon is short.
"""

import numpy as np

from queuebench.estimators.batch_means import BLOCKS, block_of
from queuebench.estimators.coupled import estimate_mixed
from queuebench.estimators.doubly_robust import FOLDS, fitted_values, fold_of, stretches
from queuebench.estimators.dq_lambda import follow
from queuebench.estimators.registry import register
from queuebench.estimators.weighted_windows import empty_sums
from queuebench.jit import kernel


@register("doubly_robust_dq_lambda", design="bernoulli", uses_horizon=True, needs_choices=True)
def doubly_robust_dq_lambda(record, horizon):
    """`dq_lambda_coupled` on temporal differences of cross-fitted values."""
    return estimate_mixed(difference_sums(record, horizon), 0, (0, 1))


def difference_sums(record, horizon):
    """Return the sums of traces times temporal differences, and of the differences of values.

    Parameters
    ----------
    record : queuebench.estimators.record.Record
    horizon : float
        In mean service times.

    Returns
    -------
    queuebench.estimators.weighted_windows.WeightedSums
        Of transitions from the L-th on, for the fitted and the queue cost. The differences of
        values are part of the products.

    Raises
    ------
    EstimationError
        If the horizon is longer than half the record, or the record has too few arrivals for the
        folds or none of an arm.
    """
    length = record.horizon_arrivals(horizon)
    values = fitted_values(record)
    units = record.arrivals - 1 - length
    sums = empty_sums(units, length, 1, values.shape[2])
    batch_length = max(1, units // len(sums.moments))
    state = np.zeros(1), np.zeros(1), np.zeros((1, values.shape[2]))
    done = 0
    for weight, difference, apart in _transitions(record, values):
        follow(
            done - length, batch_length, length / (length + 1), difference, weight[:, None], *state,
            *sums[2:],
        )  # fmt: skip
        _add_apart(done - length, batch_length, apart, sums.product)
        done += len(weight)
    return sums


def _transitions(record, values):
    """Yield, a stretch at a time, z, temporal differences (m, 2) and what is added to the products.

    The last arrival of a stretch is kept until the next one is there.
    """
    flat = values.reshape(len(values), -1)
    before, last = 0, None
    for stretch in stretches(record):
        m = len(stretch.phi)
        shape = (m, FOLDS, values.shape[2])
        apart = (stretch.apart @ flat).reshape(shape)
        rows, fold = np.arange(m), fold_of(before + np.arange(m), record.arrivals)
        apart = apart[rows, fold] + stretch.own_apart
        apart[:, 0] += stretch.weight * stretch.surprise
        own = stretch.weight, fold, (stretch.phi @ flat).reshape(shape), stretch.cost, apart
        if last is not None:
            own = tuple(np.concatenate(pair) for pair in zip(last, own, strict=True))
        last = tuple(part[-1:] for part in own)
        weight, fold, value, cost, apart = own
        rows, fold = np.arange(len(weight) - 1), fold[:-1]
        change = value[1:][rows, fold] - value[:-1][rows, fold]
        yield weight[:-1], cost[1:] + change, apart[:-1]
        before += m


@kernel
def _add_apart(unit, batch_length, apart, product):
    batches = len(product) // BLOCKS
    for row in range(len(apart)):
        if unit >= 0:
            block = block_of(unit, batch_length, batches)
            for k in range(apart.shape[1]):
                product[block, 0, k] += apart[row, k]
        unit += 1
