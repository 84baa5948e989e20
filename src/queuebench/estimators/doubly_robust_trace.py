"""Doubly robust DQ(lambda): learned values, and temporal differences on eligibility traces.

The doubly robust estimate of `queuebench.estimators.doubly_robust` with the fading memory of
`queuebench.estimators.dq_lambda` instead of a window: the mean of ::

    V(x_j^1) - V(x_j^0) + e_j (c_{j+1} - mean c + V(x_{j+1}) - V(x_j))

with the traces ``e_j = lambda e_{j-1} + z_j`` of the coupled arms' weights and ``lambda = L / (L + 1)``.
Temporal differences that are not correlated with each other, as with the right V, give half the variance of
a window, while a wrong V costs ``sum_k (1 - lambda) lambda^(k-1) E[z_i (V - V*)(x_{i+k})]`` of bias. Sources:
as there, and Sutton and Barto, Reinforcement Learning (2018), chapter 12.

Both values of a temporal difference are those of its own fold, so the starts before a fold's boundary mix two
fits. A short horizon leans on V, as LSTD does, a long one on the costs that followed.

Assumptions: those of `queuebench.estimators.doubly_robust`. A first pass fits V, a second one follows the
traces; the first L arrivals build them up and are not averaged.

Standard error: delete-a-batch jackknife in which V is fitted again without the batch, with the mixture's
weight as it is, for the least variance is flat in it. The estimate is linear in V's coefficients, so sums by
batch are all that is needed. Batches are those over which responses are correlated, as for LSTD; the kernel
error takes V as it is.
"""

from typing import NamedTuple

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import BLOCKS, block_of
from queuebench.estimators.common.costs import ASSUMED_BY_FIT
from queuebench.estimators.common.cross_fitted_values import FOLDS, fitted_values, stretches
from queuebench.estimators.common.inference import TOO_SHORT, jackknife_estimate
from queuebench.estimators.common.over_shares import over_shares
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.weighted_windows import empty_sums, pooled_sums
from queuebench.estimators.coupled import NEVER_APART, estimate_mixed
from queuebench.estimators.dq_lambda import follow


@over_shares(levels=True)
@register(
    "doubly_robust_dq_lambda",
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=1200.0,
    assumes=[*RANDOMISED, *ASSUMED_BY_FIT],
)
def doubly_robust_dq_lambda(record, horizon):
    """`dq_lambda_coupled` on temporal differences of cross-fitted values."""
    length, fit = record.horizon_arrivals(horizon), fitted_values(record)
    linear = _Linear.empty(len(fit.parts[0]), *fit.values.shape[::2])
    sums = pooled_sums(
        record, length,
        lambda part, batches, number: _follow_record(part, length, fit, batches, number, linear),
        lost=length + 1,
    )  # fmt: skip
    estimate = estimate_mixed(sums, 0, (0, 1))
    if not fit.batches:
        note = estimate.note if estimate.note == NEVER_APART else TOO_SHORT
        return estimate._replace(standard_error=np.nan, freedom=0, note=note, parts=None)
    left_out = linear.left_out(fit, np.array([estimate.alpha, 1.0 - estimate.alpha]))
    found = jackknife_estimate(estimate.value, left_out)
    # Without a batch V is fitted to all others, with all to those of other folds: the levels differ.
    parts = found.parts - found.parts.mean() + estimate.value
    return estimate._replace(
        standard_error=found.standard_error, freedom=found.freedom, parts=parts
    )


class _Linear(NamedTuple):
    """Sums by part, from which the estimate follows for any coefficients theta of V.

    Temporal differences are ``c + phi_change' theta``, differences of values ``own + apart' theta``.
    """

    count: np.ndarray  # (parts,)
    trace: np.ndarray  # (parts,): of e
    cost: np.ndarray  # (parts, 2): of c
    change: np.ndarray  # (parts, F): of phi_change
    product: np.ndarray  # (parts, 2): of e c + own
    moved: np.ndarray  # (parts, F): of e phi_change + apart

    @classmethod
    def empty(cls, parts, features, kinds):
        """Return sums of nothing yet."""
        shapes = (), (), (kinds,), (features,), (kinds,), (features,)
        return cls(*(np.zeros((parts, *shape)) for shape in shapes))

    def add(self, parts, trace, steps):
        """Add transitions of the parts given."""
        for part in np.unique(parts):
            own = parts == part
            e, cost, change = trace[own], steps.cost[own], steps.change[own]
            self.count[part] += len(e)
            self.trace[part] += e.sum()
            self.cost[part] += cost.sum(axis=0)
            self.change[part] += change.sum(axis=0)
            self.product[part] += e @ cost + steps.own[own].sum(axis=0)
            self.moved[part] += e @ change + steps.apart[own].sum(axis=0)

    def left_out(self, fit, mixture):
        """Return the mixture's estimates without each batch, V fitted again."""
        rest = [sums.sum(axis=0) - sums for sums in self]
        found = []
        for theta, *parts in zip(fit.left_out(), *rest, strict=True):
            count, trace, cost, change, product, moved = parts
            difference = (cost + change @ theta) / count
            found.append((product + moved @ theta - trace * difference) @ mixture / count)
        return np.array(found)


class _Steps(NamedTuple):
    """Consecutive transitions from arrival j to j + 1."""

    weight: np.ndarray  # (m,): z of j
    change: np.ndarray  # (m, F): phi of j + 1 minus phi of j
    cost: np.ndarray  # (m, 2): of j + 1
    apart: np.ndarray  # (m, F): phi after the treatment's choice minus phi after the control's
    own: np.ndarray  # (m, 2): the same of the cost of j itself, corrected


def _steps(record):
    """Yield a record in `_Steps`; the last arrival of a stretch waits until the next one is there."""
    last = None
    for stretch in stretches(record):
        own = stretch.own_apart.copy()
        own[:, 0] += stretch.weight * stretch.surprise
        parts = stretch.weight, stretch.phi, stretch.cost, stretch.apart, own
        if last is not None:
            parts = tuple(np.concatenate(pair) for pair in zip(last, parts, strict=True))
        last = tuple(part[-1:] for part in parts)
        weight, phi, cost, apart, own = parts
        yield _Steps(weight[:-1], phi[1:] - phi[:-1], cost[1:], apart[:-1], own[:-1])


def _follow_record(record, length, fit, batches, number, linear):
    """Return the sums of the transitions from the L-th on, and add the same to `_Linear` sums."""
    features, _, kinds = fit.values.shape
    sums = empty_sums(batches, 1, kinds)
    batch_length = max(1, (record.arrivals - 1 - length) // batches)
    decay = length / (length + 1)
    state = np.zeros(1), np.zeros(1), np.zeros((1, kinds))
    memory, done = np.zeros(1), 0
    flat = fit.values.reshape(features, -1)
    for steps in _steps(record):
        m = len(steps.weight)
        numbers = done + np.arange(m)
        own_fold = np.arange(m), fit.fold_of(numbers, number)
        change, apart = (
            (part @ flat).reshape(m, FOLDS, kinds)[own_fold] for part in (steps.change, steps.apart)
        )
        follow(
            done - length, batch_length, decay, steps.cost + change, steps.weight[:, None], *state,
            *sums,
        )  # fmt: skip
        _add_apart(done - length, batch_length, apart + steps.own, sums[3])
        trace = np.empty(m)
        _fill_trace(decay, steps.weight, memory, trace)
        kept = slice(max(0, length - done), None)
        steps = _Steps(*(part[kept] for part in steps))
        linear.add(fit.part_of(numbers[kept], number), trace[kept], steps)
        done += m
    return sums


@kernel
def _fill_trace(decay, weight, memory, out):
    for row in range(len(weight)):
        memory[0] = decay * memory[0] + weight[row]
        out[row] = memory[0]


@kernel
def _add_apart(unit, batch_length, apart, product):
    batches = len(product) // BLOCKS
    for row in range(len(apart)):
        if unit >= 0:
            block = block_of(unit, batch_length, batches)
            for k in range(apart.shape[1]):
                product[block, 0, k] += apart[row, k]
        unit += 1
