"""Whether rows that are missing are noticed, by their share, their tail, or the gaps they leave."""

import numpy as np
import pytest

from queuebench.logs import analyze_log
from queuebench.logs.checks.missing import trimming_bounds
from queuebench.logs.findings import EVERY
from tests.logs.exported import write_log
from tests.logs.loops import fcfs, sharing

KNOWN = {"kind": "bernoulli", "treated_share": 0.5}
NAMES = {
    "share_mismatch", "uncommon_share", "share_drift", "run_of_one_arm", "tail_cut_off", "gap",
    "dependent_assignment",
}  # fmt: skip


@pytest.fixture
def found(tmp_path, describe):
    def run(columns, **keys):
        plain = {name: columns[name] for name in ("arrival_time", "arm", "server", "response_time")}
        log = write_log(tmp_path / "log.parquet", plain)
        keys = {"drop": ["start"], "horizon": 5.0, "estimators": ["naive", "qdq"]} | keys
        analysis = analyze_log(log, describe(**keys))
        return {one.name: one for one in analysis.findings if one.name in NAMES}

    return run


def without(columns, lost):
    return {name: np.asarray(values)[~lost] for name, values in columns.items()}


def treated(columns):
    return columns["arm"] == "B"


def lost_at_random(columns, share, seed=1):
    """Treated rows, each lost with one probability."""
    return treated(columns) & (np.random.default_rng(seed).random(len(columns["arm"])) < share)


def longest(columns, share, among):
    limit = np.quantile(columns["response_time"][among], 1 - share)
    return among & (columns["response_time"] > limit)


def test_lost_rows_of_one_arm(found):
    """Six per cent of 30 000: five standard errors of the share, missed once in 2 000 seeds."""
    columns = fcfs(1, 30_000)
    assert not found(columns, design=KNOWN)
    fewer = without(columns, lost_at_random(columns, 0.06))
    one = found(fewer, design=KNOWN)["share_mismatch"]
    assert one.forbids == EVERY
    assert "of the treated rows were missing" in one.text
    guessed = found(fewer)["uncommon_share"]
    assert "if 0.5 was intended" in guessed.text
    assert not guessed.forbids
    share = float(treated(fewer).mean())
    assert not found(fewer, design=KNOWN | {"treated_share": share})


def test_a_share_that_cannot_matter(found):
    """A fifth of the rows are missing, but all responses are nearly the same."""
    columns = fcfs(1, 5000) | {
        "response_time": np.random.default_rng(1).uniform(0.099, 0.101, 5000)
    }
    columns["response_time"] += treated(columns)
    one = found(without(columns, lost_at_random(columns, 0.2)), design=KNOWN)["share_mismatch"]
    assert (one.kind, one.forbids) == ("note", ())


def test_trimming_bounds():
    class Replicate:
        arrivals = 8

        def column(self, name):
            return {
                "response_time": np.array([1.0, 2, 3, 4, 1, 2, 3, 6]),
                "treated": np.arange(8) >= 4,
            }[name]

    bounds = trimming_bounds(Replicate(), True, 0.25)
    assert (bounds.low, bounds.high) == (3 - 11 / 3, 3 - 2)
    bounds = trimming_bounds(Replicate(), False, 0.25)
    assert (bounds.low, bounds.high) == (-(2.5 - 2), 3 - 2.5)


@pytest.mark.parametrize("make", [fcfs, sharing])
def test_the_longest_rows_lost(found, make):
    columns = make(1, 30_000)
    assert not found(columns)
    every = np.ones(30_000, bool)
    one = found(without(columns, longest(columns, 0.02, every)))["tail_cut_off"]
    assert one.forbids == EVERY
    of_treated = found(without(columns, longest(columns, 0.03, treated(columns))))
    assert "longest treated responses" in of_treated["tail_cut_off"].text


@pytest.mark.parametrize("samples", [(1, 2), (2, 5)])
@pytest.mark.parametrize("load", [0.3, 0.8])
def test_bounded_services_are_no_lost_rows(found, samples, load):
    """Responses end sharply, at one service, two, and so on."""
    for service in (constant, uniform):
        one = found(fcfs(1, load=load, samples=samples, service=service)).get("tail_cut_off")
        assert one is None or not one.forbids


def constant(rng, treated):
    return np.ones(len(treated))


def uniform(rng, treated):
    return rng.uniform(0, 2, len(treated))


def test_an_outage_of_one_arm(found):
    columns = fcfs(1)
    assert not found(columns)
    during = (np.arange(20_000) >= 9000) & (np.arange(20_000) < 9060) & treated(columns)
    one = found(without(columns, during))["run_of_one_arm"]
    assert "all control" in one.text
    assert "naive" in one.forbids


def test_a_ramp_forbids_what_assumes_one_share(found):
    columns = fcfs(1)
    ramp = np.where(np.arange(20_000) < 10_000, 0.01, 0.5)
    arm = np.random.default_rng(3).random(20_000) < ramp
    one = found(columns | {"arm": np.where(arm, "B", "A")})["share_drift"]
    assert {"naive", "wdq_observed", "qdq", "mixed_dq", "lstd_dq"} <= set(one.forbids)
    assert "replay" not in one.forbids


def bursty(rng, jobs):
    phase = rng.exponential(15.0, jobs // 10)
    rate = np.resize([0.4, 6.0], len(phase))
    return np.interp(
        np.cumsum(rng.exponential(1.0, jobs)),
        np.concatenate([[0.0], np.cumsum(phase * rate)]),
        np.concatenate([[0.0], np.cumsum(phase)]),
    )


def sessions(rng, jobs):
    starts = np.cumsum(rng.exponential(2.5, jobs // 5 + 100))
    within = rng.exponential(1.0, (len(starts), 5)).cumsum(axis=1)
    return np.sort(starts[:, None] + within, axis=None)[:jobs]


def heavy(rng, jobs):
    return np.cumsum(0.1 * (1 + rng.pareto(1.6, jobs)))


def nights(rng, jobs):
    """Twenty days of about 100, each followed by 50 without arrivals. (Up to five could be outages.)"""
    busy = np.cumsum(rng.exponential(0.25, jobs))
    return busy + 50.0 * (busy // 100.0)


ARRIVALS = {"bursty": bursty, "sessions": sessions, "heavy": heavy, "nights": nights}


@pytest.mark.parametrize("process", ARRIVALS)
def test_long_gaps_that_are_the_arrivals_own(found, process):
    logs = [_times(ARRIVALS[process], seed) for seed in range(3)]
    assert not any("gap" in found(columns) for columns in logs)


@pytest.mark.slow
@pytest.mark.parametrize("process", ARRIVALS)
def test_long_gaps_in_forty_logs(found, process):
    """At most 5 e-4 a log."""
    logs = [_times(ARRIVALS[process], seed) for seed in range(40)]
    assert not any("gap" in found(columns) for columns in logs)


def _times(process, seed):
    return fcfs(seed, 8000, times=process(np.random.default_rng(seed), 8000))


def test_rows_lost_in_an_outage_leave_a_gap(found):
    columns = fcfs(1)
    late = columns["arrival_time"] > 2000.0
    gap = found(columns | {"arrival_time": columns["arrival_time"] + 50.0 * late})["gap"]
    assert gap.count == 1
    later = late & (columns["arrival_time"] > 3000.0)
    both = columns["arrival_time"] + 50.0 * late + 80.0 * later
    assert found(columns | {"arrival_time": both})["gap"].count == 2


def test_jobs_that_never_finish_in_one_arm(tmp_path, describe):
    columns = fcfs(1, 5000)
    lost = lost_at_random(columns, 0.02) & (np.arange(5000) < 4000)
    columns["response_time"] = np.where(lost, np.nan, columns["response_time"])
    columns = {name: columns[name] for name in ("arrival_time", "arm", "server", "response_time")}
    columns["response_time"] = [None if t != t else t for t in columns["response_time"]]
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe(drop=["start"], horizon=5.0, estimators=["naive"]))
    (one,) = (one for one in analysis.findings if one.name == "lost_unequally")
    assert (one.count, one.forbids) == (lost.sum(), EVERY)


@pytest.mark.slow
@pytest.mark.parametrize("make", [fcfs, sharing])
def test_tails_in_twenty_logs(found, make):
    """Never in clean logs (at most 1e-3 for each tail looked at), in all where the longest are lost."""
    clean = [make(seed, 50_000) for seed in range(20)]
    assert not any("tail_cut_off" in found(columns) for columns in clean)
    lost = [without(log, longest(log, 0.02, np.ones(50_000, bool))) for log in clean]
    assert all(found(columns)["tail_cut_off"].forbids == EVERY for columns in lost)
