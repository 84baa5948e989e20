"""The contrast: resources that never come back.

``N`` units, Poisson arrivals of rates ``N*lam_H`` and ``N*lam_L`` over a horizon of 1, the rewards
of the loss network. The gap between the optimum without foresight and that with hindsight stays
bounded as ``N`` grows, while with reusable resources it grows like ``log N``.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import pdtr, pdtrc

from queuebench.base.jit import njit
from queuebench.loss_network.model import LossNetwork


class SingleUse(NamedTuple):
    """Expected rewards over the horizon and their difference."""

    online: float
    hindsight: float
    gap: float


def single_use(network) -> SingleUse:
    """Online and hindsight optimum with single-use resources.

    Parameters
    ----------
    network : LossNetwork
        Its service rate is not used.
    """
    online = single_use_online(network)
    hindsight = single_use_hindsight(network)
    return SingleUse(online, hindsight, hindsight - online)


def single_use_online(network, steps=None):
    """Online optimum from ``V'(c) = sum_i N*lam_i*max(0, r_i + V(c-1) - V(c))``, ``V(0) = 0``.

    In continuous time to go, by the classical Runge-Kutta method. The cost is of order ``N**2``.

    Parameters
    ----------
    network : LossNetwork
    steps : int, optional
        Number of steps; by default eight per expected arrival and at least a thousand,
        which leaves an error below 1e-4 (the right side has kinks).

    Returns
    -------
    float
        Expected reward with ``N`` units and the whole horizon to go.
    """
    high = network.servers * network.high_rate
    low = network.servers * network.low_rate
    if steps is None:
        steps = max(1000, math.ceil(8 * (high + low)))
    value = np.zeros(network.servers + 1)
    _integrate(value, steps, high, low, network.high_reward, network.low_reward)
    return float(value[-1])


def single_use_hindsight(network: LossNetwork):
    """Hindsight optimum: take all ``H`` jobs that fit and fill up with ``L`` jobs.

    Returns
    -------
    float
        ``(r_H - r_L)*E[min(h, N)] + r_L*E[min(h + l, N)]`` with Poisson numbers of arrivals.
    """
    high = network.servers * network.high_rate
    both = high + network.servers * network.low_rate
    premium = network.high_reward - network.low_reward
    return float(
        premium * _mean_minimum(high, network.servers)
        + network.low_reward * _mean_minimum(both, network.servers)
    )


def _mean_minimum(mean, units):
    """Return E[min(X, units)] of a Poisson variable X."""
    return mean * pdtr(units - 1, mean) + units * pdtrc(units, mean)


@njit
def _slope(value, high, low, r_high, r_low, slope):
    slope[0] = 0.0
    for c in range(1, value.size):
        price = value[c] - value[c - 1]
        slope[c] = high * max(0.0, r_high - price) + low * max(0.0, r_low - price)


@njit
def _integrate(value, steps, high, low, r_high, r_low):
    step = 1.0 / steps
    k1, k2, k3, k4 = np.empty((4, value.size))
    for _ in range(steps):
        _slope(value, high, low, r_high, r_low, k1)
        _slope(value + 0.5 * step * k1, high, low, r_high, r_low, k2)
        _slope(value + 0.5 * step * k2, high, low, r_high, r_low, k3)
        _slope(value + step * k3, high, low, r_high, r_low, k4)
        value += step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
