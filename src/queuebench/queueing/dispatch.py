"""The dispatch kernel: one pass over arrivals, no event heap.

Under first come, first served a job's departure is ``max(landing, previous departure) + service``, known
the moment it is dispatched. Each server keeps the departures of its latest jobs in a ring, oldest first,
and a queue length is the number of departures still ahead. Rings are brought up to date only for the
servers an arrival looks at, so the cost of an arrival does not grow with the number of servers.

Numbers of jobs and of servers are unsigned: numba need not ask whether an index counts from the end, a
question that costs more than the answer's use in a loop of this kind.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, kernel
from queuebench.queueing.information import FRESH, seen_time
from queuebench.queueing.policies.registry import build_chooser, registered

_ONE, _TWO, _HALF_A_WORD = np.uint64(1), np.uint64(2), np.uint64(32)
_WORD = 2.0**-32

_choose, _CODES = None, 0
"""Set by the first run, so that a plug-in's policies may come until then."""


class Rules(NamedTuple):
    """What does not change during a run: numbers for the kernel (index 0 control, 1 treatment)."""

    speeds: np.ndarray  # float64 (N,)
    policy: np.ndarray  # int64 (2,): codes
    parameters: tuple  # of two float64 arrays: of each arm's policy, in the order of declaration
    samples: np.ndarray  # int64 (2,): entries of the permutation each arm reads
    words: int  # random words an arrival takes
    pool_start: np.ndarray  # int64 (2,): where each arm's servers begin in `pool`
    pool_size: np.ndarray  # int64 (2,)
    pool: np.ndarray  # int32: each pool's servers in order
    split: bool  # whether the arms have their own servers
    travel_time: float
    information: int  # a code of `queuebench.queueing.information`
    age: float  # age or refresh period


class State(NamedTuple):
    """The queues at a moment; changed in place by the kernel."""

    departure: np.ndarray  # float64 (N, capacity): rings of departure times, inf after the last
    landing: np.ndarray  # float64 (N, capacity), or (N, 1) when nobody looks at it; the same
    first: np.ndarray  # uint64 (N,): first job not yet departed
    first_seen: np.ndarray  # uint64 (N,): first job not departed as the dispatcher sees it
    landed: np.ndarray  # uint64 (N,): jobs landed
    landed_seen: np.ndarray  # uint64 (N,): jobs landed as the dispatcher sees it
    joined: np.ndarray  # uint64 (N,): jobs dispatched to the server
    free: np.ndarray  # float64 (N,): when the server's last job departs
    seen: np.ndarray  # int32 (N,): length the dispatcher sees, valid for sampled servers only
    permutation: np.ndarray  # uint32: the pools, shuffled further by every arrival
    routed: np.ndarray  # int64 (2,): jobs routed by each arm


class Output(NamedTuple):
    """What the kernel writes, one entry per arrival."""

    departure: np.ndarray  # float64
    response_time: np.ndarray  # float64
    server: np.ndarray  # int32
    queue_length: np.ndarray  # int32
    server_if: tuple  # of two int32 arrays, control's choice and treatment's
    queue_if: tuple  # of two int32 arrays
    seen_if: tuple  # of two int32 arrays


def new_state(rules, capacity=8):
    """Return the empty system at the start of a run.

    Parameters
    ----------
    rules : Rules
    capacity : int
        Entries of a ring at first, a power of two and one more than the jobs it holds; `grow`
        doubles it.
    """
    servers = len(rules.speeds)
    lagged = rules.information != FRESH or rules.travel_time > 0.0
    return State(
        departure=np.full((servers, capacity), np.inf),
        landing=np.full((servers, capacity if lagged else 1), np.inf),
        first=np.zeros(servers, np.uint64),
        first_seen=np.zeros(servers, np.uint64),
        landed=np.zeros(servers, np.uint64),
        landed_seen=np.zeros(servers, np.uint64),
        joined=np.zeros(servers, np.uint64),
        free=np.full(servers, -np.inf),
        seen=np.zeros(servers, np.int32),
        permutation=rules.pool.astype(np.uint32),
        routed=np.zeros(2, np.int64),
    )


def grow(state):
    """Return the same state with rings of twice the capacity."""
    capacity = state.departure.shape[1]
    lagged = state.landing.shape[1] == capacity
    jobs = np.arange(capacity, dtype=np.uint64)

    def doubled(ring):
        if ring.shape[1] < capacity:  # the landings nobody looks at
            return ring
        wider = np.full((len(ring), 2 * capacity), np.inf)
        oldest = np.minimum(state.first, state.first_seen) if lagged else state.first
        oldest = oldest[:, None] + jobs
        rows = np.arange(len(ring))[:, None]
        slot, wider_slot = (oldest % np.uint64(length) for length in (capacity, 2 * capacity))
        wider[rows, wider_slot] = ring[rows, slot]
        return wider

    return state._replace(departure=doubled(state.departure), landing=doubled(state.landing))


def dispatch(begin, arrival, requirement, treated, words, rules, state, out):
    """Dispatch arrivals one by one.

    Parameters
    ----------
    begin : int
        First arrival to dispatch.
    arrival : ndarray of float64, shape (n,)
        Increasing times, in mean service times.
    requirement : ndarray of float64, shape (n,)
        Service requirements.
    treated : ndarray of uint8, shape (n,)
        Arms, 0 control and 1 treatment.
    words : ndarray of uint32, shape (n, m)
        Random words: the first shuffle the permutation, the last is the policies' own random number;
        ``m`` at least ``rules.words`` and 1.
    rules : Rules
    state : State
        Changed in place.
    out : Output
        Written in place.

    Returns
    -------
    done : int
        The number of arrivals dispatched so far.
    full : bool
        Whether a ring is full, so that `grow` must be called before going on from there.

    Raises
    ------
    ValueError
        If no policy has a code of the rules, when nothing is dispatched, or a rule returns no server.
    """
    return _declared()(begin, arrival, requirement, treated, words, rules, state, out)


@cache
def _declared():
    """Return the kernel of the policies that are registered by now."""
    global _choose, _CODES  # numba reads globals when it compiles.
    _choose, _CODES = build_chooser()
    return kernel(_dispatch, also=registered())


def _dispatch(begin, arrival, requirement, treated, words, rules, state, out):
    for code in rules.policy:
        if not 0 <= code < _CODES:
            raise ValueError("no dispatch policy has the code that the rules give")
    # The loop is compiled once for each case, without the questions whose answer is known.
    lagged = rules.information != FRESH or rules.travel_time > 0.0
    if rules.split and lagged:
        return _run(begin, arrival, requirement, treated, words, rules, state, out, True, True)
    if rules.split:
        return _run(begin, arrival, requirement, treated, words, rules, state, out, True, False)
    if lagged:
        return _run(begin, arrival, requirement, treated, words, rules, state, out, False, True)
    return _run(begin, arrival, requirement, treated, words, rules, state, out, False, False)


@inlined
def _run(begin, arrival, requirement, treated, words, rules, state, out, split, lagged):
    # Arrays are taken out of their tuples once: inside the loop numba would count references to
    # every array of a tuple at every call it is passed to.
    speeds, pool, information, age, travel_time = (
        rules.speeds, rules.pool, rules.information, rules.age, rules.travel_time
    )  # fmt: skip
    departures, landings, first, first_seen, landed, landed_seen, joined, free, seen, permutation = (
        state.departure, state.landing, state.first, state.first_seen, state.landed,
        state.landed_seen, state.joined, state.free, state.seen, state.permutation
    )  # fmt: skip
    chosen_server, queue_length, departed, response_time = (
        out.server, out.queue_length, out.departure, out.response_time
    )  # fmt: skip
    (server_if_0, server_if_1), (queue_if_0, queue_if_1) = out.server_if, out.queue_if
    seen_if_0, seen_if_1 = out.seen_if
    unequal = _any_differs(speeds, 1.0)
    travelling = travel_time > 0.0
    mask = np.uint64(departures.shape[1] - 1)
    policy_0, policy_1 = rules.policy[0], rules.policy[1]
    parameters_0, parameters_1 = rules.parameters
    start_0, start_1 = rules.pool_start[0], rules.pool_start[1]
    size_0, size_1 = rules.pool_size[0], rules.pool_size[1]
    samples_0, samples_1 = rules.samples[0], rules.samples[1]
    routed_0, routed_1 = state.routed[0], state.routed[1]
    start, size, samples = 0, size_0, max(samples_0, samples_1)
    servers = np.uint32(len(speeds))
    n = np.uint64(len(arrival))
    done, full = n, False
    for j in range(np.uint64(begin), n):
        t = arrival[j]
        arm = np.int64(treated[j])
        if split:
            start = start_1 if arm else start_0
            size = size_1 if arm else size_0
            samples = samples_1 if arm else samples_0
        viewed = seen_time(t, information, age) if lagged else t
        # The first entries of a Fisher-Yates shuffle: shuffling what the last arrival left behind
        # keeps every permutation equally likely and costs only the entries that are read.
        for i in range(samples):
            here = np.uint64(start + i)
            word = np.uint64(words[j, np.uint64(i)])
            other = here + ((word * np.uint64(size - i)) >> _HALF_A_WORD)
            s = permutation[other]
            permutation[other] = permutation[here]
            permutation[here] = s
            seen[s] = _look(
                lagged,
                s,
                viewed,
                mask,
                departures,
                landings,
                first,
                first_seen,
                landed_seen,
                joined,
            )
        uniform = np.float64(words[j, words.shape[1] - 1]) * _WORD
        if split:
            # A branch, though a coin decides it: inside, the number of samples can be predicted.
            if arm:
                s = np.uint32(
                    _choose(
                        policy_1, permutation, start, size, parameters_1, seen, speeds, routed_1,
                        pool, uniform,
                    )
                )  # fmt: skip
            else:
                s = np.uint32(
                    _choose(
                        policy_0, permutation, start, size, parameters_0, seen, speeds, routed_0,
                        pool, uniform,
                    )
                )  # fmt: skip
            _check_server(s, servers)
            if samples == 0:
                seen[s] = _look(
                    lagged, s, viewed, mask, departures, landings, first, first_seen, landed_seen,
                    joined,
                )  # fmt: skip
        else:
            control = np.uint32(
                _choose(
                    policy_0, permutation, start, size, parameters_0, seen, speeds, routed_0,
                    pool, uniform,
                )
            )  # fmt: skip
            treatment = np.uint32(
                _choose(
                    policy_1, permutation, start, size, parameters_1, seen, speeds, routed_1,
                    pool, uniform,
                )
            )  # fmt: skip
            _check_server(max(control, treatment), servers)
            if samples_0 == 0:
                seen[control] = _look(
                    lagged, control, viewed, mask, departures, landings, first, first_seen,
                    landed_seen, joined,
                )  # fmt: skip
            if samples_1 == 0:
                seen[treatment] = _look(
                    lagged, treatment, viewed, mask, departures, landings, first, first_seen,
                    landed_seen, joined,
                )  # fmt: skip
            server_if_0[j] = control
            server_if_1[j] = treatment
            if lagged:
                seen_if_0[j] = seen[control]
                seen_if_1[j] = seen[treatment]
            if travelling:
                queue_if_0[j] = _landed_length(
                    control, t, mask, departures, landings, first, landed
                )
                queue_if_1[j] = _landed_length(
                    treatment, t, mask, departures, landings, first, landed
                )
            elif lagged:
                queue_if_0[j] = _length(control, t, mask, departures, first, joined)
                queue_if_1[j] = _length(treatment, t, mask, departures, first, joined)
            else:
                queue_if_0[j] = seen[control]
                queue_if_1[j] = seen[treatment]
            s = treatment if arm else control
        routed_0 += 1 - arm
        routed_1 += arm
        length = _length(s, t, mask, departures, first, joined) if lagged else seen[s]
        position = joined[s]
        oldest = first[s]
        landing = t
        if lagged:
            if travelling:
                landing = t + travel_time
                # Jobs that depart between dispatch and landing do not count, but they must stay in
                # the ring for the arrivals in between.
                length = np.int32(position - _passed(departures, s, oldest, landing, mask))
            landings[s, position & mask] = landing
            landings[s, (position + _ONE) & mask] = np.inf
            oldest = min(oldest, first_seen[s])
        work = requirement[j] / speeds[s] if unequal else requirement[j]
        departure = max(landing, free[s]) + work
        departures[s, position & mask] = departure
        departures[s, (position + _ONE) & mask] = np.inf
        free[s] = departure
        joined[s] = position + _ONE
        chosen_server[j] = s
        queue_length[j] = length
        departed[j] = departure
        response_time[j] = departure - t
        if position + _TWO - oldest > mask:
            done, full = j + _ONE, True
            break
    state.routed[0] = routed_0
    state.routed[1] = routed_1
    return np.int64(done), full


@inlined
def _check_server(s, servers):
    """Refuse what a rule from outside may return by mistake; the memory beyond the queues is not ours."""
    if s >= servers:
        raise ValueError("a dispatch policy's rule returned a server that does not exist")


@inlined
def _any_differs(values, common):
    different = False
    for value in values:
        different = different or value != common
    return different


@inlined
def _passed(ring, s, job, time, mask):
    """Return the first job of a server, from one on, that its ring puts after a time.

    Whether none, one or two jobs have passed since the last look cannot be predicted, so two are
    looked at without a branch. The entry after the last job is infinite.
    """
    one = ring[s, job & mask] <= time
    two = one & (ring[s, (job + _ONE) & mask] <= time)
    job += np.uint64(one) + np.uint64(two)
    if two:
        while ring[s, job & mask] <= time:
            job += _ONE
    return job


@inlined
def _length(s, t, mask, departures, first, joined):
    """Return the number of jobs at a server at time t, dropping those that have departed."""
    oldest = _passed(departures, s, first[s], t, mask)
    first[s] = oldest
    return np.int32(joined[s] - oldest)


@inlined
def _landed_length(s, t, mask, departures, landings, first, landed):
    """Return the number of jobs that have landed at a server and not departed at time t."""
    oldest = _passed(departures, s, first[s], t, mask)
    arrived = _passed(landings, s, max(landed[s], oldest), t, mask)
    first[s] = oldest
    landed[s] = arrived
    return np.int32(arrived - oldest)


@inlined
def _look(
    lagged, s, viewed, mask, departures, landings, first, first_seen, landed_seen, joined
):  # fmt: skip
    """Return the length of a server as the dispatcher sees it, at a time that never falls."""
    if lagged:
        arrived = _passed(landings, s, landed_seen[s], viewed, mask)
        oldest = _passed(departures, s, first_seen[s], viewed, mask)
        landed_seen[s] = arrived
        first_seen[s] = oldest
        length = np.int32(arrived - oldest)
    else:
        length = _length(s, viewed, mask, departures, first, joined)
    return length
