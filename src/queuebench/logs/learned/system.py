"""A system learnt from a log, to see how curved the mean response is in the share of treated jobs.

An experiment at one share estimates a slope, and how far that is from the effect depends on shares nobody
ran. What a log shows is enough for a rough stand-in that can be run at any share (`learned_run`): the log's
own arrival times; which place each arm's choice has among the queues ordered by length, with and without an
idle server; and how servers work, by service times drawn from the rebuilt ones where they work first come,
first served, else by the rate at which a server with so many jobs lets them go. Power of d choices at fresh
lengths *is* such a law of places, whatever d; other policies are so approximately. Whether to believe the
stand-in is said by `learned_shape`.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import chdtrc

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import njit

LEARNT_FROM = 400_000
"""Arrivals of the record, from its start, that are learnt from and whose times are used."""
MOST_SERVERS = 512
LONGEST = 4096
"""Jobs at a server beyond which they are not told apart, and a run is given up as unstable."""

_EM_STEPS = 200
_FEWEST = 200
"""Jobs by which a law or a rate is known well enough."""
_EQUAL_SPEEDS = 1e-3
"""Probability below which servers of equal speed would differ as much as these."""
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
        Whether servers work first come, first served: then `service` and `slowness` count, else
        `letting_go`.
    service : ndarray of float64, shape (m,)
        Service times relative to their server's mean, in increasing order.
    slowness : ndarray of float64, shape (N,)
        Mean service time by server.
    letting_go : ndarray of float64, shape (K,)
        Departures per time unit from a server with 0, 1, ... jobs; the last entry counts for longer queues
        too.
    agreeing : ndarray of float64, shape (2, 2, N, N + 1), or None
        Probability that the other arm chooses the same server, by arm, by whether some server is idle, by the
        number of servers with shorter queues and of those with equally long ones, itself included; None
        where the log does not tell both choices.
    """

    arrival: np.ndarray
    places: np.ndarray
    first_come: bool
    service: np.ndarray
    slowness: np.ndarray
    letting_go: np.ndarray
    agreeing: np.ndarray | None = None


def learn(replicate, servers, *, first_come, choices=False):
    """Learn how a log's system works.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    servers : int
        Number of servers N.
    first_come : bool
        Whether they work on one job at a time, in order of arrival.
    choices : bool, optional
        Whether the record tells what both arms chose.

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
    carried = [as_numpy(replicate.carry.field(name)) for name in ("server", "departure")]
    leaving = np.concatenate([carried[1], departure])
    order = np.argsort(leaving, kind="stable")
    left = np.concatenate([carried[0], server])[order].astype(np.int64)
    known = (
        server,
        left,
        leaving[order],
        np.bincount(carried[0].astype(np.int64), minlength=servers),
    )
    counts, at_length = _followed(arrival, treated, *known)
    if counts.sum(axis=(1, 2, 3)).min() < _FEWEST or at_length[:, 1:].sum(axis=1).min() <= 0.0:
        return None
    service, slowness = _services(arrival, server, departure, servers)
    agreeing = None
    if choices:
        same = np.equal(
            *(replicate.column(f"server_if_{arm}")[:LEARNT_FROM] for arm in ("control", "treated"))
        )
        agreeing = agreement(counts, _followed(arrival, same, *known)[0][1])
    return LearnedSystem(
        arrival, cumulative_places(counts), first_come, service, slowness, letting_go(at_length),
        agreeing,
    )  # fmt: skip


def _followed(arrival, kind, server, left, leaving, length):
    """Return the counts of `cumulative_places` by a kind of job, and those of `letting_go`."""
    counts = np.zeros((2, 2, len(length), len(length) + 1))
    at_length = np.zeros((2, LONGEST))
    follow(arrival, kind, server, left, leaving, length.copy(), counts, at_length)
    return counts, at_length


def agreement(counts, agreeing):
    """Return the probability that the other arm chooses the same server.

    Where both agree it does not matter which arm it was: so agreeing jobs of both arms are taken together,
    in the proportion of the arms, and then either arm agrees equally often on a server.

    Parameters
    ----------
    counts : ndarray of float64, shape (2, 2, N, N + 1)
        As of `cumulative_places`.
    agreeing : ndarray of float64, shape (2, N, N + 1)
        The same of jobs whose arms agreed, without the arm.

    Returns
    -------
    ndarray of float64, shape (2, 2, N, N + 1)
    """
    share = counts.sum(axis=(1, 2, 3)) / counts.sum()
    agreed = share[:, None, None, None] * agreeing
    overall = agreed.sum(axis=(2, 3)) / np.maximum(counts.sum(axis=(2, 3)), 1.0)
    enough = counts >= _FEWEST
    return np.clip(
        np.where(enough, agreed / np.maximum(counts, 1.0), overall[:, :, None, None]), 0.0, 1.0
    )


def cumulative_places(counts):
    """Return the cumulative law of places by arm and by whether some server is idle.

    Parameters
    ----------
    counts : ndarray of float64, shape (2, 2, N, N + 1)
        Jobs by arm, by whether some server was idle, by the number of servers with shorter queues than the
        chosen one and of those with equally long ones, itself included.

    Returns
    -------
    ndarray of float64, shape (2, 2, N)
    """
    law = np.empty((2, 2, counts.shape[2]))
    for arm in range(2):
        pooled = counts[arm].sum(axis=0)
        for idle in range(2):
            # Few arrivals under one of the two conditions say little of it.
            enough = counts[arm, idle].sum() >= _FEWEST
            law[arm, idle] = _places(counts[arm, idle] if enough else pooled)
    return np.cumsum(law, axis=2)


def _places(count):
    """Return the law of places that makes what is seen most likely.

    The place within a group of equally long queues is not seen; expectation and maximisation find the law
    (Turnbull, The empirical distribution function with arbitrarily grouped, censored and truncated data,
    1976, for values known up to an interval).
    """
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
        # Exactly zero where no interval reaches, but for rounding.
        law = law * np.maximum(np.cumsum(gain)[:-1], 0.0)
        law /= law.sum()
    return law


def _services(arrival, server, departure, servers):
    """Return service times over their server's mean, sorted, and the means by server."""
    by_server = np.argsort(server, kind="stable")
    owner, ended = server[by_server], departure[by_server]
    began = np.maximum(arrival[by_server][1:], ended[:-1])
    same = owner[1:] == owner[:-1]
    # The few jobs that overtook another one, if any, would have been served in less than no time.
    service, owner = np.maximum(ended[1:] - began, 0.0)[same], owner[1:][same]
    count = np.bincount(owner, minlength=servers)
    mean = np.bincount(owner, service, minlength=servers) / np.maximum(count, 1)
    pooled = service.mean()
    variance = max(float(service.var()), 1e-300)
    spread = float((count * (mean - pooled) ** 2).sum() / variance)
    alike = chdtrc(servers - 1, spread) > _EQUAL_SPEEDS
    if alike or mean.min() <= 0.0:
        mean = np.full(servers, pooled)
    return np.sort(service / mean[owner]), mean


def letting_go(at_length):
    """Return the rate of departures from a server by the number of its jobs.

    Longer queues let go no more slowly. From the first length on from which all rates may be one, they are
    taken to be: what pure control would do depends on queues that were rarely so long in the experiment.

    Parameters
    ----------
    at_length : ndarray of float64, shape (2, L)
        Time that servers spent with 0, 1, ... jobs, and departures from there.

    Returns
    -------
    ndarray of float64, shape (K,), K at most L
        In increasing order, 0 for an empty server.
    """
    longest = np.flatnonzero(at_length[0])[-1]
    time, departures = at_length[:, 1 : longest + 1]
    level = _level_from(time, departures)
    known = np.flatnonzero(time[:level])
    below = np.zeros(level)
    if len(known):
        below = np.interp(np.arange(level), known, departures[known] / time[known])
    rates = np.append(below, departures[level:].sum() / time[level:].sum())
    weights = np.append(np.maximum(time[:level], 1e-300), time[level:].sum())
    return np.append(0.0, isotonic_regression(rates, weights=weights).x)


def _level_from(time, departures):
    """Return the first length, less one, from which on all rates of departure may be one."""
    return next((k for k in range(len(time)) if _one_rate(time[k:], departures[k:])), len(time) - 1)


def _one_rate(time, departures):
    """Whether one rate explains the departures at all lengths, by Pearson's chi-squared."""
    expected = time * departures.sum() / time.sum()
    # Rare lengths count together, or the statistic would not have the law of chi-squared.
    groups = max(int(departures.sum() // _FEWEST), 1)
    group = np.minimum((np.cumsum(expected) / _FEWEST).astype(int), groups - 1)
    seen, due = np.bincount(group, departures), np.bincount(group, expected)
    seen, due = seen[due > 0], due[due > 0]
    return len(due) < 2 or chdtrc(len(due) - 1, ((seen - due) ** 2 / due).sum()) > _LIKE


@njit
def follow(arrival, treated, server, left, leaving, length, counts, at_length):
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
