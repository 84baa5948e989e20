"""Sums of truncated Q values weighted by the arms, for many costs and several weightings in one pass.

With a weight ``z_i`` of mean zero given everything before arrival i, ``mean(z_i (Q_i - mean Q))``
estimates the effect. Three weightings:

* `Weighting.ALL`: ``z_i = A_i / p - (1 - A_i) / (1 - p)``, the plain Differences in Q;
* `Weighting.CHOICE`: the same where the arms choose different servers, else 0;
* `Weighting.MET`: the same where the chosen servers differ in speed class or queue length, else 0.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.batch_means import BLOCKS, block_of, merge_blocks
from queuebench.estimators.common.costs import Cost, Costs
from queuebench.estimators.common.inference import totals_left_out
from queuebench.estimators.common.occupancy import Occupancy
from queuebench.estimators.common.windows import FRESH_SUM_EVERY, add_up

CONTROLS = 8
"""Number of rate-conservation controls ``U_0 .. U_7``."""

COSTS = Cost.QUEUE + 1
"""The first columns are the costs, by `Cost`; the controls follow."""


class Weighting(IntEnum):
    """Which arrivals count."""

    ALL = 0
    CHOICE = 1
    MET = 2


class Part(NamedTuple):
    """Sums over some starts under one weighting."""

    count: float
    weight: float  # of z
    total: np.ndarray  # float64 (kinds,): of Q
    product: np.ndarray  # float64 (kinds,): of z Q
    moment: np.ndarray  # float64 (1 + kinds, 1 + kinds): of z^2 times products of 1 and the Qs

    def effects(self):
        """Return ``mean(z (Q - mean Q))`` of every cost and control."""
        return self.product / self.count - self.weight / self.count * self.total / self.count

    def covariance(self):
        """Return ``mean(z^2 (Q - mean Q) (Q - mean Q)')``."""
        mean = self.total / self.count
        upper = np.triu(self.moment) + np.triu(self.moment, 1).T
        cross = np.outer(mean, upper[0, 1:])
        centred = upper[1:, 1:] - cross - cross.T + np.outer(mean, mean) * upper[0, 0]
        return centred / self.count


class WeightedSums(NamedTuple):
    """Sums over blocks of starts at one horizon.

    Other estimators that are a covariance ``mean(e c) - mean(e) mean(c)`` use them with their own
    units instead of starts, weights e instead of z and values c instead of Q, see `pooled_sums`.

    Attributes
    ----------
    length : int
        The horizon L in arrivals.
    enough_batches : bool
    count : ndarray, shape (blocks,)
    total : ndarray, shape (blocks, kinds)
        Of Q.
    weight : ndarray, shape (blocks, weightings)
        Of z.
    product : ndarray, shape (blocks, weightings, kinds)
        Of z Q.
    moments : ndarray, shape (batches, weightings, 1 + kinds, 1 + kinds)
        Upper triangles of the sums of z^2 times products of 1 and the Qs.
    """

    length: int
    enough_batches: bool
    count: np.ndarray
    total: np.ndarray
    weight: np.ndarray
    product: np.ndarray
    moments: np.ndarray

    def whole(self, weighting):
        """Return the `Part` of all starts."""
        return Part(
            self.count.sum(),
            self.weight[:, weighting].sum(),
            self.total.sum(axis=0),
            self.product[:, weighting].sum(axis=0),
            self.moments[:, weighting].sum(axis=0),
        )

    def left_out(self, weighting):
        """Yield, for every batch, the `Part` of all others."""
        batches = (
            merge_blocks(self.count),
            merge_blocks(self.weight[:, weighting]),
            merge_blocks(self.total),
            merge_blocks(self.product[:, weighting]),
            self.moments[:, weighting],
        )
        for rest in totals_left_out(batches):
            yield Part(*rest)

    def influence(self, weighting, mixture):
        """Return every block's influence on the effect of a weighted sum of costs and controls.

        ``psi_i = (z_i - mean z) (Q_i - mean Q) - effect``.
        """
        whole = self.whole(weighting)
        mean, mean_weight = whole.total @ mixture / whole.count, whole.weight / whole.count
        total, product = self.total @ mixture, self.product[:, weighting] @ mixture
        centred = product - mean * self.weight[:, weighting]
        return (
            centred
            - mean_weight * (total - mean * self.count)
            - whole.effects() @ mixture * self.count
        )


def empty_sums(batches, weightings, kinds) -> tuple:
    """Return sums of nothing yet, the arrays of `WeightedSums` in their order."""
    return (
        np.zeros(batches * BLOCKS),
        np.zeros((batches * BLOCKS, kinds)),
        np.zeros((batches * BLOCKS, weightings)),
        np.zeros((batches * BLOCKS, weightings, kinds)),
        np.zeros((batches, weightings, kinds + 1, kinds + 1)),
    )


def pooled_sums(record, length, make, lost=None) -> WeightedSums:
    """Return the sums of a record, with batches for units that are correlated over a horizon.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    length : int
        Over how many units they are correlated.
    make : Callable
        See `queuebench.estimators.common.record.Record.add_up`; gives `empty_sums`, filled in.
    lost : int, optional
        Arrivals that are no units; by default as many as the horizon has.

    Raises
    ------
    EstimationError
        If an arm has no arrivals.
    """
    record.require_both_arms()
    sums, enough = record.add_up(make, length if lost is None else lost, length)
    return WeightedSums(length, enough, *sums)


def weighted_sums(record, horizon, *, controls=False) -> WeightedSums:
    """Return the sums of a record at a horizon, computed once per record and horizon.

    The controls cost twice as much as all the rest, so they are there for those who ask.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
        In mean service times.
    controls : bool
        Whether the controls follow the costs among the kinds.

    Raises
    ------
    EstimationError
        If the horizon is longer than half the record, or an arm has no arrivals.
    """
    length = record.horizon_arrivals(horizon)
    return record.shared(
        ("weighted", length, controls),
        lambda: pooled_sums(
            record,
            length,
            lambda part, batches, _: _slide_record(
                part, length, CONTROLS if controls else 0, batches
            ),
        ),
    )


def _slide_record(record, length, number, batches):
    replicate, costs, setting = record.replicate, record.costs, record.setting
    kinds, weightings = COSTS + number, len(Weighting) if setting.choices else 1
    sums = empty_sums(batches, weightings, kinds)
    batch_length = max(1, (record.arrivals - length) // batches)
    window = (np.zeros((length + 1, kinds)), np.zeros((length + 1, weightings)), np.zeros(kinds))
    controls = Controls(replicate, costs) if number else None
    before = 0
    choices = CHOICES if setting.choices else ()
    for treated, *columns in replicate.chunks("treated", *Costs.COLUMNS, *choices):
        own, chosen = columns[: len(Costs.COLUMNS)], columns[len(Costs.COLUMNS) :]
        cost, control = np.empty((len(treated), COSTS)), np.empty((len(treated), number))
        costs.matrix(*own, cost)
        if controls:
            controls.fill(*own, control)
        weight = arm_weights(treated, chosen, setting)
        _slide(before, batch_length, cost, control, weight, *window, *sums)
        before += len(treated)
    return sums


CHOICES = ("server_if_control", "server_if_treated", "queue_if_control", "queue_if_treated")


def arm_weights(treated, choices, setting):
    """Return the weight z of consecutive arrivals under each weighting.

    Parameters
    ----------
    treated : ndarray of bool, shape (m,)
    choices : sequence of ndarray
        The columns `CHOICES`, or empty.
    setting : queuebench.estimators.common.setting.Setting

    Returns
    -------
    ndarray of float64, shape (m, weightings)
    """
    share = setting.treated_share
    plain = np.where(treated, 1.0 / share, -1.0 / (1.0 - share))
    if not len(choices):
        return plain[:, None]
    servers, met = choices[:2], choices[2:]
    classes = [setting.classes[server] for server in servers]
    apart = servers[0] != servers[1]
    unlike = (classes[0] != classes[1]) | (met[0] != met[1])
    return np.column_stack([plain, plain * apart, plain * (apart & unlike)])


class Controls:
    """The rate-conservation controls of a record, chunk by chunk.

    ``U_k = 1[joined a queue of k] - sum(mu_s of servers with exactly k + 1 jobs) / lambda(t)``. Queues
    pass from k to k + 1 jobs as often as back, so with exponential service its long-run mean is
    zero under every policy.
    """

    def __init__(self, replicate, costs):
        self._costs = costs
        servers = len(costs.mean_service)
        self._occupancy = Occupancy(
            replicate.carry,
            costs.setting.travel_time,
            np.zeros(servers, int),
            1.0 / costs.mean_service,
            CONTROLS + 1,
        )

    def fill(self, arrival, server, met, in_system, response, out):
        """Fill in ``U_0 .. U_7`` of the next arrivals; the arguments are `Costs.COLUMNS`."""
        setting = self._costs.setting
        working = np.empty((len(arrival), 1, CONTROLS + 1))
        self._occupancy.fill(arrival, server, response, working)
        rate = self._costs.rate * (setting.relative_rate(arrival) if setting.varying_rate else 1.0)
        out[:] = -working[:, 0, 1:] / np.broadcast_to(rate, len(arrival))[:, None]
        short = np.flatnonzero(met < CONTROLS)
        out[short, met[short]] += 1.0


@kernel
def _slide(
    before, batch_length, cost, control, weight, ring, ring_weight, running, count, total, weights,
    product, moments,
):  # fmt: skip
    """Push a chunk of arrivals through the window; `before` is the number pushed so far."""
    width, kinds = ring.shape
    costs = cost.shape[1]
    batches = len(moments)
    slot = before % width
    wraps = before // width
    for row in range(len(cost)):
        for k in range(kinds):
            value = cost[row, k] if k < costs else control[row, k - costs]
            running[k] += value - ring[slot, k]
            ring[slot, k] = value
        for w in range(weight.shape[1]):
            ring_weight[slot, w] = weight[row, w]
        slot += 1
        if slot == width:
            slot = 0
            wraps += 1
            if wraps % FRESH_SUM_EVERY == 0:
                add_up(ring, running)
        start = before + row - width + 1
        if start < 0:
            continue
        block = block_of(start, batch_length, batches)
        count[block] += 1.0
        for k in range(kinds):
            total[block, k] += running[k]
        for w in range(weight.shape[1]):
            z = ring_weight[slot, w]
            if z == 0.0:
                continue
            weights[block, w] += z
            for k in range(kinds):
                product[block, w, k] += z * running[k]
            _add_moments(z * z, running, moments[block // BLOCKS, w])


@kernel
def _add_moments(square, running, moments):
    moments[0, 0] += square
    for k in range(len(running)):
        weighted = square * running[k]
        moments[0, k + 1] += weighted
        for other in range(k, len(running)):
            moments[k + 1, other + 1] += weighted * running[other]
