"""Epochs of a path and the renewal-reward estimate of its regret.

An epoch starts when the number idle falls from 2 to 1 and ends when the next one starts. The number
busy is the same at both ends, so an epoch's regret is its rejections and wasted ticks alone.
Without lookahead the epochs are independent (the future of the list does not depend on the past)
and the ratio estimator has the regenerative standard error. A policy that looks ahead carries what
it has seen from one epoch into the next: there the standard error takes the correlation of
neighbouring epochs to be zero, and `lag_correlation` says how far from zero it is.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK
from queuebench.loss_network.model import LossNetwork


class Epochs(NamedTuple):
    """The whole epochs within a part of a path, one entry each.

    Attributes
    ----------
    length : ndarray of float64
        In units of time.
    rejected_high, wasted_ticks : ndarray of int64
    recovered : ndarray of bool
        Whether ``floor(sqrt(N))`` idle was reached; if so always, the starts of epochs and that
        level alternate.
    """

    length: np.ndarray
    rejected_high: np.ndarray
    wasted_ticks: np.ndarray
    recovered: np.ndarray


class EpochSums(NamedTuple):
    """Sums over epochs, enough to pool replicates; ``y`` is regret, ``x`` length.

    The last three sum products over neighbouring epochs.
    """

    epochs: int
    length: float
    rejected_high: int
    wasted_ticks: int
    recovered: int
    sum_yy: float
    sum_xy: float
    sum_xx: float
    lag_yy: float
    lag_xy: float
    lag_xx: float


class Renewal(NamedTuple):
    """Renewal-reward estimate of a regret rate."""

    regret: float
    regret_se: float
    lag_correlation: float


def find_epochs(network, events, path, start, stop):
    """Cut a part of a path into epochs.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    path : Path
    start, stop : int
        The events ``start <= e < stop`` are cut.

    Returns
    -------
    Epochs
        Empty if the number idle falls from 2 to 1 fewer than twice (always with one server).
    """
    busy = path.busy[start : stop + 1]
    starts = np.flatnonzero((busy[:-1] == network.servers - 2) & (busy[1:] == network.servers - 1))
    count = max(len(starts) - 1, 0)
    epochs = Epochs(
        np.diff(events.time[start + starts]),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.bool_),
    )
    low = network.servers - network.promised_idle
    _fill_epochs(events.kind, path.busy, path.taken, start + starts, low, *epochs[1:])
    return epochs


def sum_epochs(network: LossNetwork, epochs: Epochs) -> EpochSums:
    """Reduce epochs to the sums that the estimator needs."""
    premium = network.high_reward - network.low_reward
    y = premium * epochs.rejected_high + network.low_reward * epochs.wasted_ticks
    x = epochs.length
    return EpochSums(
        epochs=len(x),
        length=float(x.sum()),
        rejected_high=int(epochs.rejected_high.sum()),
        wasted_ticks=int(epochs.wasted_ticks.sum()),
        recovered=int(epochs.recovered.sum()),
        sum_yy=_sum_products(y, y),
        sum_xy=_sum_products(x, y),
        sum_xx=_sum_products(x, x),
        lag_yy=_sum_products(y[1:], y[:-1]),
        lag_xy=(_sum_products(x[1:], y[:-1]) + _sum_products(x[:-1], y[1:])) / 2,
        lag_xx=_sum_products(x[1:], x[:-1]),
    )


def renewal_regret(network, sums):
    """Estimate the regret rate by renewal-reward, with its regenerative standard error.

    Parameters
    ----------
    network : LossNetwork
    sums : EpochSums
        Of one path, or added up over replicates.

    Returns
    -------
    Renewal
        All NaN if there are fewer than two epochs.
    """
    if sums.epochs < 2:
        return Renewal(math.nan, math.nan, math.nan)
    premium = network.high_reward - network.low_reward
    total = premium * sums.rejected_high + network.low_reward * sums.wasted_ticks
    rate = total / sums.length
    lag, spread = epoch_products(sums, rate)
    error = math.sqrt(max(spread, 0.0) * sums.epochs / (sums.epochs - 1)) / sums.length
    return Renewal(rate, error, lag / spread if spread > 0 else math.nan)


def epoch_products(sums, rate):
    """Sum the products of what epochs lose beyond a regret rate: over neighbours, and the squares.

    Parameters
    ----------
    sums : EpochSums
    rate : float
        Of regret, per unit of time.

    Returns
    -------
    lag, spread : float
        Their ratio is the correlation of neighbouring epochs.
    """
    spread = sums.sum_yy - 2 * rate * sums.sum_xy + rate**2 * sums.sum_xx
    lag = sums.lag_yy - 2 * rate * sums.lag_xy + rate**2 * sums.lag_xx
    return lag, spread


def _sum_products(left, right):
    # Not a matrix product: its rounding depends on the number of threads.
    return float(np.sum(left * right))


@njit
def _fill_epochs(kind, busy, taken, starts, low, rejected, wasted, recovered):
    # An epoch owns the events after the one that starts it, up to the one that starts the next.
    for i in range(starts.size - 1):
        for e in range(starts[i] + 1, starts[i + 1] + 1):
            rejected[i] += (kind[e] == HIGH) & (not taken[e])
            wasted[i] += (kind[e] == TICK) & (not taken[e])
            recovered[i] |= busy[e] <= low
