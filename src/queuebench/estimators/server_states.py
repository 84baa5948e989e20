"""The state of every server rebuilt from a record: its jobs, since when it serves, and what is seen of it.

Queues are followed in the order of time as in `queuebench.estimators.occupancy`, once as they are and once
as the dispatcher sees them: landed jobs only, and as long ago as its information is old.
"""

import numpy as np

from queuebench.arrow import as_numpy
from queuebench.estimators.occupancy import carried, pop, push, with_room
from queuebench.jit import kernel


class ServerStates:
    """Follows the servers of a record chunk by chunk.

    Parameters
    ----------
    carry : pyarrow.StructArray
        Jobs in the system when the record starts, see `queuebench.trace.Replicate`.
    structure : queuebench.queueing.structure.Structure
        Its number of servers, travel time, information and age are used.
    """

    def __init__(self, carry, structure):
        self._structure = structure
        servers = len(structure.speeds)
        self._now = _Queues(carry, servers, 0.0)
        if len(carry):
            # Later jobs of a server start later, so the smallest start is that of the job in service.
            number, start = (as_numpy(carry.field(name)) for name in ("server", "start"))
            self._now.since[number] = np.inf
            np.minimum.at(self._now.since, number, start)
        self.lagging = structure.travel_time > 0.0 or structure.age > 0.0
        """Whether the dispatcher sees anything else than the jobs that are there."""
        self._seen = _Queues(carry, servers, structure.travel_time)

    def fill(self, arrival, server, response, length, since, seen):
        """Fill in the states just before each of the next arrivals.

        Parameters
        ----------
        arrival, server, response : ndarray, shape (m,)
            Columns of the trace.
        length : ndarray of int64, shape (m, N)
            Jobs dispatched to each server and not completed; one that departs at the moment of an
            arrival has left.
        since : ndarray of float64, shape (m, N)
            When the service in progress began, if there is one.
        seen : ndarray of int64, shape (m, N)
            Length as the dispatcher sees it. Not written if it sees the jobs that are there.
        """
        self._now.fill(arrival, arrival, server, response, length, since)
        if self.lagging:
            view = self._structure.view(arrival)
            self._seen.fill(view, arrival, server, response, seen, np.empty((len(seen), 0)))


class _Queues:
    """Queues to which a job belongs from its dispatch, or later, to its departure."""

    def __init__(self, carry, servers, travel_time):
        self._travel_time = travel_time
        self._length = np.zeros(servers, np.int64)
        self.since = np.full(servers, -np.inf)
        self._heap = np.empty(0), np.empty(0, np.int64)
        self._size = 0
        self._pending = carried(carry, travel_time)

    def fill(self, view, arrival, server, response, length, since):
        waiting = len(self._pending[0])
        own = server.astype(np.int64), arrival + self._travel_time, arrival + response
        queue = tuple(np.concatenate(parts) for parts in zip(self._pending, own, strict=True))
        self._heap = with_room(self._heap, self._size + len(queue[0]))
        # A copy, as the times of a trace may not be written to and those of a view may: one kernel for both.
        head, self._size = _follow(
            np.array(view),
            waiting,
            *queue,
            self._length,
            self.since,
            *self._heap,
            self._size,
            length,
            since,
        )
        self._pending = tuple(part[head:].copy() for part in queue)


@kernel
def _follow(
    view, waiting, server, landing, departure, length, since, heap_time, heap_server, size,
    out_length, out_since,
):  # fmt: skip
    """Write the queues at every time of `view`; return the next landing and the heap's size."""
    head = 0
    for i in range(len(view)):
        t = view[i]
        while head < waiting + i and landing[head] <= t:
            size = _depart_until(landing[head], length, since, heap_time, heap_server, size)
            s = server[head]
            if length[s] == 0:
                since[s] = max(since[s], landing[head])
            length[s] += 1
            size = push(departure[head], s, heap_time, heap_server, size)
            head += 1
        size = _depart_until(t, length, since, heap_time, heap_server, size)
        for s in range(len(length)):
            out_length[i, s] = length[s]
        for s in range(out_since.shape[1]):
            out_since[i, s] = since[s]
    return head, size


@kernel
def _depart_until(t, length, since, heap_time, heap_server, size):
    while size > 0 and heap_time[0] <= t:
        s = heap_server[0]
        length[s] -= 1
        since[s] = heap_time[0]
        size = pop(heap_time, heap_server, size)
    return size
