"""States and features of value-based estimators, rebuilt job by job."""

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
