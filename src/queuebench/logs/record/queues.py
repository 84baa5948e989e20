"""Queue lengths, service times and the order of service, from arrivals, servers and departures."""

from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, kernel

_NONE = -1
_ROUNDING = 1e-12
"""Relative difference of two departures that counts as none."""


class Queues(NamedTuple):
    """Jobs present at every server.

    Jobs that depart in the order of their arrival stand in a list; one that departs before an earlier
    one goes to a pairing heap (Fredman, Sedgewick, Sleator and Tarjan 1986) ordered by departure. All
    servers share one pool of nodes.
    """

    first: np.ndarray  # first and last node of the list, per server
    last: np.ndarray
    root: np.ndarray  # of the heap, per server
    length: np.ndarray  # jobs present, per server
    latest: np.ndarray  # latest departure so far, per server
    following: np.ndarray  # next node of the list, next sibling in the heap, or next unused node
    child: np.ndarray  # first child in the heap, per node
    leaving: np.ndarray  # departure, per node
    free: np.ndarray  # the first unused node


def empty_queues(servers):
    """Return the queues of servers without jobs."""
    return Queues(
        *(np.full(servers, _NONE, np.int64) for _ in range(3)),
        np.zeros(servers, np.int32),
        np.full(servers, -np.inf),
        *_pool(1024),
        np.zeros(1, np.int64),
    )


def grown(queues):
    """Return full queues with room for as many jobs again."""
    size = len(queues.following)
    nodes = ("following", "child", "leaving")
    more = dict(zip(nodes, _pool(size, size), strict=True))
    # The pool is full, so the new nodes are the only unused ones.
    queues.free[0] = size
    return queues._replace(
        **{name: np.concatenate([getattr(queues, name), more[name]]) for name in nodes}
    )


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
        self._queues = empty_queues(servers)
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
            self._queues = grown(self._queues)


def _pool(size, begin=0):
    """Return nodes, each unused one pointing to the next."""
    following = np.arange(begin + 1, begin + size + 1, dtype=np.int64)
    following[-1] = _NONE
    return following, np.full(size, _NONE, np.int64), np.zeros(size)


@inlined
def _merge(one, other, following, child, leaving):
    """Return the root of two heaps put together."""
    top, below = (other, one) if leaving[other] < leaving[one] else (one, other)
    following[below] = child[top]
    child[top] = below
    return top


@kernel
def _without_root(root, following, child, leaving):
    """Return the root of a heap whose old root is taken out: children are merged in pairs, then all."""
    merged = _NONE
    node = child[root]
    while node != _NONE:
        pair = node
        node = following[pair]
        if node != _NONE:
            other = node
            node = following[other]
            pair = _merge(pair, other, following, child, leaving)
        following[pair] = merged
        merged = pair
    if merged == _NONE:
        return _NONE
    node = following[merged]
    while node != _NONE:
        after = following[node]
        merged = _merge(merged, node, following, child, leaving)
        node = after
    return merged


@inlined
def leave(s, time, first, root, length, following, child, leaving, free):
    """Let the jobs of a server leave that have departed by a time."""
    while first[s] != _NONE and leaving[first[s]] <= time:
        gone = first[s]
        first[s] = following[gone]
        following[gone] = free[0]
        free[0] = gone
        length[s] -= 1
    while root[s] != _NONE and leaving[root[s]] <= time:
        gone = root[s]
        root[s] = _without_root(gone, following, child, leaving)
        following[gone] = free[0]
        free[0] = gone
        length[s] -= 1


@inlined
def join(s, departure, first, last, root, length, following, child, leaving, free):
    """Let a job join a server; there must be an unused node."""
    node = free[0]
    free[0] = following[node]
    following[node] = _NONE
    child[node] = _NONE
    leaving[node] = departure
    if first[s] == _NONE:
        first[s] = last[s] = node
    elif leaving[last[s]] <= departure:
        following[last[s]] = node
        last[s] = node
    elif root[s] == _NONE:
        root[s] = node
    else:
        root[s] = _merge(root[s], node, following, child, leaving)
    length[s] += 1


@kernel
def _follow(
    done, arrival, server, departure, recorded, travel_time,
    first, last, root, length, latest, following, child, leaving, free,
    counts, count, total, squares, met, start,
):  # fmt: skip
    """Follow jobs from number `done` on; return how many are done when the pool is full."""
    for i in range(done, len(arrival)):
        if free[0] == _NONE:
            return i
        s = server[i]
        landing = arrival[i] + travel_time
        leave(s, landing, first, root, length, following, child, leaving, free)
        met[i] = length[s]
        start[i] = max(landing, latest[s])
        if recorded[i]:
            waited = 1 if length[s] > 0 else 0
            counts[1] += waited
            if departure[i] < latest[s] - _ROUNDING * abs(latest[s]):
                counts[0] += 1
            service = departure[i] - start[i]
            count[s, waited] += 1.0
            total[s, waited] += service
            squares[s, waited] += service * service
        join(s, departure[i], first, last, root, length, following, child, leaving, free)
        latest[s] = max(latest[s], departure[i])
    return len(arrival)
