"""Queues rebuilt from a record: the requirements of its jobs, and the state it starts in.

Under first come, first served a job is served from ``max(landing, previous departure at its server)`` to its
own departure, so a record of landings, servers and departures holds every requirement: that time multiplied
by the server's speed (Lindley's recursion read backwards).
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.queueing.dispatch import dispatch, grow, new_state


class Rebuilder:
    """Rebuilds the requirements of a record's jobs, chunk by chunk.

    Parameters
    ----------
    structure : queuebench.queueing.structure.Structure
    carried : tuple of two ndarray
        Servers and departures of the jobs that are in the system when the record starts.
    """

    def __init__(self, structure, carried):
        self._structure = structure
        self._free = np.full(len(structure.speeds), -np.inf)
        np.maximum.at(self._free, *carried)
        self.impossible = 0
        """Jobs that departed before they could have been served."""

    def rebuild(self, arrival, server, response, out):
        """Fill in the requirements of the next arrivals; zero for impossible ones.

        Parameters
        ----------
        arrival, server, response : ndarray, shape (m,)
            Columns of the trace.
        out : ndarray of float64, shape (m,)
            Written in place, in units of the mean service time at speed 1.
        """
        structure = self._structure
        self.impossible += _rebuild(
            arrival, server, response, structure.travel_time, structure.speeds, self._free, out
        )


# Departures are sums of times of the size of the record, and rounded like those.
_ROUNDING = 1e-12


@kernel
def _rebuild(arrival, server, response, travel_time, speeds, free, out):
    impossible = 0
    for i in range(len(arrival)):
        s = server[i]
        departure = arrival[i] + response[i]
        service = departure - max(arrival[i] + travel_time, free[s])
        if service < -_ROUNDING * (1.0 + abs(departure)):
            impossible += 1
        out[i] = max(service, 0.0) * speeds[s]
        free[s] = max(free[s], departure)
    return impossible


def carried_state(rules, structure, servers, arrivals, departures):
    """Return the state of the queues when a record starts.

    Parameters
    ----------
    rules : queuebench.queueing.dispatch.Rules
    structure : queuebench.queueing.structure.Structure
    servers, arrivals, departures : ndarray, shape (jobs,)
        Of the jobs in the system; they keep the departures they have in the record.

    Returns
    -------
    queuebench.queueing.dispatch.State
    """
    longest = int(np.bincount(servers).max()) if len(servers) else 0
    capacity = max(8, 1 << (longest + 1).bit_length())
    state = new_state(rules, capacity)
    lagged = state.landing.shape[1] == capacity
    for job in np.argsort(departures, kind="stable"):
        s = servers[job]
        position = state.joined[s]
        state.departure[s, position] = departures[job]
        if lagged:
            state.landing[s, position] = arrivals[job] + structure.travel_time
        state.joined[s] += 1
        state.free[s] = departures[job]
    return state


def dispatch_all(arrival, requirement, treated, words, rules, state, out):
    """Dispatch a chunk of arrivals, with rings growing as they must; return the state after it."""
    done = 0
    while done < len(arrival):
        done, full = dispatch(done, arrival, requirement, treated, words, rules, state, out)
        if full:
            state = grow(state)
    return state
