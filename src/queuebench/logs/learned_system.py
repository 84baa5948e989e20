"""A system learnt from a log, to see how curved the mean response is in the share of treated jobs.

An experiment at one share estimates a slope, and how far that is from the effect depends on shares nobody
ran. What a log shows is enough for a rough stand-in that can be run at any share: the log's own arrival
times; which place each arm's choice has among the queues ordered by length, with and without an idle
server; and how servers work, by service times drawn from the rebuilt ones where they work first come,
first served, else by the rate at which a server with so many jobs lets them go. Power of d choices at fresh
lengths *is* such a law of places, whatever d; other policies are so approximately. The stand-in is
therefore first run at the experiment's own share, where it must give the responses and the queues met that
the log shows, and is only believed where it does.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.stats import chi2

from queuebench.arrow import as_numpy
from queuebench.estimators.inference import batch_means_error
from queuebench.jit import inlined, njit

LEARNT_FROM = 400_000
"""Arrivals of the record, from its start, that are learnt from and whose times are used."""

MOST_SERVERS = 512
_LONGEST = 4096
"""Jobs at a server beyond which a run is given up as unstable."""

_SIMULATED = 1_500_000
"""Arrivals simulated for each share at most."""
_FEWEST_RUNS = 4
_PRECISE = 0.05
"""Standard error of what is missed, as a share of it, with which simulation ends."""
_STEP = 0.1
"""Half the distance of the shares between which the slope is taken."""
_WARM = 0.1
"""First part of the record that is not compared: it may have begun empty."""
_EM_STEPS = 200
_FEWEST = 200
_EQUAL_SPEEDS = 1e-3
"""Probability below which servers of equal speed would differ as much as these."""
_RESPONSE = 0.03
"""By how much, beside noise, a learnt system's mean response and queues met may be off."""
_DIFFERENCE = 0.1
"""By how much the difference between the arms' queues may be."""
_NOISE = 3.0
"""Standard errors that are taken for noise."""
_BATCHES = 20
_LIKE = 0.01
"""Probability below which equal rates of departure would differ as much as those of some lengths."""


class LearnedSystem(NamedTuple):
    """What a log says about how its system works.

    Attributes
    ----------
    arrival : ndarray of float64, shape (n,)
        Arrival times since the record's start.
    places : ndarray of float64, shape (2, 2, N)
        Cumulative law of the chosen server's place among the servers ordered by length, ties in random
        order; by arm and by whether some server is idle.
    first_come : bool
        Whether servers work first come, first served: then `service` and `slowness` count, else `letting_go`.
    service : ndarray of float64, shape (m,)
        Service times relative to their server's mean, in increasing order.
    slowness : ndarray of float64, shape (N,)
        Mean service time by server.
    letting_go : ndarray of float64, shape (K,)
        Departures per time unit from a server with so many jobs; the last entry counts for longer queues too.
    """

    arrival: np.ndarray
    places: np.ndarray
    first_come: bool
    service: np.ndarray
    slowness: np.ndarray
    letting_go: np.ndarray


class Run(NamedTuple):
    """Means over a run: response, and queue met by control and treated jobs."""

    response: float
    met_control: float
    met_treated: float


class Shape(NamedTuple):
    """The mean response of the learnt system as a function of the share.

    Attributes
    ----------
    control, here, treatment : float
        Mean response at share 0, at the experiment's share, and at share 1; infinite where queues grow.
    slope : float
        At the experiment's share.
    missed, missed_se : float
        Effect minus slope.
    met : tuple of two float
        Mean queue met by control and treated jobs at the experiment's share.
    """

    control: float
    here: float
    treatment: float
    slope: float
    missed: float
    missed_se: float
    met: tuple


def learn(replicate, servers, *, first_come):
    """Learn how a log's system works.

    Parameters
    ----------
    replicate : queuebench.logs.replicate.LogReplicate
    servers : int
        Number of servers N.
    first_come : bool
        Whether they work on one job at a time, in order of arrival.

    Returns
    -------
    LearnedSystem or None
        None where there is too little to learn from, or there are too many servers.
    """
    if not 2 <= servers <= MOST_SERVERS:
        return None
    arrival, treated, server, response = (
        replicate.column(name)[:LEARNT_FROM]
        for name in ("arrival_time", "treated", "server", "response_time")
    )
    departure = arrival + response
    carried = [
        as_numpy(replicate.carry.field(name)) if len(replicate.carry) else np.empty(0)
        for name in ("server", "departure")
    ]
    leaving = np.concatenate([carried[1], departure])
    order = np.argsort(leaving, kind="stable")
    left = np.concatenate([carried[0], server])[order].astype(np.int64)
    counts = np.zeros((2, 2, servers, servers + 1))
    at_length = np.zeros((2, _LONGEST))
    length = np.bincount(carried[0].astype(np.int64), minlength=servers)
    _follow(arrival, treated, server, left, leaving[order], length, counts, at_length)
    if counts.sum(axis=(1, 2, 3)).min() < _FEWEST:
        return None
    service, slowness = _services(arrival, server, departure, servers)
    return LearnedSystem(
        arrival, _cumulative_places(counts), first_come, service, slowness, _letting_go(at_length)
    )


def _cumulative_places(counts):
    """Return the cumulative law of places from counts of (servers shorter, servers as long).

    The place within a group of equally long queues is not seen; the law that makes what is seen most likely is
    found by expectation and maximisation (Turnbull 1976, for values known up to an interval).
    """
    servers = counts.shape[2]
    law = np.empty((2, 2, servers))
    for arm in range(2):
        pooled = counts[arm].sum(axis=0)
        for idle in range(2):
            # Few arrivals under one of the two conditions say little of it.
            enough = counts[arm, idle].sum() >= _FEWEST
            law[arm, idle] = _places(counts[arm, idle] if enough else pooled)
    return np.cumsum(law, axis=2)


def _places(count):
    servers = len(count)
    below, tied = np.nonzero(count)
    weight = count[below, tied]
    law = np.full(servers, 1.0 / servers)
    for _ in range(_EM_STEPS):
        cumulative = np.concatenate([[0.0], np.cumsum(law)])
        seen = weight / np.maximum(cumulative[below + tied] - cumulative[below], 1e-300)
        gain = np.zeros(servers + 1)
        np.add.at(gain, below, seen)
        np.add.at(gain, below + tied, -seen)
        law = law * np.cumsum(gain)[:-1]
        law /= law.sum()
    return law


def _services(arrival, server, departure, servers):
    """Return service times over their server's mean, sorted, and the means by server."""
    by_server = np.argsort(server, kind="stable")
    owner, ended = server[by_server], departure[by_server]
    began = np.maximum(arrival[by_server][1:], ended[:-1])
    same = owner[1:] == owner[:-1]
    service, owner = (ended[1:] - began)[same], owner[1:][same]
    count = np.bincount(owner, minlength=servers)
    total = np.bincount(owner, service, minlength=servers)
    mean = total / np.maximum(count, 1)
    pooled = service.mean()
    variance = max(float(service.var()), 1e-300)
    spread = float((count * (mean - pooled) ** 2).sum() / variance)
    if count.min() == 0 or chi2.sf(spread, servers - 1) > _EQUAL_SPEEDS:
        mean = np.full(servers, pooled)
    return np.sort(service / mean[owner]), mean


def _letting_go(at_length):
    """Return the rate of departures from a server by the number of its jobs, from time and departures there.

    Longer queues let go no more slowly. From the first length on from which all rates may be one, they are taken
    to be: what pure control would do depends on queues that were rarely so long in the experiment.
    """
    time, departures = at_length
    lengths = np.flatnonzero(time > 0)
    time, departures = time[1 : lengths[-1] + 1], departures[1 : lengths[-1] + 1]
    tail_time, tail = np.cumsum(time[::-1])[::-1], np.cumsum(departures[::-1])[::-1]
    for first in range(len(time)):
        expected = time[first:] * tail[first] / tail_time[first]
        # Rare lengths count together, or their chi-squared would not be one.
        groups = np.minimum(
            (np.cumsum(expected) / _FEWEST).astype(int), int(tail[first] // _FEWEST) - 1
        )
        observed, expected = (
            np.bincount(np.maximum(groups, 0), values) for values in (departures[first:], expected)
        )
        kept = expected > 0
        spread = ((observed - expected)[kept] ** 2 / expected[kept]).sum()
        if kept.sum() < 2 or chi2.sf(spread, kept.sum() - 1) > _LIKE:
            break
    known = time[:first] > 0
    below = (
        np.interp(
            np.arange(first), np.flatnonzero(known), departures[:first][known] / time[:first][known]
        )
        if known.any()
        else np.zeros(first)
    )
    rates = np.append(below, tail[first] / tail_time[first])
    weights = np.append(np.maximum(time[:first], 1e-300), tail_time[first])
    return np.append(0.0, isotonic_regression(rates, weights=weights).x)


def shape(system, share, precision=0.0, seed=0):
    """Simulate a learnt system at several shares.

    Parameters
    ----------
    system : LearnedSystem
    share : float
        Share of treated jobs of the experiment.
    precision : float, optional
        Standard error of what is missed that is enough however small that is.
    seed : int, optional

    Returns
    -------
    Shape
    """
    step = min(_STEP, share / 2, (1 - share) / 2)
    shares = 0.0, share - step, share, share + step, 1.0
    most = max(_FEWEST_RUNS, math.ceil(_SIMULATED / len(system.arrival)))
    results = []
    for run in range(most):
        sequence = np.random.SeedSequence((seed, run))
        results.append([simulate(system, at, sequence) for at in shares])
        found = _shape(np.array(results), step)
        if len(results) >= _FEWEST_RUNS and found.missed_se <= max(
            precision, _PRECISE * abs(found.missed)
        ):
            break
    return found


def _shape(results, step):
    """Return the shape of runs: results of shape (runs, shares, members of `Run`)."""
    response = results[:, :, 0]
    with np.errstate(invalid="ignore"):
        slope = (response[:, 3] - response[:, 1]) / (2 * step)
        missed = response[:, 4] - response[:, 0] - slope
        error = missed.std(ddof=1) / math.sqrt(len(missed)) if len(missed) > 1 else math.inf
    mean = results.mean(axis=0)
    return Shape(
        *(float(mean[k, 0]) for k in (0, 2, 4)), float(slope.mean()), float(missed.mean()),
        float(error), (float(mean[2, 1]), float(mean[2, 2])),
    )  # fmt: skip


def find_fault(system, found, replicate):
    """Say in what a learnt system, run as the experiment was, differs from the log.

    Parameters
    ----------
    system : LearnedSystem
    found : Shape
        Of the system at the share of the experiment.
    replicate : queuebench.logs.replicate.LogReplicate

    Returns
    -------
    str or None
        None where it gives what the log shows, within errors and a tolerance.
    """
    if not all(map(math.isfinite, (found.control, found.here, found.treatment))):
        where = "at the share run" if math.isinf(found.here) else "under one arm alone"
        return f"its queues grow without end {where}"
    kept = slice(int(_WARM * len(system.arrival)), len(system.arrival))
    response, met, treated = (
        replicate.column(name)[kept] for name in ("response_time", "queue_length", "treated")
    )
    compared = (
        ("mean response", found.here, _mean(response), _RESPONSE),
        ("mean queue met by control jobs", found.met[0], _mean(met[~treated]), _RESPONSE),
        ("mean queue met by treated jobs", found.met[1], _mean(met[treated]), _RESPONSE),
    )
    for what, learnt, (seen, error), tolerance in compared:
        if abs(learnt - seen) > _NOISE * error + tolerance * seen:
            return f"its {what} is {learnt:.4g}, the log's {seen:.4g}"
    difference = found.met[1] - found.met[0]
    (control, one), (treatment, other) = (compared[k][2] for k in (1, 2))
    seen, error = treatment - control, math.hypot(one, other)
    if abs(difference - seen) > _NOISE * error + _DIFFERENCE * abs(seen):
        return f"its arms' queues met differ by {difference:.4g}, the log's by {seen:.4g}"
    return None


def _mean(values):
    """Return a mean and its standard error by batch means."""
    batches = np.array([part.mean() for part in np.array_split(values.astype(float), _BATCHES)])
    return float(values.mean()), batch_means_error(batches, _BATCHES)


def simulate(system, share, sequence):
    """Run a learnt system once through the log's arrival times.

    Parameters
    ----------
    system : LearnedSystem
    share : float
        Share of treated jobs.
    sequence : numpy.random.SeedSequence
        The same one makes runs at several shares comparable: they draw the same numbers.

    Returns
    -------
    Run
        Infinite where a queue grows beyond all bounds.
    """
    seed = int(sequence.generate_state(1)[0])
    skipped = int(_WARM * len(system.arrival))
    if system.first_come:
        sums = _serve(
            system.arrival, system.places, share, system.service, system.slowness, skipped, seed
        )
    else:
        sums = _let_go(
            system.arrival,
            system.places,
            share,
            len(system.slowness),
            system.letting_go,
            skipped,
            seed,
        )
    if math.isinf(sums[0]):
        return Run(math.inf, math.inf, math.inf)
    recorded = len(system.arrival) - skipped
    with np.errstate(invalid="ignore", divide="ignore"):
        met = sums[1:3] / sums[3:5]
    return Run(sums[0] / recorded, *map(float, met))


@njit
def _follow(arrival, treated, server, left, leaving, length, counts, at_length):
    """Count the places of the chosen servers, and the time and the departures by length of queue."""
    servers = len(length)
    longest = at_length.shape[1] - 1
    since = np.zeros(servers)
    gone = 0
    for i in range(len(arrival)):
        while gone < len(left) and leaving[gone] <= arrival[i]:
            s = left[gone]
            jobs = min(length[s], longest)
            at_length[0, jobs] += leaving[gone] - since[s]
            at_length[1, jobs] += 1.0
            since[s] = leaving[gone]
            length[s] -= 1
            gone += 1
        s = server[i]
        below, tied, idle = 0, 0, 0
        for other in range(servers):
            below += length[other] < length[s]
            tied += length[other] == length[s]
            idle = max(idle, np.int64(length[other] == 0))
        counts[np.int64(treated[i]), idle, below, tied] += 1.0
        at_length[0, min(length[s], longest)] += arrival[i] - since[s]
        since[s] = arrival[i]
        length[s] += 1


@inlined
def _place(law, draw):
    """Return the first place at which a cumulative law reaches a number."""
    place = 0
    while place < len(law) - 1 and law[place] <= draw:
        place += 1
    return place


@njit
def _serve(arrival, places, share, service, slowness, skipped, seed):
    """Run servers that work first come, first served; return sums of responses and of queues met by arm."""
    np.random.seed(seed)
    servers, room = len(slowness), 64
    leaving = np.empty((servers, room))
    first = np.zeros(servers, np.int64)
    length = np.zeros(servers, np.int64)
    by_length = np.empty(servers, np.int64)
    sums = np.zeros(5)
    for i in range(len(arrival)):
        now = arrival[i]
        arm = np.int64(np.random.random() < share)
        draw, within, size = np.random.random(), np.random.random(), np.random.random()
        shortest = np.iinfo(np.int64).max
        for s in range(servers):
            while length[s] > 0 and leaving[s, first[s]] <= now:
                first[s] = (first[s] + 1) % room
                length[s] -= 1
            shortest = min(shortest, length[s])
        place = _place(places[arm, np.int64(shortest == 0)], draw)
        # The group of equally long queues that holds the place, then one of it at random.
        level, before = shortest, 0
        while True:
            tied, above = 0, np.iinfo(np.int64).max
            for s in range(servers):
                if length[s] == level:
                    by_length[tied] = s
                    tied += 1
                elif level < length[s] < above:
                    above = length[s]
            if before + tied > place or above == np.iinfo(np.int64).max:
                break
            before += tied
            level = above
        s = by_length[int(within * tied)]
        if length[s] == room:
            if room == _LONGEST:
                sums[0] = np.inf
                return sums
            leaving = _wider(leaving, first, length)
            room *= 2
        begins = leaving[s, (first[s] + length[s] - 1) % room] if length[s] > 0 else now
        leaves = begins + slowness[s] * service[int(size * len(service))]
        leaving[s, (first[s] + length[s]) % room] = leaves
        if i >= skipped:
            sums[0] += leaves - now
            sums[1 + arm] += length[s]
            sums[3 + arm] += 1.0
        length[s] += 1
    return sums


@njit
def _wider(leaving, first, length):
    """Return rings of twice the size with the same jobs, each beginning at 0."""
    servers, room = leaving.shape
    wider = np.empty((servers, 2 * room))
    for s in range(servers):
        for k in range(length[s]):
            wider[s, k] = leaving[s, (first[s] + k) % room]
        first[s] = 0
    return wider


@njit
def _let_go(arrival, places, share, servers, letting_go, skipped, seed):
    """Run servers as a Markov chain of queue lengths; return the sums of `_serve`, responses by Little's law.

    Ticks come at the highest rate of a departure, at a server of a random place in the order of lengths: runs at
    several shares see the same ticks.
    """
    np.random.seed(seed)
    count = np.zeros(_LONGEST, np.int64)  # servers by length
    count[0] = servers
    most = len(letting_go) - 1
    highest = letting_go.max()
    longest = 0
    jobs = 0
    sums = np.zeros(5)
    now = 0.0
    tick = np.random.exponential(1.0 / (servers * highest))
    for i in range(len(arrival)):
        while tick <= arrival[i]:
            if i > skipped:
                sums[0] += jobs * (tick - now)
            now = tick
            place, accepted = np.random.random() * servers, np.random.random()
            level, before = 0, count[0]
            while before <= place and level < longest:
                level += 1
                before += count[level]
            if accepted * highest < letting_go[min(level, most)]:
                count[level] -= 1
                count[level - 1] += 1
                jobs -= 1
                while longest > 0 and count[longest] == 0:
                    longest -= 1
            tick = now + np.random.exponential(1.0 / (servers * highest))
        if i > skipped:
            sums[0] += jobs * (arrival[i] - now)
        now = arrival[i]
        arm = np.int64(np.random.random() < share)
        place = _place(places[arm, np.int64(count[0] > 0)], np.random.random())
        level, before = 0, count[0]
        while before <= place and level < longest:
            level += 1
            before += count[level]
        if level + 2 >= _LONGEST:
            sums[0] = np.inf
            return sums
        if i >= skipped:
            sums[1 + arm] += level
            sums[3 + arm] += 1.0
        count[level] -= 1
        count[level + 1] += 1
        longest = max(longest, level + 1)
        jobs += 1
    return sums
