"""Trunk reservation exactly: stationary regret, the best threshold, relative values.

Both classes have the same service rate, so the optimal policy without lookahead accepts an ``L``
job iff more than ``k`` servers are idle. The number idle is then a birth-death process; its law is
built here from ratios that never leave the range of doubles, for every ``k`` at once in time
``O(N)``.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.fluid import fluid_reward
from queuebench.loss_network.model import LossNetwork


class TrunkReservation(NamedTuple):
    """Stationary behaviour of trunk reservation; everything but `threshold` is per unit time."""

    threshold: int
    regret: float
    rejected_high: float
    wasted_ticks: float
    accepted_low: float


def trunk_reservation(network, threshold) -> TrunkReservation:
    """Exact stationary regret of trunk reservation with a given threshold.

    Parameters
    ----------
    network : LossNetwork
    threshold : int
        An ``L`` job is accepted iff more than this many servers are idle.

    Raises
    ------
    ValueError
        If ``0 <= threshold <= servers`` does not hold.
    """
    if not 0 <= threshold <= network.servers:
        raise ValueError(
            f"0 <= threshold <= servers must hold, got {threshold} for {network.servers} servers"
        )
    full, idle = _stationary(network)
    return _describe(network, threshold, full[threshold], idle[threshold])


def online_optimum(network: LossNetwork):
    """Exact optimum without lookahead: trunk reservation with the best threshold.

    Returns
    -------
    TrunkReservation
        With the smallest of the best thresholds.
    """
    full, idle = _stationary(network)
    best = int(np.argmin(_regret(network, full, idle)))
    return _describe(network, best, full[best], idle[best])


def logarithmic_threshold(network, delta) -> int:
    """Threshold ``delta*log(N)`` of Xie, Gurvich and Kucukyavuz, to the nearest integer.

    Halves are rounded up and the threshold never exceeds the number of servers.

    Parameters
    ----------
    network : LossNetwork
    delta : float
        Positive factor.

    Raises
    ------
    ValueError
        If ``delta <= 0``.
    """
    if not delta > 0:
        raise ValueError(f"delta > 0 must hold, got {delta}")
    return min(network.servers, math.floor(delta * math.log(network.servers) + 0.5))


def online_marginals(network: LossNetwork):
    """Value of the j-th idle server under the online optimum.

    The relative value function ``h`` of the online optimum solves the Poisson equation of a
    birth-death process, which is a recursion in the differences ``h(b) - h(b + 1)``. It is run
    from the empty end up to the threshold and from the full end down to it, the directions in
    which errors shrink.

    Returns
    -------
    ndarray of float64, shape (N,)
        Entry ``j - 1`` is the reward gained, in the long run, by having ``j`` servers idle rather
        than ``j - 1``.
    """
    best = online_optimum(network)
    gain = fluid_reward(network) - best.regret
    marginals = np.empty(network.servers)
    high = network.servers * network.high_rate
    low = network.servers * network.low_rate
    _solve_poisson(
        network.servers,
        best.threshold,
        gain,
        high,
        low,
        network.service_rate,
        network.high_reward,
        network.low_reward,
        marginals,
    )
    return marginals


def _stationary(network):
    """Return P(all busy) and E[number idle] for every threshold ``0..N``."""
    full = np.empty(network.servers + 1)
    idle = np.empty(network.servers + 1)
    _threshold_laws(
        network.servers, network.high_rate, network.low_rate, network.service_rate, full, idle
    )
    return full, idle


def _regret(network, full, idle):
    premium = network.high_reward - network.low_reward
    rejected = network.servers * network.high_rate * full
    return premium * rejected + network.low_reward * network.service_rate * idle


def _describe(network, threshold, full, idle):
    high = network.servers * network.high_rate
    return TrunkReservation(
        threshold=int(threshold),
        regret=float(_regret(network, full, idle)),
        rejected_high=float(high * full),
        wasted_ticks=float(network.service_rate * idle),
        accepted_low=float(network.service_rate * (network.servers - idle) - high * (1 - full)),
    )


@njit
def _threshold_laws(servers, high_rate, low_rate, service_rate, full, idle):
    # Beyond the threshold k: tail weight and first moment relative to the weight of k, built from
    # the empty end (`idle` and `full` hold them until the second loop overwrites both).
    weight = 0.0
    moment = 0.0
    arrivals = servers * (high_rate + low_rate)
    for k in range(servers, -1, -1):
        full[k] = weight
        idle[k] = moment
        ratio = service_rate * (servers - k + 1) / arrivals
        moment = ratio * (k + moment)
        weight = ratio * (1.0 + weight)
    # Up to the threshold: conditional law on 0..k, updated as k grows.
    last = 1.0  # P(idle = k)
    mean = 0.0  # E[idle]
    none = 1.0  # P(idle = 0)
    for k in range(servers + 1):
        if k > 0:
            odds = last * service_rate * (servers - k + 1) / (servers * high_rate)
            last = odds / (1.0 + odds)
            rest = 1.0 / (1.0 + odds)
            mean = last * k + rest * mean
            none = rest * none
        total = 1.0 + last * full[k]
        idle[k] = (mean + last * idle[k]) / total
        full[k] = none / total


@njit
def _solve_poisson(servers, threshold, gain, high, low, service_rate, r_high, r_low, marginals):
    # marginals[j - 1] = h(b) - h(b + 1) with b = servers - j.
    difference = 0.0
    for b in range(servers - threshold):
        reward = high * r_high + low * r_low
        difference = (reward - gain + service_rate * b * difference) / (high + low)
        marginals[servers - b - 1] = difference
    difference = 0.0
    for b in range(servers, servers - threshold, -1):
        reward = high * r_high if b < servers else 0.0
        rate = high if b < servers else 0.0
        difference = (gain - reward + rate * difference) / (service_rate * b)
        marginals[servers - b] = difference
