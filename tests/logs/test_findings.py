"""What is noticed about logs that can be analysed but are not perfect."""

import math
import re

import numpy as np
import pytest

from queuebench.logs import LogError, analyze_log
from queuebench.logs.checks.service import judge_service
from queuebench.logs.record.losses import unequal_losses
from tests.logs.exported import columns_of, write_log


@pytest.fixture
def analyse(tmp_path, describe):
    def run(table, suffix=".parquet", **keys):
        log = write_log(tmp_path / f"log{suffix}", table)
        return analyze_log(log, describe(**({"drop": ["start"], "horizon": 5.0} | keys)))

    return run


def by_name(analysis):
    return {found.name: found for found in analysis.findings}


def names(analysis):
    return {row["estimator"] for row in analysis.rows}


def test_nothing_is_wrong_with_a_good_log(small_log, analyse):
    # (Of the first 200 seeds one is not, the first: so one log in a thousand, at that check's level.)
    analysis = analyse(small_log(jobs=5000, seed=2))
    assert set(by_name(analysis)) == {"unknown_at_start"}
    assert "wdq" in names(analysis)


def test_repeated_rows_are_dropped_once(small_log, analyse):
    columns = small_log()
    plain = analyse(columns)
    again = {name: [*values[:50], *values[40:], values[-1]] for name, values in columns.items()}
    analysis = analyse(again)
    found = by_name(analysis)["duplicates"]
    assert (found.kind, found.count) == ("dropped", 11)
    assert analysis.rows == plain.rows


def test_jobs_unfinished_at_the_end_close_the_record(small_log, analyse):
    columns = small_log()
    ends = np.array(columns["arrival_time"]) + columns["response_time"]
    cut = columns["arrival_time"][-1]
    open_ = np.flatnonzero(ends > cut)
    assert len(open_) > 1
    for row in open_:
        columns["response_time"][row] = None
    analysis = analyse(columns)
    found = by_name(analysis)["unfinished_jobs"]
    assert (found.kind, found.count) == ("warning", len(open_))
    assert analysis.replicate.arrivals == open_[0]
    assert by_name(analysis)["after_the_end"].count == 400 - open_[0]


def test_lost_jobs_are_dropped_and_counted(small_log, analyse):
    columns = small_log()
    for row in (20, 33):
        columns["response_time"][row] = None
    analysis = analyse(columns)
    found = by_name(analysis)["lost_jobs"]
    assert (found.kind, found.count) == ("dropped", 2)
    assert analysis.replicate.arrivals == 398


def test_the_lead_in_says_who_was_present(small_log, analyse):
    columns = small_log()
    plain = analyse(columns, lead_in=30.0)
    arrival = np.array(columns["arrival_time"])
    start = arrival[0] + 30.0
    present = (arrival < start) & (arrival + columns["response_time"] > start)
    assert len(plain.replicate.carry) == present.sum() > 0
    assert plain.replicate.arrivals == (arrival >= start).sum()
    assert by_name(plain)["lead_in"].count == (arrival < start).sum()
    assert "unknown_at_start" not in by_name(plain)


def test_simultaneous_arrivals(small_log, analyse):
    columns = small_log(jobs=2000)
    columns["arrival_time"] = np.floor(columns["arrival_time"]).tolist()
    plain = analyse(columns, travel_time=0.0)
    ties = 2000 - len(set(columns["arrival_time"]))
    found = by_name(plain)["clock_ties"]
    assert (found.kind, found.count) == ("warning", ties)
    assert f"{ties:,} arrivals ({ties / 2000:.2%}) have the same time" in found.text
    assert "the shortest other gap is 1 s" in found.text
    assert "queue lengths that they met" in found.text
    lengths = {"queue_length": [0] * 2000, "in_system": [0] * 2000}
    given = analyse(columns | lengths, columns={name: name for name in lengths})
    assert by_name(given)["clock_ties"].kind == "note", "nothing is reconstructed"
    order = np.random.default_rng(1).permutation(2000)
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    assert analyse(shuffled).rows == plain.rows


def test_given_lengths_that_disagree(small_log, analyse):
    columns = small_log()
    columns["in_system"] = [0] * 400
    analysis = analyse(columns, columns={"in_system": "in_system"})
    found = by_name(analysis)["in_system_disagrees"]
    assert 0 < found.count < 400
    assert not analysis.replicate.column("in_system").any()


OBSERVED = {"naive", "wdq_observed", "qdq", "horvitz_thompson"}


def test_servers_that_run_several_jobs_at_once(small_log, analyse):
    columns = small_log(jobs=2000)
    columns["response_time"] = np.random.default_rng(2).exponential(2.0, 2000).tolist()
    analysis = analyse(columns)
    found = by_name(analysis)["not_first_come_first_served"]
    assert found.count > 100
    assert all(name in found.text for name in OBSERVED)
    assert "valid" not in found.text
    assert names(analysis) == OBSERVED
    assert not analysis.first_come


def test_several_jobs_at_once_in_order(small_log, analyse):
    """Constant service times keep departures in order, but jobs that waited seem faster."""
    columns = small_log(jobs=2000) | {"response_time": [4.0] * 2000}
    analysis = analyse(columns)
    assert by_name(analysis)["not_first_come_first_served"].count == 0
    assert names(analysis) == OBSERVED


def test_no_average_time_is_negative(small_log, analyse):
    """Servers that work on all their jobs at once: many jobs depart before an earlier one."""
    columns = small_log(jobs=2000, servers=1)
    columns["response_time"] = np.random.default_rng(2).exponential(9.0, 2000).tolist()
    text = by_name(analyse(columns))["not_first_come_first_served"].text
    assert "jobs that met others depart on average before the one that came before them" in text
    assert " -" not in text


def test_no_estimator_with_observed_costs_may_have_been_asked_for():
    service = judge_service(None, None, False, "bernoulli", ["mixed_dq"], choices=False)
    assert service.findings[0].text.endswith("apply: none of those asked for")


def test_slow_and_fast_servers_are_no_sign_of_several_jobs_at_once(simulate, analyse):
    cell, replicate = simulate(
        arrivals=20_000, speeds={"kind": "two_speed", "ratio": 4.0}, load=0.7,
        control={"policy": "shortest_expected_delay", "d": 2},
        treatment={"policy": "shortest_expected_delay", "d": 3},
    )  # fmt: skip
    columns = columns_of(replicate, lengths=False)
    analysis = analyse(columns, drop=[], server_classes={"slow": [0, 1, 2], "fast": [3, 4, 5]})
    assert analysis.first_come


def test_a_few_overtakings_are_tolerated(small_log, analyse):
    columns = small_log(jobs=5000)
    for row in range(100, 1000, 100):
        columns["response_time"][row] += 3.0
    analysis = analyse(columns)
    assert 0 < by_name(analysis)["overtaking"].count < 50
    assert "wdq" in names(analysis)


@pytest.mark.parametrize(
    ("design", "choices", "named"),
    [
        ("bernoulli", False, OBSERVED),
        ("bernoulli", True, OBSERVED | {"qdq_coupled", "neighbours_window", "neighbours_busy"}),
        ("group", False, {"group"}),
        ("switchback", False, {"switchback", "switchback_burn_in", "switchback_corrected"}),
    ],
)
def test_those_that_stay_valid_are_named(design, choices, named):
    service = judge_service(None, None, False, design, choices=choices)
    (found,) = service.findings
    listed, *biased = found.text.split(": ")[1].split(" (")
    assert set(listed.split(", ")) == named - {"naive"}
    assert biased == (["naive is biased by interference, as ever)"] if "naive" in named else [])


def test_without_servers_only_observed_costs(small_log, analyse):
    columns = small_log()
    del columns["server"]
    analysis = analyse(columns, drop=["start", "server"])
    assert "no_server" in by_name(analysis)
    assert names(analysis) == OBSERVED


def test_without_servers_the_service_time_must_be_given_or_not_needed(small_log, analyse):
    columns = small_log()
    with pytest.raises(ValueError, match="mean_service_time: cannot be estimated"):
        analyse(columns, drop=["start", "server", "mean_service_time"])
    in_time = analyse(
        columns, drop=["start", "server", "mean_service_time"], horizon_unit="time", horizon=7.0
    )
    given = analyse(columns, drop=["start", "server"], mean_service_time=1.4, horizon=5.0)
    rows = [
        next(row for row in analysis.rows if row["estimator"] == "qdq")
        for analysis in (in_time, given)
    ]
    assert rows[0]["horizon_time"] == rows[1]["horizon_time"] == 7.0
    assert rows[0]["estimate"] == rows[1]["estimate"]


def test_time_outs(small_log, analyse):
    columns = small_log(jobs=10_000)
    columns["response_time"] = np.minimum(columns["response_time"], 18.0).tolist()
    count = columns["response_time"].count(18.0)
    assert count >= 10
    assert by_name(analyse(columns))["time_out"].count == count


def assigned(columns, arm):
    return columns | {"arm": np.where(arm, "B", "A").tolist()}


def test_a_share_that_drifts(small_log, analyse):
    columns = small_log(jobs=5000)
    arm = np.random.default_rng(1).random(5000) < np.linspace(0.2, 0.8, 5000)
    assert "from 0.2" in by_name(analyse(assigned(columns, arm)))["share_drift"].text


def test_a_share_that_was_not_intended(small_log, analyse):
    columns = small_log(jobs=5000)
    arm = np.random.default_rng(1).random(5000) < 0.45
    design = {"kind": "bernoulli", "treated_share": 0.5}
    assert "share_mismatch" in by_name(analyse(assigned(columns, arm), design=design))
    design["treated_share"] = 0.45
    assert "share_mismatch" not in by_name(analyse(assigned(columns, arm), design=design))


@pytest.mark.parametrize(
    ("arm", "says"),
    [
        (np.arange(5000) // 3 % 2 == 0, "come in runs"),
        (np.arange(5000) % 2 == 0, "depend on the ones before"),
        (np.repeat(np.random.default_rng(1).random(500) < 0.5, 10), "come in runs"),
    ],
)
def test_assignments_that_are_not_independent(small_log, analyse, arm, says):
    found = by_name(analyse(assigned(small_log(jobs=5000), arm)))
    assert says in found["dependent_assignment"].text


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_assignment_by_user(small_log, analyse, suffix):
    columns = small_log(jobs=5000)
    rng = np.random.default_rng(1)
    user = rng.integers(1000, size=5000)
    columns["user"] = [f"user {u}" for u in user]
    by_user = analyse(
        assigned(columns, (rng.random(1000) < 0.5)[user]), suffix, columns={"user": "user"}
    )
    assert by_name(by_user)["assigned_by_user"].count > 900
    independent = analyse(columns, suffix, columns={"user": "user"})
    assert "assigned_by_user" not in by_name(independent)


def test_gaps_and_varying_rates(small_log, analyse):
    columns = small_log(jobs=5000)
    time = np.array(columns["arrival_time"])
    gap = analyse(columns | {"arrival_time": (time + 500.0 * (time > 2000)).tolist()})
    assert {"gap", "varying_rate"} <= set(by_name(gap))
    slower = analyse(columns | {"arrival_time": np.where(time < 2500, time, 2 * time).tolist()})
    assert "varying_rate" in by_name(slower)


def test_policies_that_know_more_than_queue_lengths(analyse):
    """Treated jobs go to the server with the least work left, control jobs anywhere."""
    rng = np.random.default_rng(5)
    n, servers = 20_000, 5
    arrival = np.cumsum(rng.exponential(1 / (0.8 * servers), n))
    treated = rng.random(n) < 0.5
    free, server, response = np.zeros(servers), np.empty(n, int), np.empty(n)
    for i in range(n):
        server[i] = free.argmin() if treated[i] else rng.integers(servers)
        free[server[i]] = max(arrival[i], free[server[i]]) + rng.exponential()
        response[i] = free[server[i]] - arrival[i]
    analysis = analyse(
        assigned({"arrival_time": arrival.tolist(), "server": server.tolist(),
                  "response_time": response.tolist()}, treated)
    )  # fmt: skip
    assert "unexplained_by_queue_length" in by_name(analysis)


def test_shared_servers_in_a_group_design(small_log, analyse):
    analysis = analyse(small_log(servers=3), design="group")
    assert by_name(analysis)["shared_servers"].count == 3
    assert names(analysis) == {"group"}


def test_arms_that_change_within_a_block(small_log, analyse):
    columns = small_log(jobs=2000)
    block = np.floor(np.array(columns["arrival_time"]) / 50.0)
    design = {"kind": "switchback", "period": 50.0}
    good = analyse(assigned(columns, block % 2 == 1), design=design, start=0.0, drop=[])
    assert "mixed_blocks" not in by_name(good)
    arm = block % 2 == 1
    arm[np.flatnonzero(block == 3)[-1]] ^= True
    found = by_name(analyse(assigned(columns, arm), design=design, start=0.0, drop=[]))
    assert found["mixed_blocks"].count == 1


def test_blocks_of_the_log(small_log, analyse):
    columns = small_log(jobs=2000)
    block = np.floor(np.array(columns["arrival_time"]) / 50.0)
    columns = assigned(columns, block % 2 == 1) | {"block": [f"b{int(b)}" for b in block]}
    keys = {"columns": {"block": "block"}, "drop": []}
    design = {"kind": "switchback", "period": 50.0}
    good = analyse(columns, design=design, start=0.0, **keys)
    assert np.array_equal(good.replicate.column("block"), block)
    with pytest.raises(ValueError, match=r"rows? \d+.*: block changes within a block of 50"):
        analyse(columns, design=design, start=13.0, **keys)


def test_horizons_that_do_not_fit_are_left_out_of_the_curve(small_log, analyse):
    analysis = analyse(small_log(), horizons=[1.0, 5.0, 1000.0])
    assert by_name(analysis)["long_horizons"].count == 1
    assert {row["horizon"] for row in analysis.rows} == {None, 1.0, 5.0}


STATUS = {"columns": {"status": "status"}, "status": {"failure": ["timeout", 500]}}


def with_failures(columns, share, seed=3):
    """Return columns with a status; `share` of each arm's jobs failed."""
    rng = np.random.default_rng(seed)
    chance = np.array([share[arm] for arm in columns["arm"]])
    failed = rng.random(len(chance)) < chance
    return columns | {"status": ["500" if one else "ok" for one in failed]}, failed


def test_failed_jobs_are_present_but_not_responses(small_log, analyse):
    columns, failed = with_failures(small_log(jobs=2000), {"A": 0.05, "B": 0.05})
    everyone = analyse(columns).replicate
    analysis = analyse(columns, **STATUS)
    kept = analysis.replicate
    assert kept.arrivals == 2000 - failed.sum()
    for name in ("queue_length", "in_system", "response_time", "server", "treated"):
        np.testing.assert_array_equal(kept.column(name), everyone.column(name)[~failed])
    found = by_name(analysis)["failed_jobs"]
    treated = sum(arm == "B" for arm, one in zip(columns["arm"], failed, strict=True) if one)
    assert found.kind == "dropped"
    text = f"{failed.sum()} jobs ({treated} treated, {failed.sum() - treated} of control) failed by"
    assert found.text.startswith(text)
    assert "failed_unequally" not in by_name(analysis)
    (naive,) = (row for row in analysis.rows if row["estimator"] == "naive")
    response = np.array(columns["response_time"])
    arm = np.array(columns["arm"])
    means = [response[(arm == name) & ~failed].mean() for name in "BA"]
    assert naive["estimate"] == pytest.approx(means[0] - means[1])


@pytest.mark.parametrize(
    "meaning",
    [{"success": ["ok"]}, {"failure": [500]}, {"success": ["ok"], "failure": ["500", "timeout"]}],
)
@pytest.mark.parametrize("end", [0.0, -1.0, None, math.nan])
def test_failed_jobs_without_an_end(small_log, analyse, meaning, end):
    columns, failed = with_failures(small_log(jobs=2000), {"A": 0.03, "B": 0.03})
    response = columns.pop("response_time")
    columns["departure_time"] = [
        end if one else a + r
        for one, a, r in zip(failed, columns["arrival_time"], response, strict=True)
    ]
    analysis = analyse(
        columns,
        columns={"status": "status", "departure_time": "departure_time"},
        drop=["response_time", "start"],
        status=meaning,
    )
    assert analysis.replicate.arrivals == 2000 - failed.sum()
    assert f"; {failed.sum()} of them have no end" in by_name(analysis)["failed_jobs"].text
    assert not {"lost_jobs", "unfinished_jobs"} & set(by_name(analysis))


def test_a_failed_row_without_a_status_says_what_to_do(small_log, analyse):
    columns = small_log()
    response = columns.pop("response_time")
    arrival = columns["arrival_time"]
    columns["departure_time"] = [a + r for a, r in zip(arrival, response, strict=True)]
    columns["departure_time"][9] = 0.0
    with pytest.raises(
        LogError, match=r"row 10: .*leave it empty for a job without an end, or name"
    ):
        analyse(
            columns,
            columns={"departure_time": "departure_time"},
            drop=["response_time", "start"],
        )


@pytest.mark.parametrize("seed", range(5))
def test_arms_that_fail_unequally(small_log, analyse, seed):
    """With 2000 jobs an arm, 2 and 6 % are 7 standard errors apart; alike, one in 1000 would be named."""
    columns = small_log(jobs=4000, seed=seed)
    uneven, _ = with_failures(columns, {"A": 0.02, "B": 0.06}, seed)
    found = by_name(analyse(uneven, **STATUS))["failed_unequally"]
    assert found.kind == "warning"
    assert "of the treated jobs failed but" in found.text
    even, _ = with_failures(columns, {"A": 0.04, "B": 0.04}, seed)
    assert "failed_unequally" not in by_name(analyse(even, **STATUS))


def test_the_comparison_of_losses_keeps_its_level():
    """Of 4000 alike pairs 4 are named at most: more than 10, 3 standard errors above, once in 300 seeds."""
    rng = np.random.default_rng(5)
    named = 0
    for _ in range(4000):
        lost = rng.binomial([5000, 5000], 0.004)
        of_arm = {"recorded": [0, *(5000 - lost)], "lost": [0, *lost], "failed": [0, 0, 0]}
        named += len(unequal_losses(of_arm))
    assert 0 < named <= 10


def test_lost_and_unfinished_jobs_are_counted_by_arm(small_log, analyse):
    columns = small_log(jobs=4000)
    treated = [place for place in range(1000, 3000) if columns["arm"][place] == "B"]
    for place in treated[:60]:
        columns["response_time"][place] = None
    columns["response_time"][3999] = None
    columns["arm"][3999] = "A"
    found = by_name(analyse(columns))
    assert found["lost_jobs"].text.startswith("60 jobs (60 treated, 0 of control) never finished")
    assert "of the treated jobs were lost but 0.00% of control's" in found["lost_unequally"].text
    assert found["unfinished_jobs"].text.startswith("1 jobs (0 treated, 1 others) were unfinished")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"columns": {"status": "status"}}, "columns.status and status are needed both or not"),
        ({"status": {"success": ["ok"]}}, "columns.status and status are needed both or not"),
        (STATUS | {"status": {}}, "status: give success, failure or both"),
        (
            STATUS | {"status": {"success": ["fine"], "failure": ["500"]}},
            "rows .*: status is a value that is neither in status.success nor in status.failure",
        ),
    ],
)
def test_a_status_that_says_nothing(small_log, analyse, keys, expected):
    columns, _ = with_failures(small_log(), {"A": 0.05, "B": 0.05})
    with pytest.raises(LogError, match=expected):
        analyse(columns, **keys)


def test_a_finished_job_without_a_status(small_log, analyse):
    columns, _ = with_failures(small_log(), {"A": 0.05, "B": 0.05})
    columns["status"][4] = None
    with pytest.raises(LogError, match="row 5: status is missing; every finished job needs one"):
        analyse(columns, **STATUS)


def test_rows_without_an_arm_may_count_as_present(small_log, analyse):
    columns = small_log(jobs=2000)
    whole = analyse(columns).replicate
    none = np.random.default_rng(1).random(2000) < 0.1
    columns["arm"] = [None if one else arm for one, arm in zip(none, columns["arm"], strict=True)]
    with pytest.raises(LogError, match=r"arm is missing.*without_arm: present"):
        analyse(columns)
    analysis = analyse(columns, without_arm="present")
    kept = analysis.replicate
    for name in ("queue_length", "in_system", "response_time", "treated"):
        np.testing.assert_array_equal(kept.column(name), whole.column(name)[~none])
    assert by_name(analysis)["without_arm"].count == none.sum()
    assert abs(analysis.law.residual) < 1e-9
    policy = {"policy": "power_of_d", "d": 1}
    structure = {"control": policy, "treatment": policy}
    assert "replay" in names(analyse(small_log(jobs=2000), structure=structure))
    assert not {"replay", "lstd_dq"} & set(
        names(analyse(columns, without_arm="present", structure=structure))
    )


def test_a_server_with_hardly_any_rows(small_log, analyse):
    columns = small_log(jobs=20_000, servers=4)
    assert "rare_servers" not in by_name(analyse(columns))
    columns["server"] = [
        "h1" if 100 <= place < 115 else f"h{10 + server}"
        for place, server in enumerate(columns["server"])
    ]
    found = by_name(analyse(columns))["rare_servers"]
    assert (found.kind, found.count) == ("warning", 1)
    assert found.text.startswith(
        "server 'h1' has 15 of 20,000 rows, where an even share would be 4,000"
    )


@pytest.mark.parametrize("role", ["response_time", "departure_time"])
def test_responses_in_another_unit(small_log, analyse, role):
    columns = small_log(jobs=4000)
    keys = {"drop": ["start"]}
    if role == "departure_time":
        response, arrival = columns.pop("response_time"), columns["arrival_time"]
        columns[role] = [1e6 * (a + r) for a, r in zip(arrival, response, strict=True)]
        keys = {"columns": {role: role}, "drop": ["response_time", "start"]}
    else:
        columns[role] = [1e6 * value for value in columns[role]]
    said = rf"is {role} in us\? Then say `units: {{{role}: us}}`"
    as_time = {"horizon_unit": "time", "horizon": 50.0, "estimators": ["naive"]}
    assert re.search(said, by_name(analyse(columns, **as_time, **keys))["time_unit"].text)
    with pytest.raises(LogError, match=rf"horizon: .*at most .* fit; .*{said}"):
        analyse(columns, mean_service_time=1e6, **keys)
    keys["drop"] = [*keys["drop"], "mean_service_time"]
    with pytest.raises(LogError, match=rf"{said}"):
        analyse(columns, **keys)
    right = analyse(columns, units={role: "us"}, **keys)
    assert "time_unit" not in by_name(right)


def test_a_mean_service_time_in_another_unit(small_log, analyse):
    columns = small_log(jobs=4000)
    columns["arrival_time"] = [1e3 * value for value in columns["arrival_time"]]
    columns["response_time"] = [1e3 * value for value in columns["response_time"]]
    good = analyse(columns, time_unit="ms", mean_service_time=1400.0)
    assert "time_unit" not in by_name(good)
    found = by_name(analyse(columns, time_unit="ms", mean_service_time=1.4, horizon=5000.0))
    text = found["time_unit"].text
    assert (
        "times the mean_service_time given: is that in s? It must be in the time_unit, ms: 1400"
        in text
    )


def test_rows_without_an_arm_say_nothing_of_users(small_log, analyse):
    """Taken for control's, 500 users would always have had the same arm."""
    columns = small_log(jobs=2000)
    columns["user"] = [place // 2 for place in range(2000)]
    columns["arm"][:1000] = [None] * 1000
    start = columns["arrival_time"][1000]
    analysis = analyse(columns, columns={"user": "user"}, start=start, drop=[])
    assert "assigned_by_user" not in by_name(analysis)
