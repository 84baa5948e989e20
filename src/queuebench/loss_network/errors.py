"""Admission errors of a policy, judged by the promise of future idleness on its own path.

Type I: an ``L`` job refused by choice although the promise holds. Type II: one accepted although it
does not, so that a future ``H`` job is pre-empted. A refusal with no server idle is no choice: a
third class. PFI has neither error; less lookahead trades one for the other.
"""

from typing import NamedTuple

from queuebench.base.jit import njit
from queuebench.loss_network.events import LOW


class AdmissionErrors(NamedTuple):
    """Counts over a part of a path."""

    low_arrivals: int
    type_1: int
    type_2: int
    forced_refusals: int


def admission_errors(network, events, path, promise, start, stop) -> AdmissionErrors:
    """Count a policy's admission errors between two events.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    path : Path
    promise : ndarray of int32, shape (n,)
        From `promise_bounds`.
    start, stop : int
        The events ``start <= e < stop`` are counted.
    """
    counts = _count_errors(
        events.kind, path.busy, path.taken, promise, network.servers, start, stop
    )
    return AdmissionErrors(*counts)


@njit
def _count_errors(kind, busy, taken, promise, servers, start, stop):
    arrivals = 0
    type_1 = 0
    type_2 = 0
    forced = 0
    for e in range(start, stop):
        low = kind[e] == LOW
        holds = busy[e] < promise[e]
        arrivals += low
        type_1 += low & holds & (not taken[e])
        type_2 += low & (not holds) & taken[e]
        forced += low & (busy[e] == servers)
    return arrivals, type_1, type_2, forced
