"""Promise of future idleness (PFI): accept iff idleness is sure to recover; infinite lookahead.

The *hypothetical* of a decision starts from the number idle before the ``L`` job is accepted,
refuses this and every later ``L`` job and accepts every ``H`` job. The promise holds if it reaches
``floor(sqrt(N))`` idle before 0.

Two hypotheticals on the same events keep their order, so at each event there is a smallest number
idle from which the promise holds, one more than the *shortfall* ``d``. Backward over the list it
obeys a recursion: an ``H`` arrival raises it by one (to at most ``floor(sqrt(N)) - 1``), and a tick
lowers it by one iff it ends a job with ``d`` servers idle, that is iff ``d <= N - mark``. At the
end of the list nothing has failed: ``d = 0``.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK, Events
from queuebench.loss_network.model import LossNetwork
from queuebench.loss_network.path import walk
from queuebench.loss_network.policies import register


def promise_bounds(network: LossNetwork, events: Events):
    """Numbers busy below which the promise of future idleness holds.

    Returns
    -------
    ndarray of int32, shape (n,)
        As `walk` wants them: for an ``L`` arrival the promise holds iff fewer servers are busy.
    """
    bounds = np.empty(len(events.time), np.int32)
    _promise_bounds(events.kind, events.mark, network.servers, network.promised_idle - 1, bounds)
    return bounds


@register("pfi", lookahead="all", threshold=lambda network: network.promised_idle)
def pfi(network, events, window=None):
    """Accept an ``L`` job iff the promise of future idleness holds."""
    return walk(network, events, promise_bounds(network, events))


@njit
def _promise_bounds(kind, mark, servers, most, bounds):
    shortfall = np.int32(0)
    every = np.int32(servers)
    most = np.int32(most)
    for e in range(kind.size - 1, -1, -1):
        high = kind[e] == HIGH
        tick = kind[e] == TICK
        room = every - shortfall
        bounds[e] = mark[e] if tick else (every if high else room)
        up = high & (shortfall < most)
        down = tick & (shortfall > 0) & (mark[e] <= room)
        shortfall += np.int32(up) - np.int32(down)
