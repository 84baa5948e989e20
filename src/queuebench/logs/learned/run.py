"""Runs of a system learnt from a log, at any share of treated jobs."""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, njit
from queuebench.logs.learned.system import LONGEST

WARM = 0.1
"""First part of the record that is not counted: it may have begun empty."""

_ROOM = 64
_FAR = np.iinfo(np.int64).max


class Run(NamedTuple):
    """Means over a run: response, and queue met by control and treated jobs.

    Infinite where a queue grew beyond all bounds.
    """

    response: float
    met_control: float
    met_treated: float


def simulate(system, share, sequence) -> Run:
    """Run a learnt system once through the log's arrival times.

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    share : float
        Share of treated jobs.
    sequence : numpy.random.SeedSequence
        The same one makes runs at several shares comparable: they draw the same numbers.
    """
    rng = np.random.default_rng(sequence)
    skipped = int(WARM * len(system.arrival))
    known = system.arrival, system.places, share
    if system.first_come:
        sums = serve(*known, system.service, system.slowness, skipped, rng)
    else:
        sums = let_go(*known, len(system.slowness), system.letting_go, skipped, rng)
    if math.isinf(sums[0]):
        return Run(math.inf, math.inf, math.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        met = sums[1:3] / sums[3:5]
    return Run(float(sums[0]) / (len(system.arrival) - skipped), *map(float, met))


@njit
def serve(arrival, places, share, service, slowness, skipped, rng):
    """Run servers that work first come, first served.

    Return sums of responses, of queues met by arm and of jobs by arm; the first is infinite if a queue grew
    beyond `LONGEST`. The same four numbers are drawn for every job, whatever the share.
    """
    servers, room = len(slowness), _ROOM
    leaving = np.empty((servers, room))
    first = np.zeros(servers, np.int64)
    length = np.zeros(servers, np.int64)
    tied = np.empty(servers, np.int64)
    sums = np.zeros(5)
    for i in range(len(arrival)):
        now = arrival[i]
        arm = np.int64(rng.random() < share)
        draw, within, size = rng.random(), rng.random(), rng.random()
        shortest = _FAR
        for s in range(servers):
            while length[s] > 0 and leaving[s, first[s]] <= now:
                first[s] = (first[s] + 1) % room
                length[s] -= 1
            shortest = min(shortest, length[s])
        place = place_in(places[arm, np.int64(shortest == 0)], draw)
        s = tied[int(within * tied_at(place, shortest, length, tied))]
        if length[s] == room:
            if room == LONGEST:
                sums[0] = np.inf
                return sums
            leaving = wider(leaving, first, length)
            room *= 2
        begins = leaving[s, (first[s] + length[s] - 1) % room] if length[s] > 0 else now
        leaves = begins + slowness[s] * service[int(size * len(service))]
        leaving[s, (first[s] + length[s]) % room] = leaves
        if i >= skipped:
            sums[0] += leaves - now
            sums[1 + arm] += length[s]
            sums[3 + arm] += 1.0
        length[s] += 1
    return sums


@inlined
def place_in(law, draw):
    """Return the first place at which a cumulative law reaches a number."""
    place = 0
    while place < len(law) - 1 and law[place] <= draw:
        place += 1
    return place


@inlined
def tied_at(place, shortest, length, tied):
    """Find the equally long queues that hold a place in the order of lengths; return how many they are."""
    level, before = shortest, 0
    while True:
        found, above = 0, _FAR
        for s in range(len(length)):
            if length[s] == level:
                tied[found] = s
                found += 1
            elif level < length[s] < above:
                above = length[s]
        if before + found > place or above == _FAR:
            return found
        before += found
        level = above


@njit
def wider(leaving, first, length):
    """Return rings of twice the size with the same jobs, each beginning at 0."""
    servers, room = leaving.shape
    wider = np.empty((servers, 2 * room))
    for s in range(servers):
        for k in range(length[s]):
            wider[s, k] = leaving[s, (first[s] + k) % room]
        first[s] = 0
    return wider


@njit
def let_go(arrival, places, share, servers, letting_go, skipped, rng):
    """Run servers as a Markov chain of queue lengths.

    Return the sums of `serve`, of responses as the time that jobs spend in the system. Ticks come at the
    highest rate of a departure, at a server of a random place in the order of lengths, so that runs at
    several shares see the same ticks.
    """
    count = np.zeros(LONGEST, np.int64)  # servers by length
    count[0] = servers
    mean = 1.0 / (servers * letting_go.max())
    jobs, longest, now = 0, 0, 0.0
    sums = np.zeros(5)
    tick = rng.exponential(mean)
    for i in range(len(arrival)):
        while tick <= arrival[i]:
            if i > skipped:
                sums[0] += jobs * (tick - now)
            now = tick
            level = _level(count, rng.random() * servers, longest)
            rate = letting_go[min(level, len(letting_go) - 1)]
            if rng.random() * letting_go.max() < rate:
                count[level] -= 1
                count[level - 1] += 1
                jobs -= 1
                while longest > 0 and count[longest] == 0:
                    longest -= 1
            tick = now + rng.exponential(mean)
        if i > skipped:
            sums[0] += jobs * (arrival[i] - now)
        now = arrival[i]
        arm = np.int64(rng.random() < share)
        place = place_in(places[arm, np.int64(count[0] > 0)], rng.random())
        level = _level(count, place, longest)
        if level + 2 >= LONGEST:
            sums[0] = np.inf
            return sums
        if i >= skipped:
            sums[1 + arm] += level
            sums[3 + arm] += 1.0
        count[level] -= 1
        count[level + 1] += 1
        longest = max(longest, level + 1)
        jobs += 1
    return sums


@inlined
def _level(count, place, longest):
    """Return the length of the queue that holds a place in the order of lengths."""
    level, before = 0, count[0]
    while before <= place and level < longest:
        level += 1
        before += count[level]
    return level
