"""Textbook versions of the estimators: lists in, explicit loops, nothing clever."""

from math import floor, fsum, sqrt


def mean(values):
    """Return the arithmetic mean; an empty list is an error."""
    values = list(values)
    if not values:
        raise ValueError("the mean of no values is not defined")
    return fsum(values) / len(values)


def lambda_hat(arrival_time):
    """Return the estimated arrival rate, (n - 1) / (last arrival - first arrival)."""
    return (len(arrival_time) - 1) / (arrival_time[-1] - arrival_time[0])


def horizon_arrivals(horizon, rate):
    """Return L = floor(horizon * rate + 1e-9)."""
    return floor(horizon * rate + 1e-9)


# Costs of one arrival


def observed_cost(response_time):
    """Return w_j, the job's own response time."""
    return [float(value) for value in response_time]


def fitted_groups(queue_length, minimum=200):
    """Return the groups of queue lengths, lists of consecutive integers from 0 to the longest.

    Going up from 0, lengths are collected until a group has at least `minimum` jobs. What is left
    at the top joins the last complete group, or is the only group.
    """
    groups, current = [], []
    for length in range(max(queue_length) + 1):
        current.append(length)
        if sum(1 for q in queue_length if q in current) >= minimum:
            groups.append(current)
            current = []
    if current and groups:
        groups[-1] = groups[-1] + current
    elif current:
        groups = [current]
    return groups


def fitted_cost(server, queue_length, response_time, speeds, minimum=200):
    """Return w_j, the mean response of the jobs of the same speed class and group of lengths.

    Servers of equal speed form a class; each class has its own groups, see `fitted_groups`.
    """
    cost = [None] * len(server)
    for speed in set(speeds):
        members = [j for j in range(len(server)) if speeds[server[j]] == speed]
        if not members:
            continue
        for group in fitted_groups([queue_length[j] for j in members], minimum):
            inside = [j for j in members if queue_length[j] in group]
            value = mean(response_time[j] for j in inside) if inside else None
            for j in inside:
                cost[j] = value
    return cost


def mu_hat(
    server,
    arrival_time,
    response_time,
    speeds,
    record_end,
    *,
    carry=(),
    travel_time=0.0,
    count_carry=False,
):
    """Return every server's estimated rate, completed services / their total service time.

    A service is completed if its departure is not after `record_end`. It takes from
    max(landing, previous departure at the server) to its departure; jobs carried into the record
    (dicts with server, arrival, start and departure) give previous departures too, and are
    themselves counted as services only with `count_carry`. A server without completed services
    takes the pooled rate of the servers of equal speed.
    """
    services = [[] for _ in speeds]
    for s in range(len(speeds)):
        stays = [(c["arrival"], c["departure"], False) for c in carry if c["server"] == s]
        stays += [
            (arrival_time[j], arrival_time[j] + response_time[j], True)
            for j in range(len(server))
            if server[j] == s
        ]
        stays.sort(key=lambda stay: stay[0])
        if count_carry:
            services[s] += [
                c["departure"] - c["start"]
                for c in carry
                if c["server"] == s and c["departure"] <= record_end
            ]
        for position, (arrival, departure, recorded) in enumerate(stays):
            begin = arrival + travel_time
            if position > 0:
                begin = max(begin, stays[position - 1][1])
            if recorded and departure <= record_end:
                services[s].append(departure - begin)

    rates = []
    for s in range(len(speeds)):
        used = services[s]
        if not used:
            used = [x for r in range(len(speeds)) if speeds[r] == speeds[s] for x in services[r]]
        if not used:
            raise ValueError(f"no server as fast as server {s} completed a service")
        rates.append(len(used) / fsum(used))
    return rates


def markov_cost(server, queue_length, mu, travel_time=0.0):
    """Return w_j = (queue_length_j + 1) / mu[server_j] + travel time."""
    return [(queue_length[j] + 1) / mu[server[j]] + travel_time for j in range(len(server))]


def queue_length_cost(in_system, rate):
    """Return q_j = in_system_j / rate, the rate being one number or one for each arrival."""
    rates = [rate] * len(in_system) if isinstance(rate, int | float) else list(rate)
    return [in_system[j] / rates[j] for j in range(len(in_system))]


# Estimators


def truncated_q(cost, L):
    """Return Q_i = sum of (cost_j - mean cost) over j = i..i+L, for the starts i = 0..n-L-1."""
    n = len(cost)
    if n / 2 < L:
        raise ValueError(f"L is {L}, more than half of the {n} arrivals")
    centre = mean(cost)
    values = []
    for i in range(n - L):
        total = 0.0
        for j in range(i, i + L + 1):
            total += cost[j] - centre
        values.append(total)
    return values


def difference_of_means(values, treated):
    """Return the mean of the treated values minus that of the others; `treated` may be longer."""
    return mean(values[i] for i in range(len(values)) if treated[i]) - mean(
        values[i] for i in range(len(values)) if not treated[i]
    )


def naive(response_time, treated):
    """Return the mean response of the treated minus that of the controls, over all arrivals."""
    return difference_of_means(response_time, treated)


def group(response_time, treated):
    """Return the mean response of the treatment half minus that of the control half."""
    return difference_of_means(response_time, treated)


def dq(cost, treated, L):
    """Return the mean Q over the treated starts minus that over the control starts.

    `wdq`, `wdq_markov` and `wdq_observed` are this with the fitted, markov and observed cost,
    `qdq` with the queue-length cost.
    """
    values = truncated_q(cost, L)
    treated_starts = sum(1 for i in range(len(values)) if treated[i])
    if min(treated_starts, len(values) - treated_starts) < 2:
        raise ValueError("each arm needs at least 2 starts")
    return difference_of_means(values, treated)


def optimal_alpha(q_w, q_q):
    """Return (Var Qq - Cov) / (Var Qw + Var Qq - 2 Cov), moments pooled over all starts.

    It is 1/2 where the denominator is not above 1e-12 times the sum of the variances.
    """
    mean_w, mean_q = mean(q_w), mean(q_q)
    var_w = mean((w - mean_w) ** 2 for w in q_w)
    var_q = mean((q - mean_q) ** 2 for q in q_q)
    cov = mean((w - mean_w) * (q - mean_q) for w, q in zip(q_w, q_q, strict=True))
    denominator = var_w + var_q - 2 * cov
    if denominator <= 1e-12 * (var_w + var_q):
        return 0.5
    return (var_q - cov) / denominator


def mixture(q_w, q_q, alpha):
    """Return alpha * Qw + (1 - alpha) * Qq for every start."""
    return [alpha * w + (1 - alpha) * q for w, q in zip(q_w, q_q, strict=True)]


def mixed_dq(w_cost, q_cost, treated, L):
    """Return alpha * wdq + (1 - alpha) * qdq, and the estimated alpha."""
    alpha = optimal_alpha(truncated_q(w_cost, L), truncated_q(q_cost, L))
    return alpha * dq(w_cost, treated, L) + (1 - alpha) * dq(q_cost, treated, L), alpha


def switchback(arrival_time, treated, response_time, period, record_end, burn_in=0.0):
    """Return the mean response of arrivals in treated blocks minus that in control blocks.

    Block b is [b * period, (b + 1) * period). Blocks 2m and 2m + 1 form a pair; a pair that ends
    after `record_end` is dropped. Arrivals less than `burn_in` after their block's start are left
    out (`switchback_burn_in`).
    """
    kept = []
    for j in range(len(arrival_time)):
        block = floor(arrival_time[j] / period)
        pair_end = (2 * (block // 2) + 2) * period
        if pair_end <= record_end and arrival_time[j] - block * period >= burn_in:
            kept.append(j)
    return difference_of_means([response_time[j] for j in kept], [treated[j] for j in kept])


# Standard error


def batch_means_se(values, treated, batches):
    """Return the batch-means standard error of the difference of arm means over all starts.

    With the influence psi_i = A_i (Q_i - mean_T) / share_T - (1 - A_i) (Q_i - mean_C) / share_C and
    its sums S_b over B consecutive batches of starts // B starts (the remainder joins the last),
    se = sqrt(B / (B - 1) * sum_b (S_b - mean S)^2) / starts. For mixed DQ the values are the
    `mixture` at the estimated alpha.
    """
    starts = len(values)
    arm = [bool(treated[i]) for i in range(starts)]
    share_t = sum(arm) / starts
    share_c = 1 - share_t
    mean_t = mean(values[i] for i in range(starts) if arm[i])
    mean_c = mean(values[i] for i in range(starts) if not arm[i])

    size = starts // batches
    if batches < 2 or size < 1:
        raise ValueError(f"{starts} starts cannot be split into {batches} batches, 2 at least")
    sums = [0.0] * batches
    for i in range(starts):
        batch = min(i // size, batches - 1)
        if arm[i]:
            sums[batch] += (values[i] - mean_t) / share_t
        else:
            sums[batch] -= (values[i] - mean_c) / share_c

    centre = mean(sums)
    squares = fsum((total - centre) ** 2 for total in sums)
    return sqrt(batches / (batches - 1) * squares) / starts
