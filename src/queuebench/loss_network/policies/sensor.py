"""Short-sighted sensor (SSS): accept iff the hypothetical does not fail within the next ``W``.

The hypothetical is PFI's (see `promise`). For each number idle ``j`` let ``F_j`` be the time at
which it fails when it starts from ``j``; ``F_1 <= F_2 <= ...``. Backward over the list an ``H``
arrival pushes its own time on this stack; a tick that ends a job iff at most ``c = N - mark`` are
idle takes the top off and, if ``c`` is less than the depth, doubles the entry ``c + 1``, so deeper
ones stay where they are. An ``L`` job at ``t`` with ``i`` idle is accepted iff ``F_i > t + W``.
Entries beyond ``t + W`` can be dropped, as ``t`` only falls; then the depth is the largest number
idle that fails.

The stopped form accepts what reaches ``floor(sqrt(N))`` idle first: no entry is deeper than one
less.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK
from queuebench.loss_network.path import walk
from queuebench.loss_network.policies import register


@register("sss", lookahead="window")
def sss(network, events, window):
    """Accept an ``L`` job iff its hypothetical does not fail within the window."""
    return walk(network, events, sensor_bounds(network, events, window, network.servers))


@register("sss_stop", lookahead="window", threshold=lambda network: network.promised_idle)
def sss_stop(network, events, window):
    """Accept an ``L`` job iff it reaches ``floor(sqrt(N))`` idle, or the window's end, unfailed."""
    most = network.promised_idle - 1
    return walk(network, events, sensor_bounds(network, events, window, most))


def sensor_bounds(network, events, window, most):
    """Numbers busy below which the hypothetical does not fail within the window.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    window : float
        Length of the window; an event at exactly ``t + window`` is inside.
    most : int
        Largest number idle from which a hypothetical may fail.

    Returns
    -------
    ndarray of int32, shape (n,)
        As `walk` wants them.

    Raises
    ------
    ValueError
        If ``window <= 0``.
    """
    if not window > 0:
        raise ValueError(f"window > 0 must hold, got {window}")
    bounds = np.empty(len(events.time), np.int32)
    failures = np.empty(1 << (most + 1).bit_length())
    _sensor_bounds(*events, network.servers, window, most, failures, bounds)
    return bounds


@njit
def _sensor_bounds(time, kind, mark, servers, window, most, failures, bounds):
    # Level j of the stack is failures[(top - j) & mask].
    mask = failures.size - 1
    top = 0
    depth = 0
    for e in range(kind.size - 1, -1, -1):
        if kind[e] == HIGH:
            bounds[e] = servers
            failures[top & mask] = time[e]
            top += 1
            depth = min(depth + 1, most)
        elif kind[e] == TICK:
            bounds[e] = mark[e]
            cap = servers - mark[e]
            if cap < depth:
                for j in range(1, cap + 1):
                    failures[(top - j) & mask] = failures[(top - j - 1) & mask]
            elif depth > 0:
                top -= 1
                depth -= 1
        else:
            limit = time[e] + window
            while depth > 0 and failures[(top - depth) & mask] > limit:
                depth -= 1
            bounds[e] = servers - depth
