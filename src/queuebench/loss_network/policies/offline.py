"""The offline optimum: the best a policy can do that knows the whole list.

The dynamic programme of `marginal` runs backward, keeping a checkpoint per block; then each block
is run again, now writing down for every arrival which numbers idle accept, and the path walks
through it. Beside the list and the path it needs the memory of one block and a checkpoint for each,
some hundredths of a byte per event. The number of levels kept is doubled until every decision met
was exact.

Many decisions are ties. The rule accepts ``H`` and refuses ``L`` on ties; `offline_opposite` does
the reverse. The reward is the same, its split into rejected ``H`` jobs and wasted ticks is not.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK
from queuebench.loss_network.marginal import front_back, ring, step_back
from queuebench.loss_network.path import empty_path
from queuebench.loss_network.policies import register

_BLOCK = 1 << 14
_WIDTH = 128
_TOLERANCE = 1e-9  # of r_H: values are sums of few rewards, so true differences are far larger


@register("offline", lookahead="all", judged=False)
def offline(network, events, window=None):
    """Offline optimum that accepts ``H`` and refuses ``L`` on ties."""
    return optimise(network, events)


@register("offline_opposite", lookahead="all", judged=False)
def offline_opposite(network, events, window=None):
    """Offline optimum that refuses ``H`` and accepts ``L`` on ties."""
    return optimise(network, events, opposite_ties=True)


def optimise(network, events, opposite_ties=False, width=_WIDTH, block=_BLOCK):
    """Walk an optimal path through a list that is known in advance.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    opposite_ties : bool, optional
        Refuse ``H`` and accept ``L`` on ties instead of the reverse.
    width : int, optional
        Numbers idle kept at first; doubled until all decisions on the path are exact.
    block : int, optional
        Events between checkpoints.

    Returns
    -------
    Path
        Starting with all servers busy; what happens after the list ends is worth nothing.
    """
    while True:
        width = min(width, network.servers)
        path = _optimise_within(network, events, opposite_ties, width, block)
        if path is not None:
            return path
        width *= 2


def _optimise_within(network, events, opposite_ties, width, block):
    """Return the path, or None if it met a decision that `width` levels do not settle."""
    count = len(events.time)
    starts = range(0, count, block)
    values = ring(width)
    # Top, depth, front; with all servers kept every level is exact throughout.
    state = np.array([0, 0, width])
    slack = _TOLERANCE * network.high_reward
    rule = (network.high_reward, network.low_reward, slack, opposite_ties)
    shape = (network.servers, width)
    words = np.zeros((block, -(-width // 64)), np.uint64)
    exact = np.empty(block, np.int32)
    checkpoints = np.empty((len(starts), width))
    states = np.empty((len(starts), 3), np.int64)
    for index in reversed(range(len(starts))):
        _save(values, state, checkpoints[index])
        states[index] = state
        piece = slice(starts[index], min(starts[index] + block, count))
        kind, mark = events.kind[piece], events.mark[piece]
        if not _sweep(kind, mark, *shape, *rule, False, values, state, words, exact):
            return None
    path = empty_path(count)
    path.busy[0] = network.servers
    for index, start in enumerate(starts):
        state[:] = states[index]
        _load(values, state, checkpoints[index])
        piece = slice(start, min(start + block, count))
        kind, mark = events.kind[piece], events.mark[piece]
        _sweep(kind, mark, *shape, *rule, True, values, state, words, exact)
        busy, taken = path.busy[start : piece.stop + 1], path.taken[piece]
        if not _follow(kind, mark, network.servers, words, exact, busy, taken):
            return None
    return path


@njit
def _save(values, state, levels):
    for j in range(levels.size):
        levels[j] = values[(state[0] - j - 1) & (values.size - 1)]


@njit
def _load(values, state, levels):
    for j in range(levels.size):
        values[(state[0] - j - 1) & (values.size - 1)] = levels[j]


@njit
def _sweep(
    kind,
    mark,
    servers,
    width,
    r_high,
    r_low,
    slack,
    opposite_ties,
    record,
    values,
    state,
    words,
    exact,
):
    """Go backward through a block; return whether the kept levels sufficed."""
    top, depth, front = state
    low_cut = r_low + slack if opposite_ties else r_low - slack
    high_cut = r_high - slack if opposite_ties else r_high + slack
    for e in range(kind.size - 1, -1, -1):
        if record and kind[e] != TICK:
            cut = high_cut if kind[e] == HIGH else low_cut
            _write_decisions(values, top, width, cut, words[e])
            exact[e] = front
        cap = servers - mark[e]
        front = front_back(front, depth, width, servers, kind[e], cap)
        top, depth = step_back(values, top, depth, width, kind[e], cap, r_high, r_low)
        if depth >= width:
            if width < servers:
                return False
            depth = servers
    state[0] = top
    state[1] = depth
    state[2] = front
    return True


@njit
def _write_decisions(values, top, width, cut, words):
    # Bit j - 1 tells whether an arrival is accepted with j servers idle.
    mask = values.size - 1
    for first in range(0, width, 64):
        word = np.uint64(0)
        for j in range(min(64, width - first)):
            accepted = values[(top - first - j - 1) & mask] < cut
            word |= np.uint64(accepted) << np.uint64(j)
        words[first >> 6] = word


@njit
def _follow(kind, mark, servers, words, exact, busy, taken):
    """Walk forward through a block; return whether every decision met was exact."""
    b = busy[0]
    for e in range(kind.size):
        busy[e] = b
        if kind[e] == TICK:
            taken[e] = mark[e] <= b
            b -= np.int32(taken[e])
        else:
            level = servers - b - 1
            if level >= exact[e]:
                return False
            accepted = False
            if level >= 0:
                bit = words[e, level >> 6] >> np.uint64(level & 63)
                accepted = (bit & np.uint64(1)) == np.uint64(1)
            taken[e] = accepted
            b += np.int32(accepted)
    busy[kind.size] = b
    return True
