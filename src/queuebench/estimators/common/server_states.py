"""The state of every server rebuilt from a record: its jobs, since when it serves, and what is seen of it.

Queues are followed in the order of time as in `queuebench.estimators.common.occupancy`: those of the jobs
dispatched; where jobs travel, those of the jobs that have landed, for only they are served; and what the
dispatcher sees, landed jobs as long ago as its information is old.

Assumptions: first come, first served, so that a service begins at the job's landing or at the server's
previous departure, whichever is later.
"""

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import kernel
from queuebench.estimators.common.occupancy import carried, pop, push, with_room


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
        servers, travel_time = len(structure.speeds), structure.travel_time
        self._dispatched = _Queues(carry, servers, 0.0)
        self._landed = _Queues(carry, servers, travel_time) if travel_time > 0.0 else None
        self._seen = _Queues(carry, servers, travel_time) if structure.age > 0.0 else None
        if len(carry):
            # Later jobs of a server start later, so the smallest start is that of the job in service.
            number, start = (as_numpy(carry.field(name)) for name in ("server", "start"))
            served = self._landed or self._dispatched
            served.since[number] = np.inf
            np.minimum.at(served.since, number, start)
        self.lagging = travel_time > 0.0 or structure.age > 0.0
        """Whether the dispatcher sees anything else than the jobs that are there."""

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
            When the service in progress began; the time of the arrival itself at a server that has none,
            being idle or having no job but on the way.
        seen : ndarray of int64, shape (m, N)
            Length as the dispatcher sees it. Not written if it sees the jobs that are there.
        """
        jobs = arrival, server, response
        unused = np.empty((len(arrival), 0))
        if self._landed is None:
            self._dispatched.fill(arrival, *jobs, length, since)
        else:
            self._dispatched.fill(arrival, *jobs, length, unused)
            # With fresh information landed jobs are what is seen; else `seen` is overwritten.
            self._landed.fill(arrival, *jobs, seen, since)
        if self._seen is not None:
            self._seen.fill(self._structure.view(arrival), *jobs, seen, unused)


class _Queues:
    """Queues to which a job belongs from its dispatch, or its landing, to its departure."""

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
            out_since[i, s] = since[s] if length[s] > 0 else t
    return head, size


@kernel
def _depart_until(t, length, since, heap_time, heap_server, size):
    while size > 0 and heap_time[0] <= t:
        s = heap_server[0]
        length[s] -= 1
        since[s] = heap_time[0]
        size = pop(heap_time, heap_server, size)
    return size
