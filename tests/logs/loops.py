"""Logs from event loops of a few lines, which share no code with the package's simulation."""

import heapq

import numpy as np


def fcfs(seed, jobs=20_000, servers=5, load=0.8, samples=(1, 2), *, speeds=1.0, service=None, route=None,
         times=None, share=0.5):  # fmt: skip
    """Return the columns of a log of first-come-first-served servers.

    Parameters
    ----------
    seed, jobs, servers, load
    samples : tuple of two int
        Servers of which control and treatment take the one with the fewest jobs.
    speeds : float or ndarray, shape (servers,)
    service : Callable, optional
        Of a generator and the treated jobs' mask: requirements; exponential with mean 1 by default.
    route : Callable, optional
        Of the arm, the requirement, the permuted servers and their numbers of jobs: the choice, in place
        of the least of the first `samples`.
    times : ndarray, optional
        Arrival times.
    share : float

    Returns
    -------
    dict of str to ndarray
        With both arms' choices.
    """
    rng = np.random.default_rng(seed)
    speeds = np.broadcast_to(speeds, servers)
    arrival = (
        np.cumsum(rng.exponential(1 / (load * speeds.sum()), jobs)) if times is None else times
    )
    treated = rng.random(jobs) < share
    requirement = service(rng, treated) if service else rng.exponential(1.0, jobs)
    order = rng.permuted(np.tile(np.arange(servers), (jobs, 1)), axis=1)
    present = [[] for _ in range(servers)]
    free, response, chosen = [0.0] * servers, np.empty(jobs), np.empty((2, jobs), int)
    for i, now in enumerate(arrival.tolist()):
        for queue in present:
            while queue and queue[0] <= now:
                queue.pop(0)
        seen = [(len(present[s]), s) for s in order[i].tolist()]
        for arm in (0, 1):
            if route:
                chosen[arm, i] = route(arm, requirement[i], seen)
            else:
                chosen[arm, i] = min(seen[: samples[arm]], key=lambda one: one[0])[1]
        s = chosen[int(treated[i]), i]
        free[s] = max(now, free[s]) + requirement[i] / speeds[s]
        present[s].append(free[s])
        response[i] = free[s] - now
    return _columns(arrival, treated, chosen, response)


def sharing(seed, jobs=20_000, servers=5, load=0.8, samples=(1, 2), *, treated_service=1.0):
    """Return the columns of a log of servers that share their capacity among the jobs present."""
    rng = np.random.default_rng(seed)
    arrival = np.cumsum(rng.exponential(1 / (load * servers), jobs))
    treated = rng.random(jobs) < 0.5
    need = rng.exponential(1.0, jobs) * np.where(treated, treated_service, 1.0)
    order = rng.permuted(np.tile(np.arange(servers), (jobs, 1)), axis=1)
    # Per server: work done per job present so far, when that was so, and the jobs by where they end.
    done, since, jobs_at = [0.0] * servers, [0.0] * servers, [[] for _ in range(servers)]
    response, chosen = np.empty(jobs), np.empty((2, jobs), int)

    def advance(s, now):
        while jobs_at[s]:
            end, i = jobs_at[s][0]
            when = since[s] + (end - done[s]) * len(jobs_at[s])
            if when > now:
                done[s] += (now - since[s]) / len(jobs_at[s])
                break
            response[i] = when - arrival[i]
            done[s], since[s] = end, when
            heapq.heappop(jobs_at[s])
        since[s] = now

    for i, now in enumerate(arrival.tolist()):
        for s in range(servers):
            advance(s, now)
        for arm in (0, 1):
            near = order[i, : samples[arm]].tolist()
            chosen[arm, i] = min(near, key=lambda s: len(jobs_at[s]))
        s = chosen[int(treated[i]), i]
        heapq.heappush(jobs_at[s], (done[s] + need[i], i))
    for s in range(servers):
        advance(s, np.inf)
    return _columns(arrival, treated, chosen, response)


def _columns(arrival, treated, chosen, response):
    return {
        "arrival_time": arrival,
        "arm": np.where(treated, "B", "A"),
        "server": np.where(treated, chosen[1], chosen[0]),
        "response_time": response,
        "server_if_control": chosen[0],
        "server_if_treated": chosen[1],
    }


CHOICES = {name: name for name in ("server_if_control", "server_if_treated")}
