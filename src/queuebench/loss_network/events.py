"""The event list that every policy shares: a sample path of arrivals and service ticks.

The list is Poisson of rate ``N*(lam_H + lam_L + mu)``. A tick carries a mark uniform on ``1..N``
and ends a job if the mark is at most the number busy; otherwise it is wasted. The number busy is
then the birth-death process of the loss network, and the future of a path is the rest of the list.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.randomness import stream

HIGH, LOW, TICK = 0, 1, 2
_BLOCK = 1 << 16


class Events(NamedTuple):
    """A list of ``n`` events in order of time.

    Attributes
    ----------
    time : ndarray of float64, shape (n,)
    kind : ndarray of int8, shape (n,)
        0 for an arrival of an ``H`` job, 1 for one of an ``L`` job, 2 for a service tick.
    mark : ndarray of int32, shape (n,)
        Uniform on ``1..N``; only the marks of ticks matter.
    """

    time: np.ndarray
    kind: np.ndarray
    mark: np.ndarray


def draw_blocks(network, count, seed, replicate):
    """Draw an event list block by block, in memory that does not grow with its length.

    Gaps, kinds and marks have a named stream each, so a longer list begins with the shorter one.

    Parameters
    ----------
    network : LossNetwork
    count : int
        Number of events.
    seed, replicate : int
        The study's seed and the replicate's number.

    Yields
    ------
    Events
        Consecutive pieces of the list, of at most 65536 events.
    """
    gaps, kinds, marks = (
        stream(seed, "loss", network.servers, replicate, purpose)
        for purpose in ("gaps", "kinds", "marks")
    )
    total = network.high_rate + network.low_rate + network.service_rate
    high = network.high_rate / total
    arrival = (network.high_rate + network.low_rate) / total
    now = 0.0
    for start in range(0, count, _BLOCK):
        size = min(_BLOCK, count - start)
        time = gaps.standard_exponential(size)
        time /= network.event_rate
        time[0] += now
        np.cumsum(time, out=time)
        now = time[-1]
        uniform = kinds.random(size)
        kind = (uniform >= high).view(np.int8) + (uniform >= arrival).view(np.int8)
        mark = marks.integers(1, network.servers, size, dtype=np.int32, endpoint=True)
        yield Events(time, kind, mark)


def draw_events(network, count, seed, replicate) -> Events:
    """Draw an event list as whole arrays.

    Parameters
    ----------
    network : LossNetwork
    count : int
        Number of events, at least 1.
    seed, replicate : int
        The study's seed and the replicate's number.

    Raises
    ------
    ValueError
        If ``count < 1``.
    """
    if count < 1:
        raise ValueError(f"count >= 1 events must be asked for, got {count}")
    events = Events(np.empty(count), np.empty(count, np.int8), np.empty(count, np.int32))
    start = 0
    for block in draw_blocks(network, count, seed, replicate):
        stop = start + len(block.time)
        for whole, piece in zip(events, block, strict=True):
            whole[start:stop] = piece
        start = stop
    return events


def dropped_time(network, multipliers=()) -> float:
    """Time dropped at each end of a path: one mean service time or the grid's largest window.

    Parameters
    ----------
    network : LossNetwork
    multipliers : iterable of float
        The grid of window multipliers; infinite ones do not count.
    """
    finite = [network.window(c) for c in multipliers if not math.isinf(c)]
    return max([1 / network.service_rate, *finite])


def required_events(network, multipliers=()) -> int:
    """Fewest events a path may have: ten times what is dropped at each end.

    Parameters
    ----------
    network : LossNetwork
    multipliers : iterable of float
        The grid of window multipliers.
    """
    return math.ceil(10 * dropped_time(network, multipliers) * network.event_rate)


def measured_span(network, events, multipliers=()):
    """Part of a list that is measured, the same for every policy.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    multipliers : iterable of float
        The grid of window multipliers.

    Returns
    -------
    first, last : float
        Times at which measurement starts and ends.

    Raises
    ------
    ValueError
        If the list has fewer than `required_events`; the message says how many it needs.
    """
    needed = required_events(network, multipliers)
    if len(events.time) < needed:
        raise ValueError(
            f"a list of {len(events.time)} events is shorter than ten times the time dropped at "
            f"each end ({dropped_time(network, multipliers):.6g}) at {network.servers} servers: "
            f"events >= {needed} must hold"
        )
    drop = dropped_time(network, multipliers)
    return drop, float(events.time[-1]) - drop


def event_count(settings, network):
    """Return how many events a sample path has: as many as asked, and long enough in time."""
    least = math.ceil(settings.duration / settings.service_rate * network.event_rate)
    return max(settings.events, least, required_events(network, settings.window_multipliers))
