"""The Poisson equation: what a state costs in the long run, relative to the average state.

``V`` solves ``sum_y rate(x -> y) (V(y) - V(x)) = -(cost(x) - mean cost)`` with cost rate "number
in system"; it is fixed by ``V(empty system) = 0``. Sweeps over the levels are interleaved with an
exact correction of each level by a constant, the counterpart of the aggregation in `stationary`.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.queueing.oracle.stationary import MAX_SWEEPS, OVERRELAXATION

# Directions of the sweeps between two corrections of the levels; True is upward.
ALTERNATING = (False, True, False, True)
WARM_UP_SWEEPS = 20


def relative_values(chain, law, tolerance, max_sweeps=MAX_SWEEPS):
    """Solve the Poisson equation of the number in system.

    Parameters
    ----------
    chain : Chain
        The chain.
    law : ndarray of float64, shape (states,)
        Its stationary law.
    tolerance : float
        Largest residual allowed, in jobs, averaged over the stationary law.

    Returns
    -------
    values : ndarray of float64, shape (states,)
        ``V``, in jobs times mean service times.
    residual : float
        Stationary mean of the equation's absolute residual, in jobs; above the tolerance if
        ``max_sweeps`` sweeps did not do.
    """
    values = np.zeros_like(law)
    mean = law @ chain.states.jobs()
    relaxation, previous = OVERRELAXATION, np.inf
    for i in range(0, max_sweeps, len(ALTERNATING)):
        for upward in ALTERNATING:
            _sweep(*chain.states.graph, chain.table, chain.rate, chain.exit_rate, mean, values,
                   relaxation, upward)  # fmt: skip
        residual = _correct_levels(
            *chain.states.graph, chain.table, chain.rate, chain.exit_rate, chain.departure_rate,
            law, mean, values,
        )  # fmt: skip
        if residual <= tolerance:
            break
        if i > WARM_UP_SWEEPS and residual > previous:
            relaxation = (1.0 + relaxation) / 2
        previous = residual
    return values - values[0], residual


@njit
def _drift(first, count, up, down, table, rate, values, x):
    """Return the sum of the neighbours' values, weighted by the rates to them."""
    total = 0.0
    last = first[x + 1] - 1
    for s in range(first[x], last + 1):
        beyond = count[s + 1] if s < last else 0
        if up[s] != x:
            total += rate * (table[count[s]] - table[beyond]) * values[up[s]]
        if down[s] != x:
            total += (count[s] - beyond) * values[down[s]]
    return total


@njit
def _sweep(level, first, count, up, down, table, rate, exit_rate, mean, values, relaxation, upward):
    levels = level.size - 1
    for i in range(levels):
        n = i if upward else levels - 1 - i
        for x in range(level[n], level[n + 1]):
            drift = _drift(first, count, up, down, table, rate, values, x)
            balanced = (n - mean + drift) / exit_rate[x]
            values[x] += relaxation * (balanced - values[x])


@njit
def _correct_levels(
    level, first, count, up, down, table, rate, exit_rate, departure_rate, law, mean, values
):
    """Shift each level so that its residuals cancel; return their mean size before that."""
    levels = level.size - 1
    excess = np.zeros(levels)
    upward = np.zeros(levels)
    size = 0.0
    for n in range(levels):
        for x in range(level[n], level[n + 1]):
            drift = _drift(first, count, up, down, table, rate, values, x)
            residual = law[x] * (n - mean + drift - exit_rate[x] * values[x])
            excess[n] += residual
            size += abs(residual)
            upward[n] += law[x] * (exit_rate[x] - departure_rate[x])
    below = np.cumsum(excess)
    shift = 0.0
    for n in range(1, levels):
        # The residuals sum to zero: far up, the sum of those above suffers less cancellation.
        above = excess[n:].sum()
        step = -below[n - 1] if abs(below[n - 1]) < abs(above) else above
        shift += step / upward[n - 1]
        for x in range(level[n], level[n + 1]):
            values[x] += shift
    return size
