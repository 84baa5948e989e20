"""What a policy does to an event list: the number busy and what became of every event."""

from typing import NamedTuple

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, LOW, TICK


class Path(NamedTuple):
    """A policy's sample path on a list of ``n`` events.

    Attributes
    ----------
    busy : ndarray of int32, shape (n + 1,)
        Number busy just before each event, and at the end.
    taken : ndarray of bool, shape (n,)
        Whether the arrival was accepted, or the tick ended a job.
    """

    busy: np.ndarray
    taken: np.ndarray


class Counts(NamedTuple):
    """Counts over a part of a path, enough for its regret."""

    rejected_high: int
    wasted_ticks: int
    accepted_low: int
    busy_start: int
    busy_end: int


def empty_path(count):
    """Return a path of `count` events, yet to be written."""
    return Path(np.empty(count + 1, np.int32), np.empty(count, np.bool_))


def walk(network, events, bounds):
    """Run a policy that accepts ``L`` jobs below a number busy given per event.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    bounds : ndarray of int32, shape (n,)
        For an ``L`` arrival, it is accepted iff fewer than this many servers are busy; for an
        ``H`` arrival the number of servers; for a tick its mark.

    Returns
    -------
    Path
        Starting with all servers busy.
    """
    path = empty_path(len(events.time))
    _walk(events.kind, bounds, network.servers, path.busy, path.taken)
    return path


def count_path(events, path, start, stop) -> Counts:
    """Count what a policy lost and earned between two events.

    Parameters
    ----------
    events : Events
    path : Path
    start, stop : int
        The events ``start <= e < stop`` are counted.
    """
    rejected, wasted, accepted = _count(events.kind, path.taken, start, stop)
    return Counts(rejected, wasted, accepted, int(path.busy[start]), int(path.busy[stop]))


@njit
def _walk(kind, bounds, servers, busy, taken):
    b = np.int32(servers)
    for e in range(kind.size):
        busy[e] = b
        # One comparison serves arrivals (accepted iff below) and ticks (wasted iff below).
        below = b < bounds[e]
        tick = kind[e] == TICK
        taken[e] = below != tick
        b += np.int32(below) - np.int32(tick)
    busy[kind.size] = b


@njit
def _count(kind, taken, start, stop):
    rejected = 0
    wasted = 0
    accepted = 0
    for e in range(start, stop):
        rejected += (kind[e] == HIGH) & (not taken[e])
        wasted += (kind[e] == TICK) & (not taken[e])
        accepted += (kind[e] == LOW) & taken[e]
    return rejected, wasted, accepted
