"""The occupancy chain of the supermarket model on a finite set of states."""

from dataclasses import dataclass

import numpy as np

from queuebench.base.jit import njit
from queuebench.queueing.oracle.states import ARRIVAL_CENSORED, DEPARTURE_CENSORED, StateSet


def routing_table(servers, d):
    """Return the probability that ``d`` sampled servers all are among the ``k`` longest.

    An arrival joins a server with exactly ``j`` jobs with probability
    ``table[k_j] - table[k_{j+1}]``, ``table[k] = C(k, d) / C(N, d)``.

    Parameters
    ----------
    servers, d : int
        Number of servers ``N``, sampled servers ``1 <= d <= N``.

    Returns
    -------
    ndarray of float64, shape (servers + 1,)

    Raises
    ------
    ValueError
        If ``d`` is not between 1 and ``servers``.
    """
    if not 1 <= d <= servers:
        raise ValueError(f"d is {d}; it must be between 1 and the number of servers, {servers}")
    k = np.arange(servers + 1.0)
    table = np.ones(servers + 1)
    for i in range(d):
        table *= np.maximum(k - i, 0) / (servers - i)
    return table


@dataclass(frozen=True)
class Chain:
    """The continuous-time chain of one (possibly mixed) dispatch policy.

    Attributes
    ----------
    states : StateSet
        Where it lives.
    table : ndarray of float64, shape (servers + 1,)
        Its `routing_table`; the mixture of two policies has the mixture of their tables.
    rate : float
        Arrivals per mean service time, ``Lambda``.
    exit_rate : ndarray of float64, shape (states,)
        Rate of the events that change the state.
    departure_rate : ndarray of float64, shape (states,)
        Rate of the departures among them.
    """

    states: StateSet
    table: np.ndarray
    rate: float
    exit_rate: np.ndarray
    departure_rate: np.ndarray

    @property
    def load(self):
        """Load per server."""
        return self.rate / self.states.servers

    def expected_response(self, table=None):
        """Return an arrival's expected response time in each state.

        Parameters
        ----------
        table : ndarray, optional
            Routing table of the arrival, by default the chain's own.

        Returns
        -------
        ndarray of float64, shape (states,)
            In mean service times: the queue length it meets plus one.
        """
        states = self.states
        table = self.table if table is None else table
        return _expected_response(states.first, states.length, states.count, table)


def build_chain(states, table, rate):
    """Return the chain with this routing table and arrival rate on ``states``."""
    exit_rate, departure_rate = _exit_rates(
        states.first, states.count, states.up, states.down, table, rate
    )
    return Chain(states, table, rate, exit_rate, departure_rate)


@njit
def _exit_rates(first, count, up, down, table, rate):
    exit_rate = np.zeros(first.size - 1)
    departure_rate = np.zeros(first.size - 1)
    for x in range(exit_rate.size):
        last = first[x + 1] - 1
        for s in range(first[x], last + 1):
            beyond = count[s + 1] if s < last else 0
            if up[s] != x:
                exit_rate[x] += rate * (table[count[s]] - table[beyond])
            if down[s] != x:
                departure_rate[x] += count[s] - beyond
        exit_rate[x] += departure_rate[x]
    return exit_rate, departure_rate


@njit
def _expected_response(first, length, count, table):
    response = np.zeros(first.size - 1)
    for x in range(response.size):
        for s in range(first[x], first[x + 1]):
            beyond = count[s + 1] if s + 1 < first[x + 1] else 0
            response[x] += (length[s] + 1) * (table[count[s]] - table[beyond])
    return response


@njit
def push_up(first, count, up, table, lo, hi, scale, source, target):
    """Add what arrivals carry from states ``lo`` to ``hi - 1`` to ``target``."""
    for x in range(lo, hi):
        amount = scale * source[x]
        last = first[x + 1] - 1
        above = table[count[first[x]]]
        for s in range(first[x], last + 1):
            beyond = table[count[s + 1]] if s < last else 0.0
            y = up[s]
            if y != x:
                target[y] += amount * (above - beyond)
            above = beyond


@njit
def push_down(first, count, down, lo, hi, source, target):
    """Add what departures carry from states ``lo`` to ``hi - 1`` to ``target``."""
    for x in range(lo, hi):
        amount = source[x]
        last = first[x + 1] - 1
        for s in range(first[x], last + 1):
            beyond = count[s + 1] if s < last else 0
            y = down[s]
            if y != x:
                target[y] += amount * (count[s] - beyond)


@njit
def censored_flow(first, count, censored, table, rate, law):
    """Return the stationary rates of arrivals and of departures that would leave the set."""
    arrivals = 0.0
    departures = 0.0
    for x in range(law.size):
        last = first[x + 1] - 1
        for s in range(first[x], last + 1):
            beyond = count[s + 1] if s < last else 0
            if censored[s] & ARRIVAL_CENSORED:
                arrivals += law[x] * rate * (table[count[s]] - table[beyond])
            if censored[s] & DEPARTURE_CENSORED:
                departures += law[x] * (count[s] - beyond)
    return arrivals, departures
