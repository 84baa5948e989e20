"""Experiments of any design in a system learnt from a log.

`queuebench.logs.learned.run` gives means of a run at one share; here every job is kept, with all that an
estimator reads, under any design of `queuebench.queueing.designs`. Where the arms have their own servers,
the law of places among all N servers is scaled to the N / 2 of a half: place k there is places 2 k and
2 k + 1 of all, nearly so for power of d choices. Where servers do not work first come, first served, any of
a server's jobs is as likely to leave as any other, as if it were shared; the log does not say which one is.

Where the log tells what both arms chose, the learnt system does too: the other arm chooses the same server as
often as it did in the log, by that server's place, else another one by its own law.
"""

import numpy as np

from queuebench.base.jit import inlined, njit
from queuebench.logs.learned.run import place_in, tied_at, wider
from queuebench.logs.learned.system import LONGEST
from queuebench.logs.record.replicate import LogReplicate
from queuebench.queueing.in_system import InSystemCounter
from queuebench.trace import carry_array

STRETCHES = 20
"""Stretches of the log from which the gaps between arrivals are drawn."""
_FAR = np.iinfo(np.int64).max
_ROOM = 64
_TRIES = 100


def draw_arrivals(system, duration, rng):
    """Return arrival times with the log's gaps, taken in stretches of a twentieth of it.

    Stretches are drawn with repetition and begin anywhere, so that the variation of the arrival rate within
    one, and the chance by which a record has many or few arrivals, are in the spread of what is simulated
    (Kuensch, The jackknife and the bootstrap for general stationary observations, 1989).

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    duration : float
        In the log's unit.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of float64, shape (n,)
        Between 0 and the duration.
    """
    gaps = np.diff(system.arrival)
    within = np.arange(max(1, len(gaps) // STRETCHES))
    drawn, last = [], 0.0
    while last <= duration:
        stretch = gaps[(rng.integers(len(gaps)) + within) % len(gaps)]
        drawn.append(last + np.cumsum(stretch))
        last = float(drawn[-1][-1])
    arrival = np.concatenate(drawn)
    return arrival[: np.searchsorted(arrival, duration)]


def run_experiment(system, design, arrival, end, rng, number=0):
    """Run a learnt system under a design, from an empty start.

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    design : object
        See `queuebench.queueing.designs.build_design`.
    arrival : ndarray of float64, shape (n,)
        Increasing times in the log's unit; those before 0 are the warm-up.
    end : float
        Time at which the record ends, after the last arrival.
    rng : numpy.random.Generator
    number : int, optional
        Of the replicate.

    Returns
    -------
    queuebench.logs.record.replicate.LogReplicate or None
        The jobs that arrive after 0; None if a queue grew beyond all bounds.
    """
    servers, n = len(system.slowness), len(arrival)
    treated = np.empty(n, np.uint8)
    design.assign(arrival, treated)
    places, pools = system.places, np.array([np.arange(servers)] * 2)
    if design.pools is not None:
        places, pools = np.ascontiguousarray(places[:, :, 1::2]), np.array(design.pools, np.int64)
    made = np.empty((n, 2), np.int32), np.empty((n, 2), np.int32), np.empty(n)
    choices = system.agreeing is not None and design.pools is None
    agreement = system.agreeing if choices else np.empty((0, 2, 1, 2))
    known = arrival, treated, places, agreement, pools
    if system.first_come:
        ended = serve_jobs(*known, system.service, system.slowness, rng, *made)
    else:
        ended = let_jobs_go(*known, servers, system.letting_go, rng, *made)
    if not ended:
        return None
    return _record(design, arrival, end, treated, *made, choices, number)


def _record(design, arrival, end, treated, servers, lengths, departure, choices, number):
    """Return the record from time 0 on, of what either arm chose, the control first."""
    rows = np.arange(len(arrival))
    server, met = (np.ascontiguousarray(of[rows, treated]) for of in (servers, lengths))
    in_system = np.empty(len(arrival), np.int32)
    InSystemCounter().count(arrival, departure, in_system)
    begin = int(np.searchsorted(arrival, 0.0))
    present = np.flatnonzero(departure[:begin] > 0.0)
    carried = {"server": server, "arrival": arrival, "start": arrival, "departure": departure}
    columns = {
        "arrival_time": arrival, "treated": treated.view(bool), "server": server,
        "queue_length": met, "in_system": in_system, "response_time": departure - arrival,
        "block": design.block(arrival), "share": design.share(arrival),
    }  # fmt: skip
    if choices:
        for arm, name in enumerate(("control", "treated")):
            columns[f"server_if_{name}"] = np.ascontiguousarray(servers[:, arm])
            columns[f"queue_if_{name}"] = np.ascontiguousarray(lengths[:, arm])
    return LogReplicate(
        number, len(arrival) - begin, 0.0, end,
        carry_array({name: values[present] for name, values in carried.items()}),
        {name: column[begin:] for name, column in columns.items() if column is not None},
    )  # fmt: skip


@njit
def serve_jobs(
    arrival, treated, places, agreement, pools, service, slowness, rng, chosen, met, departure
):
    """Run servers that work first come, first served; return whether no queue grew beyond `LONGEST`."""
    servers, room = len(slowness), _ROOM
    leaving = np.empty((servers, room))
    first, length = np.zeros(servers, np.int64), np.zeros(servers, np.int64)
    seen, tied = np.empty(pools.shape[1], np.int64), np.empty(pools.shape[1], np.int64)
    for i in range(len(arrival)):
        now, arm = arrival[i], treated[i]
        for s in range(servers):
            while length[s] > 0 and leaving[s, first[s]] <= now:
                first[s] = (first[s] + 1) % room
                length[s] -= 1
        _choose(arm, places, agreement, pools, length, seen, tied, rng, chosen[i], met[i])
        s = chosen[i, arm]
        if length[s] == room:
            if room == LONGEST:
                return False
            leaving = wider(leaving, first, length)
            room *= 2
        begins = leaving[s, (first[s] + length[s] - 1) % room] if length[s] > 0 else now
        departure[i] = begins + slowness[s] * service[int(rng.random() * len(service))]
        leaving[s, (first[s] + length[s]) % room] = departure[i]
        length[s] += 1
    return True


@njit
def let_jobs_go(
    arrival, treated, places, agreement, pools, servers, letting_go, rng, chosen, met, departure
):
    """Run servers that let jobs go at a rate by their number; return as `serve_jobs` does."""
    present = np.empty((servers, LONGEST), np.int64)
    length = np.zeros(servers, np.int64)
    seen, tied = np.empty(pools.shape[1], np.int64), np.empty(pools.shape[1], np.int64)
    fastest, last = letting_go.max(), len(letting_go) - 1
    mean, jobs, i = 1.0 / (servers * fastest), 0, 0
    tick = arrival[0] + rng.exponential(mean)
    while i < len(arrival) or jobs > 0:
        if i < len(arrival) and arrival[i] < tick:
            arm = treated[i]
            _choose(arm, places, agreement, pools, length, seen, tied, rng, chosen[i], met[i])
            s = chosen[i, arm]
            if length[s] == LONGEST:
                return False
            present[s, length[s]] = i
            length[s] += 1
            jobs, i = jobs + 1, i + 1
            continue
        s = int(rng.random() * servers)
        if rng.random() * fastest < letting_go[min(length[s], last)]:
            which = int(rng.random() * length[s])
            departure[present[s, which]] = tick
            length[s] -= 1
            present[s, which] = present[s, length[s]]
            jobs -= 1
        tick += rng.exponential(mean)
    return True


@inlined
def _choose(arm, places, agreement, pools, length, seen, tied, rng, chosen, met):
    """Fill in the server that an arm chooses, and its length; with agreement, those of the other arm too."""
    pool, shortest = pools[arm], _FAR
    for k in range(len(pool)):
        seen[k] = length[pool[k]]
        shortest = min(shortest, seen[k])
    idle = np.int64(shortest == 0)
    place = place_in(places[arm, idle], rng.random())
    equal = tied_at(place, shortest, seen, tied)
    own = pool[tied[int(rng.random() * equal)]]
    chosen[arm], met[arm] = own, length[own]
    if len(agreement) == 0:
        return
    other, below = own, 0
    for k in range(len(pool)):
        below += seen[k] < length[own]
    if rng.random() >= agreement[arm, idle, below, equal]:
        # Where the other arm always chooses this very server they cannot differ.
        for _ in range(_TRIES):
            at = place_in(places[1 - arm, idle], rng.random())
            other = pool[tied[int(rng.random() * tied_at(at, shortest, seen, tied))]]
            if other != own:
                break
    chosen[1 - arm], met[1 - arm] = other, length[other]
