"""Truncated differences in Q: what an arrival's arm costs the next ``L`` arrivals.

Routing an arrival by treatment instead of control changes the law of the state just after it by a
signed measure. Until the next arrival only departures happen, and these lower the number of jobs:
the state met by the next arrival follows from one exact pass from the highest level down. The
same pass routes that arrival by the mixed policy. The costs of the ``m``-th arrival are then one
inner product each, so one chain of passes serves all horizons and both costs.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.queueing.oracle.chain import push_down


def truncated_differences(chain, law, control, treatment, longest):
    """Return the truncated DQ estimands of both costs for every horizon up to ``longest``.

    Parameters
    ----------
    chain : Chain
        The mixed chain.
    law : ndarray of float64, shape (states,)
        Its stationary law.
    control, treatment : ndarray of float64, shape (servers + 1,)
        Routing tables of the arms.
    longest : int
        Longest horizon ``L``, in arrivals.

    Returns
    -------
    queue, response : ndarray of float64, shape (longest + 1,)
        Difference (treatment minus control) of the expected sums of the costs of arrivals ``i``
        to ``i + L``, for ``L = 0, 1, ...``, in mean service times. The cost of one arrival is the
        number in system it finds over ``Lambda``, and its expected response time.
    """
    jobs = chain.states.jobs() / chain.rate
    response_cost = chain.expected_response()
    queue = np.zeros(longest + 1)
    response = np.zeros(longest + 1)
    response[0] = law @ chain.expected_response(treatment) - law @ chain.expected_response(control)
    change = arm_difference(chain, law, control, treatment)
    seen, routed = np.empty_like(law), np.empty_like(law)
    for m in range(1, longest + 1):
        _next_arrival(
            *chain.states.graph, chain.table, chain.rate, chain.departure_rate, change, seen, routed
        )
        change, routed = routed, change
        queue[m] = seen @ jobs
        response[m] = seen @ response_cost
    return np.cumsum(queue), np.cumsum(response)


def arm_difference(chain, law, control, treatment):
    """Return how treatment changes the law of the state just after an arrival, shape (states,)."""
    states = chain.states
    change = np.zeros_like(law)
    # An arrival that the set turns away leaves its state as it is, under either arm.
    for sign, table in ((1.0, treatment), (-1.0, control)):
        _route(states.first, states.count, states.up, table, sign, law, change)
    return change


@njit
def _route(first, count, up, table, scale, law, target):
    """Add ``scale`` times the law just after an arrival; one turned away leaves its state."""
    for x in range(law.size):
        amount = scale * law[x]
        last = first[x + 1] - 1
        for s in range(first[x], last + 1):
            beyond = table[count[s + 1]] if s < last else 0.0
            target[up[s]] += amount * (table[count[s]] - beyond)


@njit
def _next_arrival(level, first, count, up, down, table, rate, departure_rate, after, seen, routed):
    """From the measure just after an arrival, compute those just before and just after the next."""
    routed[:] = 0.0
    for n in range(level.size - 2, -1, -1):
        lo, hi = level[n], level[n + 1]
        for x in range(lo, hi):
            seen[x] = rate * after[x]
        if n + 2 < level.size:
            push_down(first, count, down, hi, level[n + 2], seen, seen)
        for x in range(lo, hi):
            seen[x] /= rate + departure_rate[x]
        for x in range(lo, hi):
            last = first[x + 1] - 1
            for s in range(first[x], last + 1):
                beyond = table[count[s + 1]] if s < last else 0.0
                routed[up[s]] += seen[x] * (table[count[s]] - beyond)
