"""The stationary law, by sweeps over the levels with exact aggregation to the number of jobs.

Transitions only join neighbouring levels, so one Gauss-Seidel sweep solves level after level.
What sweeps alone resolve slowly is the number of jobs, a nearly critical random walk; given the
law within each level, the masses of the levels follow exactly from the balance of the flow up and
down (iterative aggregation and disaggregation: Koury, McAllister and Stewart, *Iterative methods
for computing stationary distributions of nearly completely decomposable Markov chains*, 1984).
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.queueing.oracle.chain import push_down, push_up

OVERRELAXATION = 1.7
SWEEPS_PER_CHECK = 10
MAX_SWEEPS = 3_000


def stationary_law(chain, law, tolerance, max_sweeps=MAX_SWEEPS):
    """Return the stationary law, and the error that its residual can cause.

    The mean cost of an inexact law ``p`` is off by ``-sum_x r(x) V(x)``, with ``r`` the net flow
    into each state and ``V`` the relative values. These are not known here; those of random
    routing, ``sum over servers of q (q + 1) / (2 (1 - load))``, stand in for them. They are exact
    for ``d = 1``, and too large for larger ``d``, where newcomers avoid the long queues.

    Parameters
    ----------
    chain : Chain
        The chain.
    law : ndarray of float64, shape (states,)
        An estimate of its law; changed in place.
    tolerance : float
        Largest error of the mean number in system.

    Returns
    -------
    law : ndarray of float64, shape (states,)
    error : float
        Bound on the error of the mean number in system, in jobs; above the tolerance if
        ``max_sweeps`` sweeps did not do.
    """
    weight = random_routing_values(chain)
    relaxation, error = OVERRELAXATION, np.inf
    for _ in range(0, max_sweeps, SWEEPS_PER_CHECK):
        improve(chain, law, SWEEPS_PER_CHECK, relaxation)
        previous, error = error, float(np.abs(balance_residual(chain, law)) @ weight)
        if error <= tolerance:
            break
        if error > previous:
            relaxation = (1.0 + relaxation) / 2
    return law, error


def random_routing_values(chain):
    """Return the relative values of the number in system under random routing, shape (states,)."""
    states = chain.states
    values = _triangular_numbers(states.first, states.length, states.count)
    return values / (1 - chain.load)


@njit
def _triangular_numbers(first, length, count):
    values = np.zeros(first.size - 1)
    for x in range(values.size):
        for s in range(first[x], first[x + 1]):
            beyond = count[s + 1] if s + 1 < first[x + 1] else 0
            values[x] += (count[s] - beyond) * length[s] * (length[s] + 1) / 2
    return values


def start_law(chain):
    """Return a law to start from: even within levels, geometric over them, shape (states,)."""
    level = chain.states.level
    mass = chain.load ** np.arange(level.size - 1.0) / np.diff(level)
    law = np.repeat(mass, np.diff(level))
    return law / law.sum()


def improve(chain, law, sweeps, relaxation=1.0):
    """Sweep ``law`` in place, alternately down and up; each sweep sets the levels' masses."""
    inflow = np.empty_like(law)
    for i in range(sweeps):
        _sweep(*chain.states.graph, chain.table, chain.rate, chain.exit_rate, inflow, law,
               relaxation, i % 2 == 1)  # fmt: skip
        _aggregate(chain.states.level, chain.exit_rate, chain.departure_rate, law)


def balance_residual(chain, law):
    """Return the net probability flow into each state, shape (states,); zero for the exact law."""
    flow = -law * chain.exit_rate
    _inflow(*chain.states.graph, chain.table, chain.rate, law, flow)
    return flow


@njit
def _inflow(level, first, count, up, down, table, rate, law, flow):
    size = first.size - 1
    push_up(first, count, up, table, 0, size, rate, law, flow)
    push_down(first, count, down, 0, size, law, flow)


@njit
def _sweep(level, first, count, up, down, table, rate, exit_rate, inflow, law, relaxation, upward):
    levels = level.size - 1
    for i in range(levels):
        n = i if upward else levels - 1 - i
        lo, hi = level[n], level[n + 1]
        inflow[lo:hi] = 0.0
        if n > 0:
            push_up(first, count, up, table, level[n - 1], lo, rate, law, inflow)
        if n + 1 < levels:
            push_down(first, count, down, hi, level[n + 2], law, inflow)
        for x in range(lo, hi):
            balanced = inflow[x] / exit_rate[x]
            law[x] += relaxation * (balanced - law[x])
            if law[x] < 0.0:
                law[x] = balanced


@njit
def _aggregate(level, exit_rate, departure_rate, law):
    """Scale the levels so that as much flows up from each as down from the next."""
    factor = 1.0
    upward = 0.0
    total = 0.0
    for n in range(level.size - 1):
        downward_here = 0.0
        upward_here = 0.0
        for x in range(level[n], level[n + 1]):
            downward_here += law[x] * departure_rate[x]
            upward_here += law[x] * (exit_rate[x] - departure_rate[x])
        if n > 0:
            factor = upward / downward_here
        for x in range(level[n], level[n + 1]):
            law[x] *= factor
            total += law[x]
        upward = upward_here * factor
    for x in range(law.size):
        law[x] /= total
