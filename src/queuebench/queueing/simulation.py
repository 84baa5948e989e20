"""One run of the system, block by block: draws, dispatch, counting, and what is recorded of it."""

import math
from dataclasses import dataclass

import numpy as np

from queuebench.queueing.dispatch import Output, dispatch, grow, new_state
from queuebench.queueing.in_system import InSystemCounter
from queuebench.queueing.service import draw_requirements
from queuebench.queueing.system import dispatch_rules

BLOCK = 32_768
"""Arrivals per block: small enough for the processor's second cache, large enough that a call to
the kernel costs nothing per arrival. Changes no number."""


@dataclass(frozen=True)
class Block:
    """Consecutive recorded arrivals; views into buffers that the next block overwrites."""

    arrival_time: np.ndarray
    treated: np.ndarray
    server: np.ndarray
    queue_length: np.ndarray
    in_system: np.ndarray
    response_time: np.ndarray
    departure: np.ndarray
    server_if: tuple
    queue_if: tuple
    seen_if: tuple


class Workspace:
    """Buffers of a run, for the next run to use again: the pages of new ones would not be free."""

    def __init__(self):
        self._size = 0
        self.counter = InSystemCounter()

    def arrays(self, size):
        """Return arrays of a size: arrival, requirement, treated, `Output`, in_system."""
        if self._size < size:
            self._size = size
            self._arrays = (
                np.empty(size),
                np.empty(size),
                np.empty(size, np.uint8),
                Output(
                    np.empty(size),
                    np.empty(size),
                    *(np.empty(size, np.int32) for _ in range(2)),
                    *((np.zeros(size, np.int32), np.zeros(size, np.int32)) for _ in range(3)),
                ),
                np.zeros(size, np.int32),
            )
        arrival, requirement, treated, out, in_system = self._arrays
        if len(arrival) == size:
            return self._arrays
        cut = Output(*(_cut(array, 0, size) for array in out))
        return arrival[:size], requirement[:size], treated[:size], cut, in_system[:size]


class Run:
    """One simulated run, from an empty system through the warm-up to the end of the record.

    Parameters
    ----------
    system : queuebench.queueing.system.System
    design : object
        From `queuebench.queueing.designs.build_design`.
    streams : Callable
        ``streams(purpose)`` gives a random generator; the purposes are arrivals, service, routing.
    warmup : float
        Mean service times before the record, which starts at time 0.
    count_in_system : bool
        Whether the number in system is wanted.
    words_per_arrival : int or None
        Random words drawn per arrival; by default as many as the policies read. Runs on common
        random numbers must agree on it.
    workspace : Workspace, optional
        Of an earlier run that is over.

    Attributes
    ----------
    design : object
    carry : tuple of ndarray
        ``(server, arrival, start, departure)`` of the jobs present when the record starts.
    """

    def __init__(
        self,
        system,
        design,
        streams,
        warmup,
        *,
        count_in_system=True,
        words_per_arrival=None,
        workspace=None,
    ):
        self._system = system
        self.design = design
        self._rules = dispatch_rules(system.structure, design.pools)
        self._state = new_state(self._rules)
        self._arrivals = system.arrivals(streams("arrivals"), -warmup)
        self._service = streams("service")
        self._routing = streams("routing")
        self._words = (words_per_arrival or max(1, self._rules.words)) + 1 >> 1
        self._count_in_system = count_in_system
        self._now = -warmup
        self._workspace = workspace or Workspace()
        self._workspace.counter.restart()
        self.carry = (np.empty(0, np.int32), *(np.empty(0) for _ in range(3)))

    def blocks(self, *, arrivals=None, duration=None):
        """Yield the record block by block.

        Parameters
        ----------
        arrivals : int, optional
            Length of the record in arrivals.
        duration : float, optional
            Length of the record in mean service times, instead.

        Yields
        ------
        Block
            Valid until the next one is asked for; together they are the record.
        """
        recorded = 0
        while True:
            remaining = self._expected_remaining(arrivals, duration, recorded)
            if remaining <= 0:
                return
            block = self._next_block(min(BLOCK, 2 * math.ceil(remaining / 2)))
            begin = int(np.searchsorted(block.arrival_time, 0.0)) if not recorded else 0
            if begin:
                self._remember_unfinished(block, begin)
            end = len(block.arrival_time)
            if arrivals is not None:
                end = min(end, begin + arrivals - recorded)
            elif block.arrival_time[-1] > duration:
                end = int(np.searchsorted(block.arrival_time, duration, side="right"))
            if end > begin:
                recorded += end - begin
                yield _slice(block, begin, end)

    def _expected_remaining(self, arrivals, duration, recorded):
        warming = max(0.0, -self._now) * self._system.rate
        if arrivals is not None:
            return warming + arrivals - recorded
        if self._now > duration:
            return 0
        return warming + (duration - max(0.0, self._now)) * self._system.rate + 1

    def _next_block(self, size):
        arrival, requirement, treated, out, in_system = self._workspace.arrays(size)
        self._arrivals.fill(arrival)
        system = self._system
        if system.recorded:
            self._arrivals.fill_requirements(requirement)
        else:
            draw_requirements(
                self._service, system.distribution, system.service_parameters, requirement
            )
        self.design.assign(arrival, treated)
        raw = self._routing.bit_generator.random_raw(size * self._words)
        words = raw.view(np.uint32).reshape(size, -1)
        done = 0
        while done < size:
            done, full = dispatch(
                done, arrival, requirement, treated, words, self._rules, self._state, out
            )
            if full:
                self._state = grow(self._state)
        if self._count_in_system:
            self._workspace.counter.count(arrival, out.departure, in_system)
        self._now = arrival[-1]
        self._requirement = requirement
        return Block(
            arrival, treated, out.server, out.queue_length, in_system, out.response_time,
            out.departure, out.server_if, out.queue_if, out.seen_if,
        )  # fmt: skip

    def _remember_unfinished(self, block, begin):
        """Keep the jobs that arrived before the record and are still there when it starts."""
        staying = np.flatnonzero(block.departure[:begin] > 0.0)
        server, departure = block.server[staying], block.departure[staying]
        start = departure - self._requirement[staying] / self._system.speeds[server]
        jobs = (server, block.arrival_time[staying], start, departure)
        self.carry = tuple(
            np.concatenate([earlier, column])
            for earlier, column in zip(self.carry, jobs, strict=True)
        )


def _slice(block, begin, end):
    if begin == 0 and end == len(block.arrival_time):
        return block
    return Block(**{name: _cut(array, begin, end) for name, array in vars(block).items()})


def _cut(array, begin, end):
    """Return a part of an array, or of each of the two arrays of a pair."""
    if isinstance(array, tuple):
        return tuple(part[begin:end] for part in array)
    return array[begin:end]
