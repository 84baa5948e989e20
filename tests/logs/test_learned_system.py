"""A system learnt from a log: its laws, its runs, and whether it is like the log."""

import math
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from queuebench.logs.learned.run import let_go, serve, simulate
from queuebench.logs.learned.shape import find_fault, shape
from queuebench.logs.learned.system import LearnedSystem, cumulative_places, learn, letting_go
from queuebench.trace import carry_array

SERVERS = 5
NOBODY = carry_array({name: np.empty(0) for name in ("server", "arrival", "start", "departure")})


def power(servers, d):
    """Return the law of the place of the shortest of d different servers, ties in random order."""
    return np.array([math.comb(servers - 1 - j, d - 1) for j in range(servers)]) / math.comb(
        servers, d
    )


def laws(control, treatment):
    """Return cumulative laws of places of two powers of d, alike with and without an idle server."""
    return np.cumsum([[power(SERVERS, d)] * 2 for d in (control, treatment)], axis=2)


def plain_serve(arrival, places, share, service, slowness, skipped, rng):
    """First come, first served, with lists of departures."""
    queues = [[] for _ in slowness]
    sums = np.zeros(5)
    for i, now in enumerate(arrival):
        arm = int(rng.random() < share)
        draw, within, size = rng.random(), rng.random(), rng.random()
        queues = [[leaves for leaves in queue if leaves > now] for queue in queues]
        lengths = [len(queue) for queue in queues]
        law = places[arm, int(0 in lengths)]
        place = min(int(np.sum(law <= draw)), len(law) - 1)
        tied = [s for s, length in enumerate(lengths) if length == sorted(lengths)[place]]
        s = tied[int(within * len(tied))]
        leaves = max([now, *queues[s]]) + slowness[s] * service[int(size * len(service))]
        if i >= skipped:
            sums += [leaves - now, *(lengths[s] * (arm == a) for a in (0, 1)), arm == 0, arm == 1]
        queues[s].append(leaves)
    return sums


def plain_let_go(arrival, places, share, servers, rates, skipped, rng):
    """The Markov chain, with a sorted list of lengths."""
    lengths, sums = [0] * servers, np.zeros(5)
    now, tick = 0.0, rng.exponential(1 / (servers * max(rates)))
    for i, moment in enumerate(arrival):
        counted = i > skipped
        while tick <= moment:
            sums[0] += counted * sum(lengths) * (tick - now)
            now = tick
            place, accepted = int(rng.random() * servers), rng.random()
            if accepted * max(rates) < rates[min(lengths[place], len(rates) - 1)]:
                lengths[place] -= 1
                lengths.sort()
            tick = now + rng.exponential(1 / (servers * max(rates)))
        sums[0] += counted * sum(lengths) * (moment - now)
        now = moment
        arm = int(rng.random() < share)
        law = places[arm, int(0 in lengths)]
        place = min(int(np.sum(law <= rng.random())), len(law) - 1)
        if i >= skipped:
            sums[1 + arm] += lengths[place]
            sums[3 + arm] += 1
        lengths[place] += 1
        lengths.sort()
    return sums


@pytest.fixture
def arrival():
    return np.cumsum(np.random.default_rng(1).exponential(1 / (0.85 * SERVERS), 3000))


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_the_run_of_servers_that_work_in_order(arrival, share):
    """Control joins long queues, so that rings of departures have to grow."""
    places = np.cumsum(
        [[power(SERVERS, 4)[::-1]] * 2, [power(SERVERS, 3), power(SERVERS, 2)]], axis=2
    )
    service = np.sort(np.random.default_rng(2).exponential(1.0, 500))
    known = arrival, places, share, service, np.array([1.2, 1.1, 1.0, 0.9, 0.8]), 300
    expected = plain_serve(*known, np.random.default_rng(3))
    assert serve(*known, np.random.default_rng(3)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("share", [0.4, 1.0])
def test_the_chain_of_lengths(arrival, share):
    rates = np.array([0.0, 0.6, 1.0, 1.2])
    places = np.cumsum([[power(SERVERS, 1)] * 2, [power(SERVERS, 3), power(SERVERS, 2)]], axis=2)
    known = arrival, places, share, SERVERS, rates, 300
    expected = plain_let_go(*known, np.random.default_rng(3))
    assert let_go(*known, np.random.default_rng(3)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_places_are_found_though_only_groups_of_them_are_seen(d):
    """From the expected numbers of jobs, so that all that is left is what the iteration has not reached."""
    counts = np.zeros((2, 2, SERVERS, SERVERS + 1))
    rng = np.random.default_rng(4)
    for _ in range(200):
        lengths = np.sort(rng.integers(4, size=SERVERS))
        edges = [0, *np.flatnonzero(np.diff(lengths)) + 1, SERVERS]
        for below, end in pairwise(edges):
            for arm, law in enumerate((power(SERVERS, d), power(SERVERS, 2))):
                counts[arm, int(lengths[0] == 0), below, end - below] += 100 * law[below:end].sum()
    found = cumulative_places(counts)
    for idle in range(2):
        assert found[0, idle] == pytest.approx(np.cumsum(power(SERVERS, d)), abs=0.005)
        assert found[1, idle] == pytest.approx(np.cumsum(power(SERVERS, 2)), abs=0.005)


def test_a_law_of_few_jobs_is_that_of_all():
    counts = np.zeros((2, 2, 2, 3))
    counts[:, 1, 0, 1] = 10_000.0
    counts[:, 0, 1, 1] = 100.0
    found = cumulative_places(counts)
    assert found[0, 1] == pytest.approx([1.0, 1.0])
    assert found[0, 0] == pytest.approx([10_000 / 10_100, 1.0])


def at_length(time, rates):
    """Return time and a Poisson number of departures by length, beginning at 1."""
    time = np.append(0.0, time)
    return np.stack([time, np.random.default_rng(5).poisson(time * np.append(0.0, rates))])


def test_equal_rates_are_pooled():
    time = 20_000.0 * 0.6 ** np.arange(12)
    seen = at_length(time, np.full(12, 0.5))
    assert letting_go(seen) == pytest.approx([0.0, seen[1].sum() / time.sum()])


def test_rates_that_grow_and_then_do_not():
    """Each is known to 1 in a hundred or better; four standard errors."""
    time = 20_000.0 * 0.8 ** np.arange(10)
    found = letting_go(at_length(time, np.minimum(np.arange(1, 11), 3) * 0.5))
    assert found == pytest.approx([0.0, 0.5, 1.0, 1.5], rel=0.04)


def test_rates_never_fall():
    time = np.array([5000.0, 0.0, 4000.0, 50.0])
    found = letting_go(at_length(time, np.array([1.0, 0.0, 0.8, 0.7])))
    assert np.all(np.diff(found) >= 0.0)


def log_of(system, share, jobs, rng, first_come):
    """Return a log of servers that work in order, or each at all its jobs at once, in equal parts."""
    arrival = np.cumsum(rng.exponential(1 / (0.8 * SERVERS), jobs))
    treated = rng.random(jobs) < share
    present = [[] for _ in range(SERVERS)]  # [work left, job] of sharing servers, or departures
    server, met, departure = np.zeros(jobs, int), np.zeros(jobs, int), np.zeros(jobs)
    clock = np.zeros(SERVERS)
    for i in range(jobs + 1):
        until = arrival[i] if i < jobs else math.inf
        for s in range(SERVERS):
            if first_come:
                present[s] = [leaves for leaves in present[s] if leaves > until]
                continue
            while present[s]:
                least = min(present[s])
                ends = clock[s] + least[0] * len(present[s])
                if ends > until:
                    break
                present[s] = [[left - least[0], job] for left, job in present[s] if job != least[1]]
                departure[least[1]] = clock[s] = ends
            if present[s]:
                done = (until - clock[s]) / len(present[s])
                present[s] = [[left - done, job] for left, job in present[s]]
            clock[s] = until
        if i == jobs:
            break
        lengths = np.array([len(queue) for queue in present])
        sampled = rng.permutation(SERVERS)[: system[int(treated[i])]]
        server[i] = s = sampled[np.argmin(lengths[sampled])]
        met[i], work = lengths[s], rng.exponential()
        if first_come:
            departure[i] = max([until, *present[s]]) + work
            present[s].append(departure[i])
        else:
            present[s].append([work, i])
    columns = {"arrival_time": arrival, "treated": treated, "server": server, "queue_length": met,
               "response_time": departure - arrival}  # fmt: skip
    return SimpleNamespace(column=columns.__getitem__, carry=NOBODY)


@pytest.mark.parametrize("first_come", [True, False])
def test_what_is_learnt_of_a_log_is_like_the_log(first_come):
    """The tolerance is find_fault's own: three standard errors and a part; a false alarm in one of some
    hundred seeds."""
    log = log_of((1, 2), 0.5, 15_000, np.random.default_rng(6), first_come)
    system = learn(log, SERVERS, first_come=first_come)
    for idle in range(2):
        # Some 3000 jobs are behind each law: four standard errors of at most 0.01.
        assert system.places[0, idle] == pytest.approx(np.cumsum(power(SERVERS, 1)), abs=0.05)
        assert system.places[1, idle] == pytest.approx(np.cumsum(power(SERVERS, 2)), abs=0.05)
    found = shape(system, 0.5)
    assert find_fault(system, found, log) is None
    assert found.treatment < found.here < found.control
    # Choosing the shorter of two queues helps the more the fewer do.
    assert found.missed < -4 * found.missed_se
    assert found.missed == pytest.approx(found.treatment - found.control - found.slope)


def test_a_system_that_differs_has_a_fault():
    log = log_of((1, 2), 0.5, 15_000, np.random.default_rng(6), True)
    system = learn(log, SERVERS, first_come=True)
    slower = system._replace(slowness=1.1 * system.slowness)
    swapped = system._replace(places=system.places[::-1].copy())
    assert "its mean response is" in find_fault(slower, shape(slower, 0.5), log)
    fault = find_fault(swapped, shape(swapped, 0.5), log)
    assert "mean queue met by control jobs" in fault


@pytest.mark.parametrize("first_come", [True, False])
def test_an_arm_under_which_queues_grow_is_a_fault(first_come):
    """Control sends all jobs to the longest queue."""
    rng = np.random.default_rng(7)
    places = laws(1, 2)
    places[0] = np.cumsum(np.eye(SERVERS)[-1])
    arrival = np.cumsum(rng.exponential(1 / (0.5 * SERVERS), 10_000))
    system = LearnedSystem(
        arrival, places, first_come, np.sort(rng.exponential(1.0, 1000)), np.ones(SERVERS),
        np.array([0.0, 1.0]),
    )  # fmt: skip
    assert math.isinf(simulate(system, 0.0, np.random.SeedSequence(1)).response)
    found = shape(system, 0.9)
    assert math.isinf(found.control)
    assert find_fault(system, found, None) == "its queues grow without end under one arm alone"
    assert "at the share run" in find_fault(system, shape(system, 0.1), None)


def test_there_may_be_too_little_to_learn_from():
    log = log_of((1, 2), 0.5, 300, np.random.default_rng(6), True)
    assert learn(log, SERVERS, first_come=True) is None
    assert learn(log, 1, first_come=True) is None
    assert learn(log, 1000, first_come=True) is None


def test_jobs_that_take_no_time_teach_nothing():
    rng = np.random.default_rng(8)
    jobs = 1000
    columns = {
        "arrival_time": np.arange(jobs, dtype=float), "treated": rng.random(jobs) < 0.5,
        "server": rng.integers(2, size=jobs), "response_time": np.zeros(jobs),
    }  # fmt: skip
    log = SimpleNamespace(column=columns.__getitem__, carry=NOBODY)
    assert learn(log, 2, first_come=True) is None


def test_runs_at_two_shares_draw_the_same_numbers(arrival):
    system = LearnedSystem(
        arrival,
        laws(2, 2),
        True,
        np.linspace(0.1, 1.9, 100),
        np.ones(SERVERS),
        np.array([0.0, 1.0]),
    )
    for known in (system, system._replace(first_come=False)):
        one, other = (simulate(known, share, np.random.SeedSequence(9)) for share in (0.0, 1.0))
        assert one.response == other.response
