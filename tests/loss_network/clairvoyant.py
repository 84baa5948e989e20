"""Ablation: a clairvoyant who knows every job's own duration.

Such a one picks the short ``L`` jobs, and its reward exceeds the fluid value by an amount of order
``N``. So it is no benchmark for the fluid bound; it shows why all policies share service ticks.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, linprog
from scipy.sparse import coo_array, csc_array, hstack

from queuebench.base.randomness import stream
from queuebench.loss_network.fluid import fluid_reward


class Clairvoyant(NamedTuple):
    """Reward rates per unit time."""

    reward: float
    fluid: float


def clairvoyant(network, horizon, seed, replicate):
    """Best reward rate when all arrivals and durations are known in advance.

    A linear program over the intervals: every job is accepted or not (a matrix of consecutive ones,
    so the optimum is whole), at most ``N`` are in service after any arrival. All servers are busy
    at the start, with jobs that need exponential times more; one mean service time is dropped at
    each end.

    Parameters
    ----------
    network : LossNetwork
    horizon : float
        Length of the record in units of time, at least ten mean service times.
    seed, replicate : int
        The study's seed and the replicate's number.

    Returns
    -------
    Clairvoyant

    Raises
    ------
    ValueError
        If the horizon is too short.
    """
    drop = 1 / network.service_rate
    if horizon < 10 * drop:
        raise ValueError(f"horizon >= {10 * drop:g} (ten mean service times), got {horizon}")
    arrival, departure, reward = _draw_jobs(network, horizon, seed, replicate)
    accepted = accept_intervals(network.servers, arrival, departure, reward)
    measured = (arrival > drop) & (arrival <= horizon - drop)
    earned = np.sum(reward[measured] * accepted[measured])
    return Clairvoyant(float(earned / (horizon - 2 * drop)), fluid_reward(network))


def clairvoyant_limit(network):
    """Reward rate per server of a clairvoyant in the limit of many servers.

    It accepts jobs of up to a duration in proportion to their reward, ``r*x``, with ``x`` such that
    the accepted work fills the servers.

    Parameters
    ----------
    network : LossNetwork

    Returns
    -------
    reward : float
        Per server and unit time.
    price : float
        Duration per unit of reward, ``x``.
    """
    mu = network.service_rate
    classes = [
        (network.high_rate, network.high_reward),
        (network.low_rate, network.low_reward),
    ]

    def load(price):
        # The mean of an exponential duration over those up to r*x.
        return sum(
            rate * (-math.expm1(-mu * r * price) / mu - r * price * math.exp(-mu * r * price))
            for rate, r in classes
        )

    # Overload makes the load exceed 1 at last.
    upper = 1 / (mu * network.low_reward)
    while load(upper) < 1:
        upper *= 2
    price = brentq(lambda x: load(x) - 1, 0, upper, xtol=1e-13)
    return sum(rate * r * -math.expm1(-mu * r * price) for rate, r in classes), price


def accept_intervals(servers, arrival, departure, reward):
    """Choose intervals of greatest reward, no more than `servers` at any time.

    Parameters
    ----------
    servers : int
    arrival : ndarray of float64, shape (n,)
        In order; a job with an arrival of 0 is in service at the start and cannot be refused.
    departure, reward : ndarray of float64, shape (n,)

    Returns
    -------
    ndarray of float64, shape (n,)
        1 for an accepted job, 0 for a refused one.

    Raises
    ------
    RuntimeError
        If the solver fails.
    """
    count = len(arrival)
    jobs = np.arange(count)
    # Number in service after each arrival: that after the last one, plus the job if accepted, less
    # those accepted that have departed since. Three entries a job, however long it stays.
    leaves = np.searchsorted(arrival, departure)
    inside = leaves < count
    rows = np.concatenate([jobs, leaves[inside]])
    columns = np.concatenate([jobs, jobs[inside]])
    signs = np.concatenate([-np.ones(count), np.ones(inside.sum())])
    accepts = coo_array((signs, (rows, columns)), shape=(count, count))
    carry = coo_array(
        (
            np.concatenate([np.ones(count), -np.ones(count - 1)]),
            (np.concatenate([jobs, jobs[1:]]), np.concatenate([jobs, jobs[:-1]])),
        ),
        shape=(count, count),
    )
    bounds = np.empty((2 * count, 2))
    bounds[:count] = np.where((arrival == 0)[:, None], (1, 1), (0, 1))
    bounds[count:] = 0, servers
    solution = linprog(
        np.concatenate([-reward, np.zeros(count)]),
        A_eq=csc_array(hstack([accepts, carry])),
        b_eq=np.zeros(count),
        bounds=bounds,
        method="highs",
    )
    if solution.status != 0:
        raise RuntimeError(f"the clairvoyant's linear program failed: {solution.message}")
    return solution.x[:count]


def _draw_jobs(network, horizon, seed, replicate):
    """Return arrival, departure and reward of the jobs at the start and of all arrivals."""
    arrivals, classes, services = (
        stream(seed, "loss-clairvoyant", network.servers, replicate, purpose)
        for purpose in ("arrivals", "classes", "services")
    )
    rate = network.high_rate + network.low_rate
    count = arrivals.poisson(network.servers * rate * horizon)
    arrival = np.concatenate(
        [np.zeros(network.servers), np.sort(arrivals.uniform(0, horizon, count))]
    )
    high = classes.random(count) < network.high_rate / rate
    reward = np.where(high, network.high_reward, network.low_reward)
    reward = np.concatenate([np.zeros(network.servers), reward])
    duration = services.exponential(1 / network.service_rate, len(arrival))
    return arrival, arrival + duration, reward
