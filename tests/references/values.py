"""States and features of value-based estimators, rebuilt job by job."""

import numpy as np

LEVELS = 14


def lengths_at_arrivals(record):
    """Return the length of every server just before every arrival, counted job by job."""
    names = ("server", "arrival_time", "response_time")
    server, arrival, response = (list(record.replicate.column(name)) for name in names)
    jobs = [(c["server"], c["departure"]) for c in record.replicate.carry.to_pylist()]
    found = []
    for s, t, r in zip(server, arrival, response, strict=True):
        lengths = [0] * len(record.setting.classes)
        for other, departure in jobs:
            lengths[other] += departure > t
        found.append(lengths)
        jobs = [job for job in jobs if job[1] > t]
        jobs.append((s, t + r))
    return found


def features(lengths, joined, groups):
    """Return the features of one state of queue lengths after a job has joined, one by one."""
    lengths = list(lengths)
    lengths[joined] += 1
    k = []
    for g in range(max(groups) + 1):
        own = [length for length, group in zip(lengths, groups, strict=True) if group == g]
        k.append([sum(length >= j for length in own) / len(own) for j in range(1, LEVELS + 1)])
    found = [value for shares in k for value in shares]
    found += [shares[j] ** 2 for shares in k for j in range(5)]
    found += [shares[j + 1] * shares[j] for shares in k for j in range(4)]
    found += [k[g][j] * k[h][j] for g in range(len(k)) for h in range(g) for j in range(2)]
    return found


def lstd(after, record, trace=0.0):
    """Return the LSTD-DQ estimate with whole matrices, and traces by their definition.

    `after` holds the features after the control's and after the treatment's choice, a row per arrival.
    """
    names = ("treated", "in_system", "arrival_time")
    treated, in_system, arrival = (record.replicate.column(name) for name in names)
    phi = np.where(treated[:, None], after[1], after[0])
    n = len(phi) - 1
    cost = in_system * (arrival[-1] - arrival[0]) / n
    centred = phi[:-1] - phi[:-1].mean(axis=0)
    steps = np.subtract.outer(np.arange(n), np.arange(n))
    memory = np.where(steps >= 0, float(trace) ** np.maximum(steps, 0), 0.0)
    z = memory @ centred if trace else centred
    matrix = z.T @ (phi[:-1] - phi[1:])
    used = np.diag(matrix) > 1e-4 * np.diag(matrix).max()
    right = z.T @ (cost[1:] - cost[1:].mean())
    scale = np.sqrt(np.diag(matrix)[used])
    scaled = matrix[np.ix_(used, used)] / np.outer(scale, scale)
    # The least solution: in a short record levels that are reached together are the same feature.
    theta = np.linalg.lstsq(scaled, right[used] / scale, rcond=1e-10)[0] / scale
    return float((after[1] - after[0])[:-1, used].mean(axis=0) @ theta)


def jobs_of(record, travel_time=0.0):
    """Return (server, dispatched, landing, start, departure) of all jobs, those carried in first."""
    carried = record.replicate.carry.to_pylist()
    carried.sort(key=lambda job: job["arrival"])
    free, found = {}, []
    for job in carried:
        s, t = job["server"], job["arrival"]
        landing = t + travel_time
        start = max(landing, free[s]) if s in free else job["start"]
        found.append((s, t, landing, start, job["departure"]))
        free[s] = job["departure"]
    names = ("server", "arrival_time", "response_time")
    for s, t, r in zip(*(record.replicate.column(n).tolist() for n in names), strict=True):
        landing = t + travel_time
        found.append((s, t, landing, max(landing, free.get(s, landing)), t + r))
        free[s] = t + r
    return found, len(carried)


def server_states(record, travel_time=0.0, view=lambda t: t):
    """Return lengths, starts of the services in progress (or None) and lengths seen, before each arrival."""
    jobs, carried = jobs_of(record, travel_time)
    servers = len(record.setting.classes)
    found, present = [], jobs[:carried]
    for job in jobs[carried:]:
        t = job[1]
        present = [other for other in present if other[-1] > view(t)]
        length, since, seen = [0] * servers, [None] * servers, [0] * servers
        for s, _, landing, start, departure in present:
            if departure > t:
                length[s] += 1
                if since[s] is None and landing <= t:
                    since[s] = start
            seen[s] += landing <= view(t) < departure
        found.append((length, since, seen))
        present.append(job)
    return found
