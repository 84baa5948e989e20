"""Occupancy rebuilt from a record: how many servers have exactly k jobs when each job arrives.

Landings and departures are replayed in the order of time, landings from a queue (they happen in the order
of dispatch) and departures from a heap, so an arrival costs the logarithm of the number in system and
the number of servers does not matter.
"""

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import inlined, kernel


class Occupancy:
    """Follows the queues of a record chunk by chunk.

    Parameters
    ----------
    carry : pyarrow.StructArray
        Jobs in the system when the record starts, see `queuebench.trace.Replicate`.
    travel_time : float
        From dispatch to the server.
    groups : ndarray of int, shape (N,)
        Group of every server; groups are counted apart.
    weights : ndarray of float64, shape (N,)
        What a server counts for.
    levels : int
        Lengths ``0 .. levels - 1`` are told apart; longer queues are not counted.
    """

    def __init__(self, carry, travel_time, groups, weights, levels):
        self._travel_time = travel_time
        self._groups = np.asarray(groups, np.int64)
        self._weights = np.asarray(weights, float)
        self._length = np.zeros(len(groups), np.int64)
        self._now = np.zeros((self._groups.max() + 1, levels))
        np.add.at(self._now[:, 0], self._groups, self._weights)
        self._heap = np.empty(0), np.empty(0, np.int64)
        self._size = 0
        self._pending = carried(carry, travel_time)

    def fill(self, arrival, server, response, out):
        """Fill in the occupancy just before each of the next arrivals.

        Parameters
        ----------
        arrival, server, response : ndarray, shape (m,)
            Columns of the trace.
        out : ndarray of float64, shape (m, groups, levels)
            Weight of the servers of each group with exactly as many jobs, landed and not departed; a
            job that departs at the moment of an arrival has left.
        """
        waiting = len(self._pending[0])
        queue = tuple(
            np.concatenate(parts)
            for parts in zip(
                self._pending,
                (server.astype(np.int64), arrival + self._travel_time, arrival + response),
                strict=True,
            )
        )
        self._heap = with_room(self._heap, self._size + len(queue[0]))
        head, self._size = _follow(
            arrival, waiting, *queue, self._groups, self._weights, self._length, self._now,
            *self._heap, self._size, out,
        )  # fmt: skip
        self._pending = tuple(part[head:].copy() for part in queue)


def carried(carry, travel_time):
    """Return servers, landings and departures of the jobs carried in, by landing."""
    if not len(carry):
        return np.empty(0, np.int64), np.empty(0), np.empty(0)
    servers, arrivals, departures = (
        as_numpy(carry.field(name)) for name in ("server", "arrival", "departure")
    )
    order = np.argsort(arrivals, kind="stable")
    return servers[order].astype(np.int64), arrivals[order] + travel_time, departures[order]


def with_room(heap, jobs):
    """Return the arrays of a heap with room for a number of jobs."""
    missing = jobs - len(heap[0])
    if missing <= 0:
        return heap
    return tuple(np.concatenate([part, np.zeros(missing, part.dtype)]) for part in heap)


@kernel
def _follow(
    arrival, waiting, server, landing, departure, groups, weights, length, now, heap_time,
    heap_server, size, out,
):  # fmt: skip
    """Write the occupancy at every arrival; return the next landing and the heap's size."""
    levels = now.shape[1]
    head = 0
    for i in range(len(arrival)):
        t = arrival[i]
        while head < waiting + i and landing[head] <= t:
            size = _depart_until(
                landing[head], groups, weights, length, now, heap_time, heap_server, size
            )
            _move(server[head], 1, groups, weights, length, now)
            size = push(departure[head], server[head], heap_time, heap_server, size)
            head += 1
        size = _depart_until(t, groups, weights, length, now, heap_time, heap_server, size)
        for g in range(len(now)):
            for k in range(levels):
                out[i, g, k] = now[g, k]
    return head, size


@kernel
def _depart_until(t, groups, weights, length, now, heap_time, heap_server, size):
    while size > 0 and heap_time[0] <= t:
        _move(heap_server[0], -1, groups, weights, length, now)
        size = pop(heap_time, heap_server, size)
    return size


@inlined
def _move(s, step, groups, weights, length, now):
    before = length[s]
    length[s] = before + step
    if before < now.shape[1]:
        now[groups[s], before] -= weights[s]
    if before + step < now.shape[1]:
        now[groups[s], before + step] += weights[s]


@inlined
def push(time, s, heap_time, heap_server, size):
    """Put a departure into the binary heap; return its new size."""
    at = size
    while at > 0 and heap_time[(at - 1) >> 1] > time:
        heap_time[at] = heap_time[(at - 1) >> 1]
        heap_server[at] = heap_server[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap_time[at] = time
    heap_server[at] = s
    return size + 1


@inlined
def pop(heap_time, heap_server, size):
    """Remove the earliest departure from the binary heap; return its new size."""
    size -= 1
    time, s = heap_time[size], heap_server[size]
    at = 0
    child = 1
    while child < size:
        if child + 1 < size and heap_time[child + 1] < heap_time[child]:
            child += 1
        if heap_time[child] >= time:
            break
        heap_time[at] = heap_time[child]
        heap_server[at] = heap_server[child]
        at = child
        child = 2 * at + 1
    heap_time[at] = time
    heap_server[at] = s
    return size
