"""The dispatch kernel: one pass over arrivals, no event heap.

Under first come, first served a job's departure is ``max(landing, previous departure) + service``, known
the moment it is dispatched. Each server keeps the departures of its latest jobs in a ring, oldest first,
and a queue length is the number of departures still ahead. Rings are brought up to date only for the
servers an arrival looks at, so the cost of an arrival does not grow with the number of servers.
"""

from typing import NamedTuple

import numpy as np

from queuebench.jit import inlined, kernel
from queuebench.queueing.policies import choose

FRESH, CONSTANT_AGE, BULLETIN_BOARD = 0, 1, 2


class Rules(NamedTuple):
    """What does not change during a run: numbers for the kernel (index 0 control, 1 treatment)."""

    speeds: np.ndarray  # float64 (N,)
    policy: np.ndarray  # int64 (2,): codes
    d: np.ndarray  # int64 (2,)
    samples: np.ndarray  # int64 (2,): entries of the permutation each arm reads
    pool_start: np.ndarray  # int64 (2,): where each arm's servers begin in `pool`
    pool_size: np.ndarray  # int64 (2,)
    pool: np.ndarray  # int32: each pool's servers in order
    split: bool  # whether the arms have their own servers
    travel_time: float
    information: int  # FRESH, CONSTANT_AGE or BULLETIN_BOARD
    age: float  # age or refresh period


class State(NamedTuple):
    """The queues at a moment; changed in place by the kernel."""

    departure: np.ndarray  # float64 (N, capacity): rings of departure times
    landing: np.ndarray  # float64 (N, capacity), or (N, 1) when nobody looks at it
    first: np.ndarray  # int64 (N,): first job not yet departed
    first_seen: np.ndarray  # int64 (N,): first job not departed as the dispatcher sees it
    landed: np.ndarray  # int64 (N,): jobs landed
    landed_seen: np.ndarray  # int64 (N,): jobs landed as the dispatcher sees it
    joined: np.ndarray  # int64 (N,): jobs dispatched to the server
    free: np.ndarray  # float64 (N,): when the server's last job departs
    seen: np.ndarray  # int32 (N,): length the dispatcher sees, valid for sampled servers only
    permutation: np.ndarray  # int32: the pools, shuffled further by every arrival
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
        Jobs a ring can hold at first, a power of two; `grow` doubles it.
    """
    servers = len(rules.speeds)
    lagged = rules.information != FRESH or rules.travel_time > 0.0
    return State(
        departure=np.zeros((servers, capacity)),
        landing=np.zeros((servers, capacity if lagged else 1)),
        first=np.zeros(servers, np.int64),
        first_seen=np.zeros(servers, np.int64),
        landed=np.zeros(servers, np.int64),
        landed_seen=np.zeros(servers, np.int64),
        joined=np.zeros(servers, np.int64),
        free=np.full(servers, -np.inf),
        seen=np.zeros(servers, np.int32),
        permutation=rules.pool.copy(),
        routed=np.zeros(2, np.int64),
    )


def grow(state):
    """Return the same state with rings of twice the capacity."""
    capacity = state.departure.shape[1]
    lagged = state.landing.shape[1] == capacity
    jobs = np.arange(capacity)

    def doubled(ring):
        if ring.shape[1] < capacity:  # the landings nobody looks at
            return ring
        wider = np.zeros((len(ring), 2 * capacity))
        oldest = np.minimum(state.first, state.first_seen) if lagged else state.first
        oldest = oldest[:, None] + jobs
        rows = np.arange(len(ring))[:, None]
        wider[rows, oldest % (2 * capacity)] = ring[rows, oldest % capacity]
        return wider

    return state._replace(departure=doubled(state.departure), landing=doubled(state.landing))


@kernel
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
        Random words that shuffle the permutation; ``m`` at least the largest number of samples.
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
    """
    # Arrays are taken out of their tuples once: inside the loop numba would count references to
    # every array of a tuple at every call it is passed to.
    speeds, pool, information, age, travel_time, split = (
        rules.speeds, rules.pool, rules.information, rules.age, rules.travel_time, rules.split
    )  # fmt: skip
    departures, landings, first, first_seen, landed, landed_seen, joined, free, seen, permutation = (
        state.departure, state.landing, state.first, state.first_seen, state.landed,
        state.landed_seen, state.joined, state.free, state.seen, state.permutation
    )  # fmt: skip
    chosen_server, queue_length, departed, response_time, server_if, queue_if, seen_if = (
        out.server, out.queue_length, out.departure, out.response_time,
        out.server_if, out.queue_if, out.seen_if
    )  # fmt: skip
    mask = departures.shape[1] - 1
    lagged = information != FRESH or travel_time > 0.0
    policy_0, policy_1 = rules.policy[0], rules.policy[1]
    d_0, d_1 = rules.d[0], rules.d[1]
    routed_0, routed_1 = state.routed[0], state.routed[1]
    start, size = 0, rules.pool_size[0]
    samples = max(rules.samples[0], rules.samples[1])
    done, full = len(arrival), False
    for j in range(begin, len(arrival)):
        t = arrival[j]
        arm = treated[j]
        if split:
            start = rules.pool_start[arm]
            size = rules.pool_size[arm]
            samples = rules.samples[arm]
        viewed = _view_time(t, information, age)
        # The first entries of a Fisher-Yates shuffle: shuffling what the last arrival left behind
        # keeps every permutation equally likely and costs only the entries that are read.
        for i in range(samples):
            other = start + i + ((np.int64(words[j, i]) * (size - i)) >> 32)
            s = permutation[other]
            permutation[other] = permutation[start + i]
            permutation[start + i] = s
            if lagged:
                seen[s] = _length_seen(
                    s, viewed, mask, departures, landings, first_seen, landed_seen, joined
                )
            else:
                seen[s] = _length(s, t, mask, departures, first, joined)
        control = treatment = 0
        if arm == 0 or not split:
            control = choose(policy_0, permutation, start, size, d_0, seen, speeds, routed_0, pool)
        if arm == 1 or not split:
            treatment = choose(
                policy_1, permutation, start, size, d_1, seen, speeds, routed_1, pool
            )
        if not split:
            for choice in range(2):
                s = treatment if choice else control
                server_if[choice][j] = s
                if lagged:
                    queue_if[choice][j] = _landed_length(
                        s, t, mask, departures, landings, first, landed, joined
                    )
                    seen_if[choice][j] = _length_seen(
                        s, viewed, mask, departures, landings, first_seen, landed_seen, joined
                    )
                else:
                    queue_if[choice][j] = _length(s, t, mask, departures, first, joined)
        s = treatment if arm else control
        routed_0 += 1 - arm
        routed_1 += arm
        length = _length(s, t, mask, departures, first, joined)
        position = joined[s]
        oldest = first[s]
        landing = t
        if lagged:
            landing = t + travel_time
            # Jobs that depart between dispatch and landing do not count, but they must stay in
            # the ring for the arrivals in between.
            length = _length_at_landing(s, landing, mask, departures, first, joined)
            landings[s, position & mask] = landing
            _length_seen(s, viewed, mask, departures, landings, first_seen, landed_seen, joined)
            oldest = min(oldest, first_seen[s])
        departure = max(landing, free[s]) + requirement[j] / speeds[s]
        departures[s, position & mask] = departure
        free[s] = departure
        joined[s] = position + 1
        chosen_server[j] = s
        queue_length[j] = length
        departed[j] = departure
        response_time[j] = departure - t
        if position + 1 - oldest > mask:
            done, full = j + 1, True
            break
    state.routed[0] = routed_0
    state.routed[1] = routed_1
    return done, full


@inlined
def _view_time(t, information, age):
    """Return the time whose lengths the dispatcher sees at time t."""
    viewed = t
    if information == CONSTANT_AGE:
        viewed = t - age
    elif information == BULLETIN_BOARD:
        # Rounding may put the product just above t, where the future lies.
        viewed = min(t, age * np.floor(t / age))
    return viewed


@inlined
def _length(s, t, mask, departures, first, joined):
    """Return the number of jobs at a server at time t, dropping those that have departed."""
    oldest = first[s]
    behind = joined[s]
    while oldest < behind and departures[s, oldest & mask] <= t:
        oldest += 1
    first[s] = oldest
    return behind - oldest


@inlined
def _landed_length(s, t, mask, departures, landings, first, landed, joined):
    """Return the number of jobs that have landed at a server and not departed at time t."""
    _length(s, t, mask, departures, first, joined)
    arrived = max(landed[s], first[s])
    while arrived < joined[s] and landings[s, arrived & mask] <= t:
        arrived += 1
    landed[s] = arrived
    return arrived - first[s]


@inlined
def _length_seen(s, viewed, mask, departures, landings, first_seen, landed_seen, joined):
    """Return the landed jobs at a server at the time the dispatcher sees, a time that never falls."""
    arrived = landed_seen[s]
    while arrived < joined[s] and landings[s, arrived & mask] <= viewed:
        arrived += 1
    oldest = first_seen[s]
    while oldest < arrived and departures[s, oldest & mask] <= viewed:
        oldest += 1
    landed_seen[s] = arrived
    first_seen[s] = oldest
    return arrived - oldest


@inlined
def _length_at_landing(s, landing, mask, departures, first, joined):
    """Return the number of earlier jobs of a server that depart after a landing."""
    ahead = first[s]
    while ahead < joined[s] and departures[s, ahead & mask] <= landing:
        ahead += 1
    return joined[s] - ahead
