"""Experiments in a system learnt from a log, and which design is soonest."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from queuebench.base.randomness import stream
from queuebench.cli import main
from queuebench.logs import analyze_log, design_plan
from queuebench.logs.design_plan import candidates, design_text, plan_designs, time_needed
from queuebench.logs.learned.experiment import (
    draw_arrivals,
    let_jobs_go,
    run_experiment,
    serve_jobs,
)
from queuebench.logs.learned.run import simulate as simulate_means
from queuebench.logs.learned.system import LearnedSystem, agreement, learn
from queuebench.pipeline.stages.estimate import estimate_trace
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing.designs import build_design
from queuebench.queueing.oracle import solve
from tests.logs.exported import CHOICES, columns_of, write_log
from tests.logs.test_learned_system import SERVERS, laws

KEYS = {
    "system": {"servers": 4},
    "load": 0.7,
    "horizon": 5.0,
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "warmup": 100.0,
}


@pytest.fixture(scope="module")
def system():
    rng = np.random.default_rng(1)
    return LearnedSystem(
        np.cumsum(rng.exponential(1 / (0.7 * SERVERS), 4000)), laws(1, 2), True,
        np.sort(rng.exponential(1.0, 500)), np.array([1.2, 1.1, 1.0, 0.9, 0.8]),
        np.array([0.0, 0.6, 1.0, 1.2]),
    )  # fmt: skip


def designed(kind, parameters=None, servers=SERVERS, start=-50.0):
    return build_design(
        kind, parameters or {}, np.ones(servers), 0.5, lambda purpose: stream(2, purpose), start
    )


def test_arrivals_are_stretches_of_the_log(system):
    arrival = draw_arrivals(system, 3000.0, np.random.default_rng(3))
    assert arrival[0] > 0.0
    assert arrival[-1] < 3000.0
    gaps, known = np.diff(arrival, prepend=0.0), np.diff(system.arrival)
    found = np.argmin(np.abs(gaps[:, None] - known), axis=1)
    assert known[found] == pytest.approx(gaps, abs=1e-9)
    breaks = np.flatnonzero(np.diff(found) % len(known) != 1) + 1
    # But where one stretch happens to begin where another ends.
    assert np.all(breaks % (len(known) // 20) == 0)
    assert len(breaks) == (len(gaps) - 1) // (len(known) // 20)


def plain_choose(arm, places, agreeing, pools, lengths, rng):
    """Choose with sorted lists: for the arm, and with agreement for the other one."""

    def server(of, place):
        pool = pools[of]
        level = sorted(lengths[s] for s in pool)[place]
        tied = [s for s in pool if lengths[s] == level]
        return tied[int(rng.random() * len(tied))]

    def place(of):
        return min(int(np.sum(places[of, idle] <= rng.random())), places.shape[2] - 1)

    idle = int(any(lengths[s] == 0 for s in pools[arm]))
    chosen = [None, None]
    at = place(arm)
    chosen[arm] = chosen[1 - arm] = server(arm, at)
    if not len(agreeing):
        return chosen
    own = [lengths[s] for s in pools[arm]]
    group = sum(k < lengths[chosen[arm]] for k in own), own.count(lengths[chosen[arm]])
    if rng.random() >= agreeing[arm, idle, group[0], group[1]]:
        while chosen[1 - arm] == chosen[arm]:
            chosen[1 - arm] = server(1 - arm, place(1 - arm))
    return chosen


def plain_run(arrival, treated, places, agreeing, pools, system, rng):
    """Run with lists of departures, or of jobs that leave at ticks."""
    n, servers = len(arrival), len(system.slowness)
    chosen, met, departure = np.zeros((n, 2), int), np.zeros((n, 2), int), np.zeros(n)
    queues = [[] for _ in range(servers)]
    rates, mean = system.letting_go, 1 / (servers * max(system.letting_go))
    tick = math.inf if system.first_come else arrival[0] + rng.exponential(mean)
    for i in range(n + 1):
        now = arrival[i] if i < n else math.inf
        while tick <= now and (i < n or any(queues)) and not system.first_come:
            s = int(rng.random() * servers)
            if rng.random() * max(rates) < rates[min(len(queues[s]), len(rates) - 1)]:
                which = int(rng.random() * len(queues[s]))
                departure[queues[s][which]] = tick
                queues[s][which] = queues[s][-1]
                queues[s].pop()
            tick += rng.exponential(mean)
        if i == n:
            return chosen, met, departure
        if system.first_come:
            queues = [[leaves for leaves in queue if leaves > now] for queue in queues]
        lengths = [len(queue) for queue in queues]
        chosen[i] = plain_choose(treated[i], places, agreeing, pools, lengths, rng)
        met[i] = [lengths[s] for s in chosen[i]]
        s = chosen[i, treated[i]]
        if system.first_come:
            service = system.service[int(rng.random() * len(system.service))]
            departure[i] = max([now, *queues[s]]) + system.slowness[s] * service
            queues[s].append(departure[i])
        else:
            queues[s].append(i)
    return None


@pytest.mark.parametrize("first_come", [True, False])
@pytest.mark.parametrize("form", ["alone", "both choices", "pools"])
def test_jobs_against_lists(system, first_come, form):
    n = 1500
    system = system._replace(first_come=first_come)
    rng = np.random.default_rng(4)
    arrival, treated = system.arrival[:n], (rng.random(n) < 0.5).astype(np.uint8)
    places, agreeing = system.places, np.empty((0, 2, 1, 2))
    pools = np.array([np.arange(SERVERS)] * 2)
    if form == "both choices":
        agreeing = rng.random((2, 2, SERVERS, SERVERS + 1))
    if form == "pools":
        places, pools = np.ascontiguousarray(places[:, :, 1::2]), np.array([[0, 3], [1, 4]])
    expected = plain_run(
        arrival, treated, places, agreeing, pools, system, np.random.default_rng(5)
    )
    made = np.empty((n, 2), np.int32), np.empty((n, 2), np.int32), np.empty(n)
    known = arrival, treated, places, agreeing, pools
    rng = np.random.default_rng(5)
    if first_come:
        assert serve_jobs(*known, system.service, system.slowness, rng, *made)
    else:
        assert let_jobs_go(*known, SERVERS, system.letting_go, rng, *made)
    own = np.arange(n), treated
    for got, wanted in zip(made, expected, strict=True):
        one = got.ndim == 2 and not len(agreeing)
        assert np.array_equal(got[own], wanted[own]) if one else got == pytest.approx(wanted)


@pytest.mark.parametrize("first_come", [True, False])
def test_a_record_is_one(system, first_come):
    """Numbers in the system and queues met are those of its own jobs, the carried ones among them."""
    system = system._replace(first_come=first_come)
    arrival = draw_arrivals(system, 450.0, np.random.default_rng(6)) - 50.0
    design = designed("shares", {"shares": [0.2, 0.8], "period": 40.0, "order": "cycles"})
    record = run_experiment(system, design, arrival, 400.0, np.random.default_rng(7), number=3)
    assert (record.number, record.record_start, record.record_end) == (3, 0.0, 400.0)
    at, response, server = map(record.column, ("arrival_time", "response_time", "server"))
    assert record.arrivals == len(at) == np.count_nonzero(arrival > 0.0)
    carried = record.carry.to_pylist()
    assert carried
    assert all(job["arrival"] < 0.0 < job["departure"] for job in carried)
    since = np.concatenate([[job["arrival"] for job in carried], at])
    until = np.concatenate([[job["departure"] for job in carried], at + response])
    where = np.concatenate([[job["server"] for job in carried], server])
    for i in range(0, len(at), 7):
        there = (since < at[i]) & (until > at[i])
        assert record.column("in_system")[i] == there.sum()
        assert record.column("queue_length")[i] == np.sum(there & (where == server[i]))
    assert np.array_equal(record.column("block"), np.floor(at / 40.0))
    # 0.5 is within four standard errors, 4 * sqrt(0.16 / 700), of neither share.
    for share in (0.2, 0.8):
        treated = record.column("treated")[record.column("share") == share]
        assert treated.mean() == pytest.approx(share, abs=4 * math.sqrt(0.16 / len(treated)))


@pytest.mark.parametrize("first_come", [True, False])
def test_jobs_have_the_mean_response_of_the_other_simulation(system, first_come):
    """Four standard errors: a false alarm in one of 16 000 seeds."""
    system = system._replace(first_come=first_come)
    rng = np.random.default_rng(8)
    own, others = [], []
    for run in range(24):
        arrival = draw_arrivals(system, 3300.0, rng)
        record = run_experiment(
            system, designed("bernoulli", start=-300.0), arrival - 300.0, 3000.0, rng
        )
        own.append(record.column("response_time").mean())
        known = system._replace(arrival=arrival)
        others.append(simulate_means(known, 0.5, np.random.SeedSequence(run)).response)
    apart = np.array(own) - others
    assert abs(apart.mean()) < 4 * apart.std(ddof=1) / math.sqrt(len(apart))


def test_a_queue_without_end_makes_no_record(system):
    places = laws(1, 2)
    places[:] = np.cumsum(np.eye(SERVERS)[-1])
    rng = np.random.default_rng(9)
    arrival = np.cumsum(rng.exponential(1 / (0.7 * SERVERS), 10_000))
    for first_come in (True, False):
        known = system._replace(places=places, first_come=first_come)
        assert run_experiment(known, designed("bernoulli"), arrival, arrival[-1], rng) is None


def test_arms_agree_as_often_as_in_the_log(simulate):
    """By arm and by whether a server is idle, within five standard errors of both logs."""
    _, replicate = simulate(arrivals=30_000, **KEYS)
    system = learn(replicate, 4, first_come=True, choices=True)
    rng = np.random.default_rng(10)
    arrival = draw_arrivals(system, replicate.record_end, rng)
    record = run_experiment(
        system, designed("bernoulli", servers=4, start=0.0), arrival, arrival[-1], rng
    )

    def agreed(log):
        same = np.equal(*(log.column(name) for name in CHOICES))
        treated, met = log.column("treated").astype(bool), log.column("queue_length")
        return [
            (same[kind].mean(), math.sqrt(0.25 / kind.sum()))
            for arm in (treated, ~treated)
            for kind in (arm & (met == 0), arm & (met > 0))
        ]

    for (one, error), (other, other_error) in zip(agreed(replicate), agreed(record), strict=True):
        assert abs(one - other) < 5 * math.hypot(error, other_error)


def test_agreement_from_counts():
    """A quarter of the jobs are of the second arm; of rare groups the arm's average is taken."""
    counts = np.zeros((2, 2, 2, 3))
    counts[0, 1], counts[1, 1] = [[0, 600, 0], [0, 300, 0]], [[0, 250, 0], [0, 50, 0]]
    agreeing = np.zeros((2, 2, 3))
    agreeing[1] = [[0, 400, 0], [0, 100, 0]]
    found = agreement(counts, agreeing)
    assert found[0, 1, :, 1] == pytest.approx([300 / 600, 75 / 300])
    assert found[1, 1, :, 1] == pytest.approx([100 / 250, 125 / 300])


def test_the_time_needed():
    time, error, unsure = time_needed(spread=2.0, freedom=50, bias=0.0, bias_se=0.0, rmse=0.1)
    assert (time, error, unsure) == (pytest.approx(200.0), pytest.approx(40.0), False)
    # A bias of 0.06 leaves 0.08.
    assert time_needed(2.0, 50, 0.06, 1e-9, 0.1)[0] == pytest.approx(2.0 / 0.08**2)
    # Its error is taken off, and widens that of the time.
    time, error, _ = time_needed(2.0, 10**9, 0.06, 0.01, 0.1)
    left = 0.01 - 0.0036 + 0.0001
    assert time == pytest.approx(2.0 / left)
    assert error == pytest.approx(time * math.sqrt(4 * 0.06**2 * 1e-4 + 2e-8) / left, rel=1e-3)
    assert time_needed(2.0, 50, -0.2, 0.01, 0.1)[::2] == (math.inf, False)
    # On neither side of 0.1 clearly: a bias that may be 0 is, one that is not decides nothing.
    assert time_needed(2.0, 50, 0.05, 0.05, 0.1)[::2] == (pytest.approx(200.0), True)
    time, _, unsure = time_needed(2.0, 50, 0.09, 0.02, 0.1)
    assert math.isnan(time)
    assert unsure
    assert math.isinf(time_needed(2.0, 50, 0.0, 0.1, 1e-200)[0])


def test_blocks_go_by_the_relaxation_time():
    known = SimpleNamespace(servers=5, horizon=100.0, unit="s")
    found = candidates(known, 10.0)
    assert [one.design.kind for one in found] == ["bernoulli", *["switchback"] * 3, *["shares"] * 3]
    assert [one.design.period for one in found[1:]] == [30.0, 100.0, 300.0, 420.0, 420.0, 420.0]
    assert [one.cycle for one in found[4:]] == [840.0, 1260.0, 1260.0]
    known.servers = 4
    assert "group" in [one.design.kind for one in candidates(known, 10.0)]


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(design_plan, "ARRIVALS", 300_000)


@pytest.fixture
def pilot(simulate, tmp_path):
    """A pilot, the path of its log and its simulated replicate."""
    _, replicate = simulate(arrivals=40_000, **KEYS)
    return write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))


def test_the_time_promised_is_the_time_it_takes(pilot, describe, monkeypatch, make_cell, tmp_path):
    """The soonest design, run in the true system as long as the plan says, has the wanted error.

    Its mean square over 60 experiments is that wanted, give or take 18 % of its root for them (four standard
    errors of 9 %), some 15 % for the plan's own simulation, 5 % for what is learnt: 0.6 to 1.5 together, a
    false alarm in fewer than one of a thousand seeds.
    """
    monkeypatch.setattr(design_plan, "ARRIVALS", 1_500_000)
    analysis = analyze_log(pilot, describe(horizon=5.0))
    exact = solve(4, 0.7, 1, 2).gte
    plan = plan_designs(analysis, rmse=0.15)
    assert not plan.fault
    # The pilot's 40 000 services and places are known to a few in a hundred.
    assert plan.effect == pytest.approx(exact, rel=0.1)
    best = plan.rows[0]
    assert best["estimator"].startswith("switchback")
    times = [row["time"] for row in plan.rows if math.isfinite(row["time"])]
    assert times == sorted(times)
    (design,) = (
        one.design for one in candidates(
            SimpleNamespace(servers=4, horizon=5.0, unit="s"), plan.relaxation
        ) if one.name == best["design"]
    )  # fmt: skip
    cell = make_cell(
        arrivals=math.ceil(best["time"] * plan.rate), estimators=[best["estimator"]],
        designs={"tried": design.model_dump()}, **KEYS,
    )  # fmt: skip
    path = tmp_path / "tried.arrow"
    simulate_batch(cell, "tried", range(60), path)
    found = np.array([row["estimate"] for row in estimate_trace(cell, "tried", path)[0]])
    assert 0.6 < math.sqrt(np.mean((found - exact) ** 2)) / 0.15 < 1.5


def test_a_coin_flip_misses_what_a_slope_misses(pilot, describe, quick):
    """Random against the shorter of two at load 0.7: T'(1/2) is two thirds of the effect."""
    plan = plan_designs(analyze_log(pilot, describe(horizon=5.0)), rmse=0.15)
    (flip,) = (row for row in plan.rows if row["design"].startswith("coin"))
    assert flip["bias"] > 0.15
    assert math.isinf(flip["time"]) or flip["open"]


def test_the_default_is_a_tenth_of_the_effect(pilot, describe, quick):
    analysis = analyze_log(pilot, describe(horizon=5.0))
    assert plan_designs(analysis, effect=-0.7).rmse == pytest.approx(0.07)
    plan = plan_designs(analysis)
    assert plan.rmse == pytest.approx(abs(plan.effect) / 10)


def test_both_choices_are_used_where_they_are_logged(simulate, describe, tmp_path, quick):
    _, replicate = simulate(arrivals=20_000, **KEYS)
    columns = columns_of(replicate, lengths=False, choices=CHOICES)
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe({name: name for name in CHOICES}, horizon=5.0))
    plan = plan_designs(analysis, rmse=2.0)
    (flip,) = (row for row in plan.rows if row["design"].startswith("coin"))
    assert flip["estimator"] == "mixed_dq_coupled"


def test_the_command_compares_designs(pilot, describe, quick, capsys):
    arguments = ["plan", "--log", str(pilot), "--config", str(describe(horizon=5.0))]
    assert main([*arguments, "--rmse=0.2"]) == 0
    printed = capsys.readouterr()
    assert "root mean squared error of the effect is 0.2 s" in printed.out
    assert "coin flip at 1/2" in printed.out
    assert "soonest: " in printed.out.splitlines()[-1]
    assert printed.err == ""


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_an_error_that_cannot_be_wanted(capsys, value):
    assert main(["plan", "--log=l", "--config=c", f"--rmse={value}"]) == 2
    assert "--rmse: must be above 0 and finite" in capsys.readouterr().err
    assert main(["plan", "--configfile=s", "--cell=c", "--rmse=1"]) == 2
    assert "--configfile and --rmse do not go together" in capsys.readouterr().err


def test_without_a_system_that_is_like_the_log_there_is_no_table(pilot, describe, tmp_path, quick):
    analysis = analyze_log(pilot, describe(horizon=5.0, estimators=["naive", "qdq"]))
    for change, why in (
        (
            {"servers": []},
            "the log names no servers, so that nothing can be learnt of other shares",
        ),
        (
            {"findings": [SimpleNamespace(forbids="*", name="x", text="it is wrong; so")]},
            "it is wrong",
        ),
    ):
        known = SimpleNamespace(**{**vars(analysis), **change})
        plan = plan_designs(known)
        assert not plan.rows
        text = design_text(plan, "s")
        assert text == f"which design is soonest cannot be said by simulation: {why}"


def test_a_pilot_of_blocks_teaches_no_other_design(simulate, describe, tmp_path, capsys):
    kind = {"kind": "switchback", "period": 25.0, "burn_in": 5.0}
    _, replicate = simulate("switchback", arrivals=20_000, designs={"switchback": kind})
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    description = describe(horizon=5.0, design=kind)
    assert main(["plan", "--log", str(log), "--config", str(description)]) == 0
    assert "the pilot must be of coin flips at one share" in capsys.readouterr().out
