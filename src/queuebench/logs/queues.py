"""Queue lengths, service times and the order of service, from arrivals, servers and departures."""

from typing import NamedTuple

import numpy as np

from queuebench.jit import kernel

_NONE = -1
_ROUNDING = 1e-12
"""Relative difference of two departures that counts as none."""


class Queues(NamedTuple):
    """Jobs present at every server, as lists ordered by departure in one pool of nodes.

    Per server the first and last node and the number of nodes; per node its neighbours and its
    departure; ``free`` is the first unused node.
    """

    first: np.ndarray
    last: np.ndarray
    length: np.ndarray
    next: np.ndarray
    previous: np.ndarray
    departure: np.ndarray
    free: np.ndarray
    latest: np.ndarray  # latest departure so far, per server


class ServerSums(NamedTuple):
    """Service times by server, of jobs that met none (column 0) and others (column 1)."""

    count: np.ndarray  # float64 (servers, 2)
    total: np.ndarray
    squares: np.ndarray


class ServerQueues:
    """Follows every server's queue through a log, chunk by chunk.

    Parameters
    ----------
    servers : int
        Number of servers N.
    travel_time : float
        From dispatch to the server.

    Attributes
    ----------
    services : ServerSums
        Service times so far; a service starts at the landing or the previous departure.
    """

    def __init__(self, servers, travel_time):
        self._travel_time = travel_time
        self._queues = Queues(
            *(np.full(servers, _NONE, np.int64) for _ in range(2)),
            np.zeros(servers, np.int32),
            *_pool(1024),
            np.zeros(1, np.int64),
            np.full(servers, -np.inf),
        )
        self._counts = np.zeros(2, np.int64)
        self.services = ServerSums(*(np.zeros((servers, 2)) for _ in range(3)))

    @property
    def overtaking(self):
        """Jobs so far that departed before an earlier job of their server."""
        return int(self._counts[0])

    @property
    def meeting(self):
        """Jobs so far that met others at their server."""
        return int(self._counts[1])

    def follow(self, arrival, server, departure, recorded, length, start):
        """Add consecutive jobs.

        Parameters
        ----------
        arrival, departure : ndarray of float64, shape (m,)
        server : ndarray of int32, shape (m,)
        recorded : ndarray of bool, shape (m,)
            Whether a job counts in the sums.
        length : ndarray of int32, shape (m,)
            Written in place: the earlier jobs of the server that depart after the landing.
        start : ndarray of float64, shape (m,)
            Written in place: when service starts.
        """
        done = 0
        while True:
            done = _follow(
                done, arrival, server, departure, recorded, self._travel_time, *self._queues,
                self._counts, *self.services, length, start,
            )  # fmt: skip
            if done == len(arrival):
                return
            self._grow()

    def _grow(self):
        queues = self._queues
        size = len(queues.next)
        more = _pool(size, size)
        joined = [
            np.concatenate(pair)
            for pair in zip((queues.next, queues.previous, queues.departure), more, strict=True)
        ]
        # The pool is full, so the new nodes are the only unused ones.
        queues.free[0] = size
        self._queues = queues._replace(next=joined[0], previous=joined[1], departure=joined[2])


def _pool(size, begin=0):
    """Return the nodes of a pool, each unused one pointing to the next."""
    following = np.arange(begin + 1, begin + size + 1, dtype=np.int64)
    following[-1] = _NONE
    return following, np.full(size, _NONE, np.int64), np.zeros(size)


@kernel
def _follow(
    done, arrival, server, departure, recorded, travel_time,
    first, last, length, following, previous, left, free, latest,
    counts, count, total, squares, met, start,
):  # fmt: skip
    """Follow jobs from number `done` on; return how many are done when the pool is full."""
    for i in range(done, len(arrival)):
        node = free[0]
        if node == _NONE:
            return i
        s = server[i]
        landing = arrival[i] + travel_time
        while first[s] != _NONE and left[first[s]] <= landing:
            gone = first[s]
            first[s] = following[gone]
            if first[s] == _NONE:
                last[s] = _NONE
            else:
                previous[first[s]] = _NONE
            following[gone] = free[0]
            free[0] = gone
            length[s] -= 1
        node = free[0]
        free[0] = following[node]
        leaving = departure[i]
        met[i] = length[s]
        start[i] = max(landing, latest[s])
        if recorded[i]:
            waited = 1 if length[s] > 0 else 0
            counts[1] += waited
            if leaving < latest[s] - _ROUNDING * abs(latest[s]):
                counts[0] += 1
            service = leaving - start[i]
            count[s, waited] += 1.0
            total[s, waited] += service
            squares[s, waited] += service * service
        latest[s] = max(latest[s], leaving)
        # First come, first served appends; other orders walk back a little.
        after = last[s]
        while after != _NONE and left[after] > leaving:
            after = previous[after]
        before = first[s] if after == _NONE else following[after]
        left[node] = leaving
        previous[node] = after
        following[node] = before
        if after == _NONE:
            first[s] = node
        else:
            following[after] = node
        if before == _NONE:
            last[s] = node
        else:
            previous[before] = node
        length[s] += 1
    return len(arrival)
