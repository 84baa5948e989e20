"""Relative values by LSTD(0), cross-fitted: those of a fold were fitted on the rest of the record.

The values ``V(x_i) = E[sum_{j > i} (c_j - mean c)]`` of the state after arrival i has joined are linear in
the features of `queuebench.estimators.lstd`, one V for the fitted response cost and one for the queue cost.
The record is cut into `FOLDS` of whole batches. Source of cross-fitting: Chernozhukov et al., Double/debiased
machine learning for treatment and structural parameters (2018).

Assumptions: departures of all jobs and both choices. Whether queue lengths are the state, and V near the
span of the features, matters to whoever uses the values.
"""

from typing import NamedTuple

import numpy as np

from queuebench.estimators.common.costs import Cost, Costs
from queuebench.estimators.common.inference import totals_left_out
from queuebench.estimators.common.registry import EstimationError
from queuebench.estimators.common.weighted_windows import CHOICES, COSTS, Weighting, arm_weights
from queuebench.estimators.lstd import Features, Sums, coefficients, slices

FOLDS = 5
"""Parts of the record; the values of each are fitted on the others."""

_MIXED = [Cost.FITTED, Cost.QUEUE]


class Stretch(NamedTuple):
    """Some consecutive arrivals; costs in the order fitted, queue."""

    phi: np.ndarray  # (m, F): features after the job has joined
    apart: np.ndarray  # (m, F): their difference, treatment's choice minus control's
    cost: np.ndarray  # (m, 2): centred
    own_apart: np.ndarray  # (m, 2): the cost of the arrival itself, treatment's minus control's
    surprise: np.ndarray  # (m,): by how much the arrival's fitted cost differs from its choice's
    weight: np.ndarray  # (m,): z


def stretches(record):
    """Yield a record in `Stretch`es.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    """
    costs, setting = record.costs, record.setting
    columns = slices(record.replicate, "treated", *Costs.COLUMNS, *CHOICES)
    for (after, _, _), (treated, *own) in zip(Features(record).chunks(), columns, strict=True):
        phi, apart = np.where(treated[:, None], after[1], after[0]), after[1] - after[0]
        own, choices = own[: len(Costs.COLUMNS)], own[len(Costs.COLUMNS) :]
        cost = np.empty((len(treated), COSTS))
        costs.matrix(*own, cost)
        fitted = [costs.fitted(choices[arm], choices[2 + arm]) for arm in (0, 1)]
        joined = costs.fitted(own[1], own[2])
        own_apart = np.zeros((len(treated), 2))
        own_apart[:, 0] = fitted[1] - fitted[0]
        yield Stretch(
            phi, apart, cost[:, _MIXED], own_apart, joined - np.where(treated, fitted[1], fitted[0]),
            arm_weights(treated, choices, setting)[:, Weighting.CHOICE],
        )  # fmt: skip


class Fit(NamedTuple):
    """Values fitted on a record.

    Attributes
    ----------
    batches : int
        Batches of arrivals, 0 if the record is too short for them.
    layout : list of tuple of int
        Arrivals and parts of every stretch of the record.
    parts : tuple of ndarray
        What LSTD needs of each batch (of each fold, without batches): see `_sums`.
    values : ndarray of float64, shape (F, FOLDS, 2)
        Coefficients of the features, by fold and cost (fitted, queue).
    """

    batches: int
    layout: list
    parts: tuple
    values: np.ndarray

    def part_of(self, units, stretch=0):
        """Return the part, batch or fold, that some arrivals of a stretch belong to, by their numbers."""
        before = sum(parts for _, parts in self.layout[:stretch])
        return before + _part_of(units, *self.layout[stretch])

    def fold_of(self, units, stretch=0):
        """Return the fold of some arrivals of a stretch by their numbers."""
        return _fold_of_part(self.part_of(units, stretch), len(self.parts[0]))

    def left_out(self):
        """Yield, for every part, the coefficients (F, 2) fitted on all others, in one fold."""
        for rest in totals_left_out(self.parts):
            yield _solve(rest)


def _part_of(units, arrivals, parts):
    return np.minimum(units // (arrivals // parts), parts - 1)


def _fold_of_part(part, parts):
    return part * FOLDS // parts


def fitted_values(record) -> Fit:
    """Return the values of every fold as fitted on the other folds, once per record.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record

    Raises
    ------
    EstimationError
        If there are too few arrivals for the folds, or none of an arm.
    """
    if record.arrivals < 2 * FOLDS:
        raise EstimationError(
            f"cross-fitting needs at least {2 * FOLDS} arrivals, not {record.arrivals}"
        )
    record.require_both_arms()
    return record.shared("cross-fitted values", lambda: _fit(record))


def _fit(record):
    layout, parts, enough = _parts(record)
    if len(parts[0]) < FOLDS:
        layout, parts, _ = _parts(record, FOLDS)
    fold = _fold_of_part(np.arange(len(parts[0])), len(parts[0]))
    values = [_solve([part[fold != k].sum(axis=0) for part in parts]) for k in range(FOLDS)]
    return Fit(len(parts[0]) if enough else 0, layout, parts, np.stack(values, axis=1))


def _parts(record, fixed=None):
    """Return the layout, the sums of every part (or of a fixed number of them), and if they are enough."""
    layout = []

    def make(stretch, batches, _):
        layout.append((stretch.arrivals, fixed or batches))
        return _sums(stretch, fixed or batches)

    length = record.setting.horizon_arrivals(record.setting.batch_horizon)
    parts, enough = record.add_up(make, 0, length)
    return layout, parts, enough


def _solve(sums):
    """Return the coefficients (F, 2) for both costs."""
    change, cost, totals, costs = sums
    return np.column_stack(
        [
            coefficients(Sums(change, cost[:, k], totals, np.append(totals, costs[k]), None))
            for k in range(len(_MIXED))
        ]
    )


def _sums(record, number):
    """Return what LSTD(0) needs of every part.

    Returns
    -------
    tuple of ndarray
        Of shapes (parts, F + 1, F), (parts, F + 1, 2), (parts, F + 1) and (parts, 2): sums of
        ``x (phi_i - phi_{i+1})'``, ``x c_{i+1}``, ``x`` and ``c_{i+1}``, x being 1 and phi_i.
    """
    size = Features(record).number
    parts = (
        np.zeros((number, size + 1, size)), np.zeros((number, size + 1, 2)),
        np.zeros((number, size + 1)), np.zeros((number, 2)),
    )  # fmt: skip
    before, last = 0, None
    for stretch in stretches(record):
        phi, cost = stretch.phi, stretch.cost
        # A transition from arrival i is complete when i + 1 is there.
        if last is not None:
            phi, cost = np.concatenate([last[0], phi]), np.concatenate([last[1], cost])
        last = phi[-1:], cost[-1:]
        instruments = np.column_stack([np.ones(len(phi) - 1), phi[:-1]])
        change, cost = phi[:-1] - phi[1:], cost[1:]
        part = _part_of(before + np.arange(len(change)), record.arrivals, number)
        for one in np.unique(part):
            own = part == one
            x, own_cost = instruments[own], cost[own]
            more = x.T @ change[own], x.T @ own_cost, x.sum(axis=0), own_cost.sum(axis=0)
            for sums, added in zip(parts, more, strict=True):
                sums[one] += added
        before += len(change)
    return parts
