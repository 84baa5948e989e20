"""Parallel servers that share, break down and lose jobs: one event loop, independent of the package.

Server `s` works on its first ``limit`` jobs in order of arrival, each at rate
``1 / (1 + slowdown * (b - 1))`` with ``b`` of them at work, and at rate 0 while it is down. First come,
first served is ``limit = 1``, processor sharing ``slowdown = 1`` without a limit.
"""

import numpy as np
from numba import njit

EVERYONE = 1 << 30
"""A limit that no server reaches."""


@njit(cache=True)
def _advance(s, time, left, count, last, up, limit, slowdown):
    """Work off what server `s` did since it was last looked at."""
    busy = min(count[s], limit)
    if busy and up[s]:
        done = (time - last[s]) / (1.0 + slowdown * (busy - 1))
        for k in range(busy):
            left[s, k] -= done
    last[s] = time


@njit(cache=True)
def _foresee(s, time, jobs, left, count, up, deadline, limit, slowdown, when, which):
    """Find the next job that leaves server `s` if nothing else happens there."""
    when[s] = np.inf
    busy = min(count[s], limit)
    if up[s]:
        for k in range(busy):
            end = time + left[s, k] * (1.0 + slowdown * (busy - 1))
            if end < when[s]:
                when[s] = end
                which[s] = k
    for k in range(busy, count[s]):
        if deadline[jobs[s, k]] < when[s]:
            when[s] = deadline[jobs[s, k]]
            which[s] = k


@njit(cache=True)
def _shortest(order, count, first, last, samples):
    """Return the shortest of the first `samples` servers of `order` within [first, last)."""
    best, seen = -1, 0
    for s in order:
        if first <= s < last:
            if best < 0 or count[s] < count[best]:
                best = s
            seen += 1
            if seen == samples:
                break
    return best


@njit(cache=True)
def run(
    arrival, requirement, treated, order, samples, first, last, session, sessions, stick,
    deadline, switch_time, switch_server, limit, slowdown,
):  # fmt: skip
    """Simulate servers that start empty and up until every job has left.

    Parameters
    ----------
    arrival, requirement, deadline : ndarray of float, shape (n,)
        A job still waiting (not at work) at its deadline leaves.
    treated : ndarray of bool, shape (n,)
    order : ndarray of int, shape (n, N)
        A random permutation of the servers for each job, read by both arms.
    samples : ndarray of int, shape (2,)
        Servers of which each arm takes the shortest, ties to the first.
    first, last : ndarray of int, shape (2, n)
        Range of the servers that each arm samples for a job.
    session : ndarray of int, shape (n,)
        Session below `sessions`, or -1: no session.
    stick : int
        A job of a session goes to the server of the job before if fewer than this are there.
    switch_time, switch_server : ndarray, shape (m,)
        When which server goes down or comes up again, in order of time.
    limit : int
    slowdown : float

    Returns
    -------
    departure : ndarray of float, shape (n,)
    chosen : ndarray of int, shape (2, n)
        What either arm chose; a job is at the choice of its own arm.
    """
    n, servers = order.shape
    jobs = np.empty((servers, 64), np.int64)
    left = np.empty((servers, 64))
    count = np.zeros(servers, np.int64)
    since = np.zeros(servers)
    up = np.ones(servers, np.bool_)
    when = np.full(servers, np.inf)
    which = np.zeros(servers, np.int64)
    latest = np.full(sessions, -1)
    departure = np.empty(n)
    chosen = np.empty((2, n), np.int64)
    j, switch, present = 0, 0, 0
    while j < n or present:
        s = np.argmin(when)
        time = when[s]
        arrives = j < n and arrival[j] < time
        if arrives:
            time = arrival[j]
        if switch < len(switch_time) and switch_time[switch] < time:
            time, s = switch_time[switch], switch_server[switch]
            _advance(s, time, left, count, since, up, limit, slowdown)
            up[s] = not up[s]
            switch += 1
        elif arrives:
            for arm in range(2):
                s = _shortest(order[j], count, first[arm, j], last[arm, j], samples[arm])
                if session[j] >= 0:
                    before = latest[session[j]]
                    if before >= 0 and count[before] < stick:
                        s = before
                chosen[arm, j] = s
            s = chosen[1, j] if treated[j] else chosen[0, j]
            if session[j] >= 0:
                latest[session[j]] = s
            _advance(s, time, left, count, since, up, limit, slowdown)
            if count[s] == jobs.shape[1]:
                jobs = np.concatenate((jobs, np.empty_like(jobs)), axis=1)
                left = np.concatenate((left, np.empty_like(left)), axis=1)
            jobs[s, count[s]] = j
            left[s, count[s]] = requirement[j]
            count[s] += 1
            present += 1
            j += 1
        else:
            _advance(s, time, left, count, since, up, limit, slowdown)
            departure[jobs[s, which[s]]] = time
            count[s] -= 1
            present -= 1
            for k in range(which[s], count[s]):
                jobs[s, k] = jobs[s, k + 1]
                left[s, k] = left[s, k + 1]
        _foresee(s, time, jobs, left, count, up, deadline, limit, slowdown, when, which)
    return departure, chosen
