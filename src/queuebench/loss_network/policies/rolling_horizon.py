"""Rolling horizon: solve the known window exactly, with the online optimum's values at its end.

At each ``L`` arrival the dynamic programme of `marginal` runs backward over the events within the
window, from the relative values of the online optimum at the window's end (the future beyond is
independent of what is known, so they are what the online optimum earns there). The job is accepted
iff that is worth more. One step of policy improvement on the online optimum: never worse than it.
"""

from pathlib import Path

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, LOW, TICK
from queuebench.loss_network.marginal import ring, step_back
from queuebench.loss_network.online import online_marginals
from queuebench.loss_network.path import empty_path
from queuebench.loss_network.policies import register


@register("rolling_horizon", lookahead="window")
def rolling_horizon(network, events, window) -> Path:
    """Accept an ``L`` job iff the best plan for the window does.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    window : float
        Length of the window; an event at exactly ``t + window`` is inside.

    Raises
    ------
    ValueError
        If ``window <= 0``.
    """
    if not window > 0:
        raise ValueError(f"window > 0 must hold, got {window}")
    path = empty_path(len(events.time))
    marginals = online_marginals(network)
    depth = int(np.count_nonzero(marginals > network.low_reward))
    _walk_rolling(
        *events,
        network.servers,
        window,
        network.high_reward,
        network.low_reward,
        marginals,
        depth,
        ring(network.servers),
        path.busy,
        path.taken,
    )
    return path


@njit
def _walk_rolling(
    time, kind, mark, servers, window, r_high, r_low, marginals, depth, values, busy, taken
):
    b = np.int32(servers)
    stop = 0
    for e in range(kind.size):
        busy[e] = b
        tick = kind[e] == TICK
        accepted = (not tick) and b < servers
        if accepted and kind[e] == LOW:
            while stop < kind.size and time[stop] <= time[e] + window:
                stop += 1
            worth = _marginal(
                kind,
                mark,
                e + 1,
                stop,
                servers,
                servers - b,
                r_high,
                r_low,
                marginals,
                depth,
                values,
            )
            accepted = worth < r_low
        taken[e] = mark[e] <= b if tick else accepted
        b += np.int32(accepted) - np.int32(tick and taken[e])
    busy[kind.size] = b


@njit
def _marginal(kind, mark, start, stop, servers, idle, r_high, r_low, marginals, depth, values):
    """Return the value of the idle-th idle server just before the events ``start..stop - 1``."""
    # The value depends on no level beyond the number idle if all L jobs are refused; once that is
    # zero, on nothing that comes after.
    level = idle
    width = idle
    last = start
    while last < stop and level > 0:
        if kind[last] == HIGH:
            level -= 1
        elif kind[last] == TICK and mark[last] <= servers - level:
            level += 1
            width = max(width, level)
        last += 1
    mask = values.size - 1
    for j in range(1, width + 1):
        values[-j & mask] = marginals[j - 1]
    top = 0
    depth = min(depth, width)
    for e in range(last - 1, start - 1, -1):
        cap = servers - mark[e]
        top, depth = step_back(values, top, depth, width, kind[e], cap, r_high, r_low)
        depth = min(depth, width)
    return values[(top - idle) & mask]
