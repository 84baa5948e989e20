"""Whole runs against queueing theory: closed forms, small exact chains, and identities path by path.

A mean of a run is compared with its theoretical value within 4.5 of its standard errors, from 64 batch
means: by Student's law with 63 degrees of freedom one comparison raises a false alarm once in 33 000
seeds, all of this file's together about once in 250. Every comparison also says how small the standard
error must be, so that none passes for want of precision.
"""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.sparse.linalg import spsolve

from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.pipeline.stages.truth import simulate_truth
from queuebench.trace import Trace, trace_schema

BATCHES = 64
ERRORS = 4.5


def simulate(cell, arm=0, **length):
    """Return the columns of a long run under one arm's policy alone."""
    names = ("arrival_time", "server", "queue_length", "in_system", "response_time")
    blocks = [
        [getattr(block, name).copy() for name in names]
        for block in Setup(cell).pure(arm, "theory").blocks(**length)
    ]
    return dict(zip(names, map(np.concatenate, zip(*blocks, strict=True)), strict=True))


def mean_and_error(values):
    """Return the mean of a stationary series and its standard error by batch means."""
    used = len(values) // BATCHES * BATCHES
    means = np.asarray(values[:used], dtype=float).reshape(BATCHES, -1).mean(axis=1)
    return means.mean(), means.std(ddof=1) / np.sqrt(BATCHES)


def assert_mean(values, expected, precision=0.005):
    """Compare a mean with theory; `precision` bounds the standard error, relative to the value."""
    mean, error = mean_and_error(values)
    assert error < precision * abs(expected)
    assert abs(mean - expected) < ERRORS * error, f"{mean:.5f} +- {error:.5f}, not {expected:.5f}"


def power_of(d):
    return {"policy": "power_of_d", "d": d}


RANDOM = power_of(1)
ROUND_ROBIN = {"policy": "round_robin"}


@pytest.fixture
def alone(make_cell):
    """Return a function that builds a cell whose arms both follow one policy."""

    def make(policy, load, servers, **keys):
        return make_cell(
            load, system={"servers": servers}, control=policy, treatment=policy, **keys
        )

    return make


# One server: Pollaczek and Khinchine.

SERVICES = {
    "exponential": ({"distribution": "exponential"}, 1.0),
    "constant": ({"distribution": "constant"}, 0.0),
    "erlang": ({"distribution": "erlang", "stages": 3}, 1 / 3),
    "hyperexponential": ({"distribution": "hyperexponential", "scv": 3.0}, 3.0),
    "pareto": ({"distribution": "pareto", "shape": 6.0}, 1 / 24),
}


def pollaczek_khinchine(load, scv, speed=1.0):
    """Mean response of an M/G/1 queue whose service has mean ``1 / speed``; `load` is its rate."""
    busy = load / speed
    return (1.0 + busy * (1.0 + scv) / (2.0 * (1.0 - busy))) / speed


@pytest.mark.parametrize("servers", [1, 8])
@pytest.mark.parametrize("service", SERVICES)
def test_one_server_and_random_routing_by_pollaczek_and_khinchine(alone, service, servers):
    law, scv = SERVICES[service]
    run = simulate(alone(RANDOM, 0.6, servers, service=law), arrivals=1_000_000)
    expected = pollaczek_khinchine(0.6, scv)
    assert_mean(run["response_time"], expected, precision=0.01)
    # Little's law, and arrivals see time averages.
    assert_mean(run["in_system"], servers * 0.6 * expected, precision=0.01)


def test_the_second_moment_of_a_response(alone):
    """``E W^2 = 2 (E W)^2 + rate E S^3 / (3 (1 - load))``; here Erlang service of three stages."""
    run = simulate(alone(RANDOM, 0.5, 1, service=SERVICES["erlang"][0]), arrivals=1_000_000)
    wait = pollaczek_khinchine(0.5, 1 / 3) - 1.0
    second = 2 * wait**2 + 0.5 * (3 * 4 * 5 / 27) / (3 * 0.5)
    # A response is a wait and a service, independent of one another.
    assert_mean(run["response_time"] ** 2, second + 2 * wait + 4 / 3, precision=0.01)


def test_round_robin_gives_each_server_erlang_interarrivals(alone):
    """GI/M/1: every N-th arrival; sigma is the root of ``sigma = (rate / (rate + 1 - sigma))^N``."""
    for servers, load in ((2, 0.7), (6, 0.7), (20, 0.8)):
        run = simulate(alone(ROUND_ROBIN, load, servers), arrivals=1_000_000)
        sigma = round_robin_sigma(servers * load, servers)
        assert_mean(run["response_time"], 1 / (1 - sigma), precision=0.01)
        # Arrivals meet a geometric number of jobs.
        assert_mean(run["queue_length"] == 0, 1 - sigma)
        assert_mean(run["queue_length"] >= 2, sigma**2, precision=0.02)


def round_robin_sigma(rate, servers):
    return brentq(lambda s: s - (rate / (rate + 1 - s)) ** servers, 0.0, 1 - 1e-6)


def test_each_half_of_a_group_design_is_a_system_of_its_own(make_cell, tmp_path):
    """Random routing against round robin: M/M/1, and GI/M/1 with N/2 stages."""
    cell = make_cell(
        load=0.7, system={"servers": 6}, control=RANDOM, treatment=ROUND_ROBIN,
        arrivals=1_000_000, designs={"group": {"kind": "group"}},
    )  # fmt: skip
    simulate_batch(cell, "group", range(1), tmp_path / "group.arrow")
    (replicate,) = Trace(tmp_path / "group.arrow")
    response, treated = replicate.column("response_time"), replicate.column("treated")
    assert_mean(response[~treated], 1 / 0.3, precision=0.01)
    assert_mean(response[treated], 1 / (1 - round_robin_sigma(2.1, 3)), precision=0.01)


# Unequal speeds.


@pytest.mark.parametrize("service", ["exponential", "erlang"])
@pytest.mark.parametrize(
    ("speeds", "own"),
    [
        ({"kind": "two_speed", "ratio": 2.0}, [2 / 3, 2 / 3, 4 / 3, 4 / 3]),
        ({"kind": "linear", "ratio": 3.0}, [1 / 2, 5 / 6, 7 / 6, 3 / 2]),
        ({"kind": "list", "values": [2.0, 3.0, 3.0, 4.0]}, [2 / 3, 1.0, 1.0, 4 / 3]),
    ],
    ids=["two_speed", "linear", "list"],
)
def test_random_routing_over_unequal_speeds(alone, speeds, own, service):
    """Every server is an M/G/1 queue of its own speed; the load is below the slowest speed."""
    load = 0.35
    law, scv = SERVICES[service]
    cell = alone(RANDOM, load, 4, speeds=speeds, service=law)
    np.testing.assert_allclose(Setup(cell).system.speeds, own, rtol=1e-12)
    run = simulate(cell, arrivals=1_000_000)
    own = np.array(own)
    for speed in np.unique(own):
        of_class = np.isin(run["server"], np.flatnonzero(own == speed))
        expected = pollaczek_khinchine(load, scv, speed)
        assert_mean(run["response_time"][of_class], expected, precision=0.01)
        assert_mean(of_class, np.mean(own == speed))
    overall = np.mean([pollaczek_khinchine(load, scv, speed) for speed in own])
    assert_mean(run["response_time"], overall, precision=0.01)


# Small systems by their whole Markov chain.


def least(cost, d):
    def rule(permutation, lengths, speeds):
        return min(permutation[:d], key=lambda s: cost(lengths[s], speeds[s]))

    return rule


def first_idle(permutation, lengths, speeds):
    return next((s for s in permutation if lengths[s] == 0), permutation[0])


def exact_law(rule, speeds, rate, cut):
    """Solve the chain of all queue lengths below a cut.

    Arrivals are split as `rule` chooses over all permutations; at the cut they are lost.

    Returns
    -------
    states : ndarray of int, shape (states, N)
    law : ndarray of float64, shape (states,)
    """
    states = list(itertools.product(range(cut + 1), repeat=len(speeds)))
    permutations = list(itertools.permutations(range(len(speeds))))
    number = {state: i for i, state in enumerate(states)}
    flows = []
    for here in states:
        steps = [(rule(p, here, speeds), 1, rate / len(permutations)) for p in permutations]
        steps += [(server, -1, speed) for server, speed in enumerate(speeds)]
        for server, step, flow in steps:
            there = list(here)
            there[server] += step
            if 0 <= there[server] <= cut:
                flows.append((number[tuple(there)], number[here], flow))
                flows.append((number[here], number[here], -flow))
    rows, columns, values = zip(*flows, strict=True)
    generator = sparse.csc_matrix((values, (rows, columns)), shape=(len(states),) * 2)
    rest = spsolve(generator[1:, 1:], -generator[1:, 0].toarray().ravel())
    law = np.concatenate([[1.0], rest])
    return np.array(states), law / law.sum()


def shortest(length, speed):
    return length


def expected_delay(length, speed):
    return (length + 1) / speed


SMALL = {
    "random": (RANDOM, least(shortest, 1)),
    "power_of_2": (power_of(2), least(shortest, 2)),
    "shortest": ({"policy": "join_shortest_queue"}, least(shortest, 3)),
    "idle": ({"policy": "join_idle_queue"}, first_idle),
    "delay": ({"policy": "shortest_expected_delay", "d": 3}, least(expected_delay, 3)),
    "delay_of_2": ({"policy": "shortest_expected_delay", "d": 2}, least(expected_delay, 2)),
}


@pytest.mark.parametrize("speeds", [[1.0, 1.0, 1.0], [2.0, 3.0, 4.0]])
@pytest.mark.parametrize("name", ["power_of_2", "shortest", "idle", "delay", "delay_of_2"])
def test_three_servers_by_their_whole_chain(alone, name, speeds):
    policy, rule = SMALL[name]
    load = 0.6
    scaled = [speed * 3 / sum(speeds) for speed in speeds]
    states, law = exact_law(rule, scaled, 3 * load, cut=18)
    # What the cut leaves out cannot be seen at the precision of the run.
    assert law @ (states.max(axis=1) == 18) < 1e-4
    cell = alone(policy, load, 3, speeds={"kind": "list", "values": speeds})
    run = simulate(cell, arrivals=1_000_000)
    jobs = law @ states.sum(axis=1)
    assert_mean(run["response_time"], jobs / (3 * load))
    assert_mean(run["in_system"], jobs)
    assert_mean(run["in_system"] == 0, law[0], precision=0.02)
    for server in range(3):
        busy = law @ (states[:, server] > 0)
        # What a server completes is what it was sent.
        assert_mean(run["server"] == server, scaled[server] * busy / (3 * load))


# A varying rate: the chain's equations integrated over cycles until they repeat.

AMPLITUDE, CYCLE = 0.8, 60.0


def periodic_means(arrivals, services, jobs, rate, cycles=5, steps=2000):
    """Return the mean number in system over time and over arrivals, in the periodic regime.

    Parameters
    ----------
    arrivals, services : sparse matrix
        Generators of arrivals at rate 1 and of the services.
    jobs : ndarray of float64
        Number in system by state; the first state is empty.
    rate : float
        Average arrival rate.
    """
    step = CYCLE / steps

    def relative(k):
        return 1.0 + AMPLITUDE * np.sin(2 * np.pi * k / steps)

    def flow(law, k):
        return rate * relative(k) * (arrivals @ law) + services @ law

    law = np.zeros(len(jobs))
    law[0] = 1.0
    for _ in range(cycles):
        over_time = over_arrivals = 0.0
        before = law
        for k in range(steps):
            over_time += law @ jobs / steps
            over_arrivals += relative(k) * (law @ jobs) / steps
            # Runge and Kutta's four stages.
            one = flow(law, k)
            two = flow(law + step / 2 * one, k + 0.5)
            three = flow(law + step / 2 * two, k + 0.5)
            four = flow(law + step * three, k + 1)
            law = law + step / 6 * (one + 2 * two + 2 * three + four)
    assert np.abs(law - before).sum() < 1e-6
    return over_time, over_arrivals


def generator(moves, size):
    """Return the generator of moves ``(here, there)``, each at rate 1."""
    here, there = np.transpose(moves)
    rows, columns = np.concatenate([there, here]), np.concatenate([here, here])
    rates = np.repeat([1.0, -1.0], len(here))
    return sparse.csr_matrix((rates, (rows, columns)), shape=(size, size))


def one_server_alone(rate, cut=60):
    up = [(n, n + 1) for n in range(cut)]
    down = [(n + 1, n) for n in range(cut)]
    jobs = np.arange(cut + 1.0)
    return periodic_means(generator(up, cut + 1), generator(down, cut + 1), jobs, rate)


def shorter_of_two(rate, cut=30):
    states = [(longer, shorter) for longer in range(cut + 1) for shorter in range(longer + 1)]
    number = {state: i for i, state in enumerate(states)}

    def of(*lengths):
        return number[max(lengths), min(lengths)]

    up = [(of(a, b), of(a, b + 1)) for a, b in states if b < cut]
    down = [(of(a, b), of(a - 1, b)) for a, b in states if a]
    down += [(of(a, b), of(a, b - 1)) for a, b in states if b]
    size = len(states)
    jobs = np.array([sum(state) for state in states], dtype=float)
    return periodic_means(generator(up, size), generator(down, size), jobs, rate)


def test_a_varying_rate_by_the_equations_of_its_chain(make_cell):
    """Two servers, random routing against the shorter queue: averages over time and over arrivals.

    Bounds are 4.5 standard errors of at least 30 batches; a false alarm once in 2000 seeds.
    """
    rate = 1.0
    control = 2 * np.array(one_server_alone(rate / 2))
    treatment = np.array(shorter_of_two(rate))
    gte, gte_seen = (treatment - control) / rate
    # -0.838 over time and -1.000 over arrivals
    assert gte_seen < 1.15 * gte < 0
    process = {"kind": "sinusoidal", "amplitude": AMPLITUDE, "period": CYCLE}
    cell = make_cell(
        rate / 2, system={"servers": 2}, control=RANDOM, treatment=power_of(2),
        arrival_process=process, truth={"relative": 0.005},
    )  # fmt: skip
    truth = simulate_truth(cell)
    assert truth.gte_se < 0.01 * abs(gte)
    assert abs(truth.gte - gte) < ERRORS * truth.gte_se
    assert abs(truth.gte_queue - gte) < ERRORS * truth.gte_queue_se
    run = [simulate(cell, arm, duration=CYCLE * 64 * 200) for arm in (0, 1)]
    for columns, (over_time, over_arrivals) in zip(run, (control, treatment), strict=True):
        assert_mean(columns["response_time"], over_time / rate, precision=0.01)
        assert_mean(columns["in_system"], over_arrivals, precision=0.01)
    # What the truth averages over arrivals is that difference, proportionally less certain.
    error = truth.gte_queue_se * gte_seen / gte
    assert abs(truth.gte_queue_seen - gte_seen) < ERRORS * error


# Delayed information: values of two earlier prototypes, which say they are good to 0.3 %.


def assert_mean_within_one_percent(cell, expected, arrivals):
    """Compare a mean response with a table's value, by a run good to a quarter of a percent.

    The load that a batch happened to have, its mean interarrival time and mean service, explains most of
    its mean response; regressing on both, whose expectations are known, removes that.
    """
    run = simulate(cell, arrivals=arrivals)
    response, interarrival, service = (
        values[: arrivals // BATCHES * BATCHES].reshape(BATCHES, -1).mean(axis=1)
        for values in (
            run["response_time"],
            np.diff(run["arrival_time"], prepend=0.0),
            requirements(run),
        )
    )
    known = np.column_stack([np.ones(BATCHES), interarrival * cell.rate - 1.0, service - 1.0])
    mean = np.linalg.lstsq(known, response, rcond=None)[0]
    residual = response - known @ mean
    variance = residual @ residual / (BATCHES - 3) * np.linalg.inv(known.T @ known)[0, 0]
    assert np.sqrt(variance) < 0.0025 * expected
    assert mean[0] == pytest.approx(expected, rel=0.01)


def requirements(run):
    """Recover service requirements from arrivals and departures (equal speeds, no travel)."""
    order = np.argsort(run["server"], kind="stable")
    arrival = run["arrival_time"][order]
    departure = arrival + run["response_time"][order]
    first = np.diff(run["server"][order], prepend=-1) != 0
    result = np.empty(len(order))
    result[order] = departure - np.maximum(arrival, np.roll(departure, 1))
    # The first job of each server may have waited for one of the warm-up.
    result[order[first]] = 1.0
    return result


def seen(kind, lag):
    """Return the keys of a view of the lengths as the table names it."""
    named = {"fresh": {}, "constant_age": {"age": lag}, "bulletin_board": {"period": lag}}
    return {"information": {"kind": kind, **named[kind]}}


@pytest.mark.parametrize(
    ("kind", "lag", "d", "expected"),
    [
        ("fresh", 0.0, 3, 2.217),
        ("constant_age", 1.0, 2, 3.36),
        ("constant_age", 4.0, 3, 5.244),
        ("bulletin_board", 2.0, 3, 3.231),
    ],
)
def test_delayed_information(alone, kind, lag, d, expected):
    """Within 1 %, four standard errors: a false alarm of one of the four once in 2500 seeds."""
    cell = alone(power_of(d), 0.9, 20, **seen(kind, lag))
    assert_mean_within_one_percent(cell, expected, 2_500_000)


# Identities that hold job by job, on the same random numbers.


def test_ends_and_names_of_the_same_rule_give_the_same_bytes(alone):
    """Join the shortest queue is d = N; with equal speeds the least delay is the shortest queue."""
    servers = 6

    def columns(policy, **keys):
        return simulate(alone(policy, 0.7, servers, **keys), arrivals=20_000)

    equal = [
        ({"policy": "join_shortest_queue"}, power_of(servers), {}),
        ({"policy": "join_shortest_queue"}, power_of(servers), {"speeds": UNEQUAL}),
        ({"policy": "shortest_expected_delay", "d": 1}, RANDOM, {"speeds": UNEQUAL}),
        *(({"policy": "shortest_expected_delay", "d": d}, power_of(d), {}) for d in (2, 3, 6)),
        ({"policy": "shortest_expected_delay", "d": 3}, power_of(3), DELAYED),
    ]
    for one, other, keys in equal:
        same_bytes(columns(one, **keys), columns(other, **keys))
    # The comparison is not empty: with unequal speeds the two rules differ.
    one, other = (columns(policy, speeds=UNEQUAL) for policy in (equal[-1][0], power_of(3)))
    assert np.any(one["server"] != other["server"])


UNEQUAL = {"kind": "linear", "ratio": 1.5}
DELAYED = {"information": {"kind": "constant_age", "age": 1.0}}


def same_bytes(one, other):
    for name in one:
        assert one[name].tobytes() == other[name].tobytes(), name


def test_with_one_server_every_policy_is_the_same(alone):
    policies = [
        RANDOM, ROUND_ROBIN, {"policy": "join_idle_queue"}, {"policy": "join_shortest_queue"},
        {"policy": "shortest_expected_delay", "d": 1},
    ]  # fmt: skip
    runs = [simulate(alone(policy, 0.7, 1, warmup=50.0), arrivals=20_000) for policy in policies]
    for run in runs[1:]:
        same_bytes(runs[0], run)


@pytest.mark.parametrize("policy", [RANDOM, ROUND_ROBIN])
def test_travel_adds_its_constant_where_nobody_looks(alone, policy):
    """Every job meets the same queue later, so its response is longer by the travel time."""
    travel = 0.7
    plain = simulate(alone(policy, 0.7, 5), arrivals=1_000_000)
    travelling = simulate(alone(policy, 0.7, 5, travel_time=travel), arrivals=1_000_000)
    for name in ("arrival_time", "server", "queue_length"):
        assert travelling[name].tobytes() == plain[name].tobytes()
    longer = travelling["response_time"] - plain["response_time"]
    np.testing.assert_allclose(longer, travel, rtol=0, atol=1e-8)
    # The jobs on their way are in the system.
    on_their_way = travelling["in_system"] - plain["in_system"]
    assert_mean(on_their_way, 0.7 * 5 * travel)


@pytest.mark.parametrize("age", [0.0, 0.8])
@pytest.mark.parametrize("service", ["exponential", "constant"])
@pytest.mark.parametrize(
    "policy",
    [power_of(2), {"policy": "join_idle_queue"}, {"policy": "shortest_expected_delay", "d": 3}],
    ids=lambda policy: policy["policy"],
)
def test_travelling_is_seeing_the_past(alone, policy, service, age):
    """On landing, a job was routed by the lengths of one travel time (and the age) ago.

    So a run with travel time x and information of age y makes the decisions of one without travel
    and with age x + y, and every response is longer by x.
    """
    keys = {"speeds": UNEQUAL, "service": SERVICES[service][0], "warmup": 100.0}
    view = {"kind": "constant_age", "age": age} if age else {"kind": "fresh"}
    travelling = simulate(
        alone(policy, 0.8, 5, travel_time=0.6, information=view, **keys), arrivals=20_000
    )
    delayed = simulate(
        alone(policy, 0.8, 5, information={"kind": "constant_age", "age": 0.6 + age}, **keys),
        arrivals=20_000,
    )
    for name in ("arrival_time", "server", "queue_length"):
        assert travelling[name].tobytes() == delayed[name].tobytes()
    longer = travelling["response_time"] - delayed["response_time"]
    np.testing.assert_allclose(longer, 0.6, rtol=0, atol=1e-9)


# A feature that is off costs nothing: the traces have the bytes of the plain study.

OFF = {
    "age": {"information": {"kind": "constant_age", "age": 0.0}},
    "amplitude": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.0, "period": 9.0}},
    "travel time": {"travel_time": 0.0},
    "two speeds": {"speeds": {"kind": "two_speed", "ratio": 1.0}},
    "linear": {"speeds": {"kind": "linear", "ratio": 1.0}},
    "list": {"speeds": {"kind": "list", "values": [0.3] * 6}},
    "one stage": {"service": {"distribution": "erlang", "stages": 1}},
}
ALL_OFF = {
    key: value for feature in OFF.values() for key, value in feature.items()
}  # the last of several kinds of speeds
DESIGNS = {
    "bernoulli": {"kind": "bernoulli"},
    "group": {"kind": "group"},
    "switchback": {"kind": "switchback", "period": 7.0},
}


@pytest.mark.parametrize("design", DESIGNS)
def test_a_feature_that_is_off_changes_no_byte(make_cell, tmp_path, design):
    def written(keys):
        path = tmp_path / "trace.arrow"
        cell = make_cell(
            system={"servers": 6}, arrivals=2000, warmup=30.0,
            designs={"bernoulli": None, design: DESIGNS[design]}, **keys,
        )  # fmt: skip
        simulate_batch(cell, design, range(2), path)
        names = trace_schema(delayed=False, blocks=design == "switchback").names
        replicates = list(Trace(path))
        columns = [
            [replicate.column(name).tobytes() for name in names if counted(name, design)]
            for replicate in replicates
        ]
        return columns, [(r.record_start, r.record_end, r.carry.to_pylist()) for r in replicates]

    plain = written({})
    for name, keys in {**OFF, "all": ALL_OFF}.items():
        assert written(keys) == plain, name
    assert written({"travel_time": 0.1}) != plain


def counted(name, design):
    return design != "group" or "_if_" not in name


def test_a_board_refreshed_at_every_moment_is_fresh_information(alone):
    view = {"kind": "bulletin_board", "period": 1e-9}
    runs = [
        simulate(alone(power_of(2), 0.8, 6, **keys), arrivals=20_000)
        for keys in ({}, {"information": view})
    ]
    same_bytes(*runs)
