"""Logs with a structure are replayed, and logs with both arms' choices are used as such."""

import csv
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuebench.logs import LogError, analyze_log, load_config
from queuebench.logs.read.structure import relative_speeds
from queuebench.logs.record import normalise as normalise_module
from queuebench.logs.record.choices import Choices
from queuebench.logs.record.setting import server_classes
from tests.logs.exported import CHOICES, LENGTHS, QUEUES, columns_of, write_log
from tests.logs.test_round_trip import HORIZON, pipeline, same

STRUCTURE = {
    "control": {"policy": "power_of_d", "d": 2},
    "treatment": {"policy": "power_of_d", "d": 3},
}
SENTENCE = "replay fails to reproduce the experiment as it was run (p = "


def by_name(analysis):
    return {found.name: found for found in analysis.findings}


def main_row(analysis, name):
    return next(row for row in analysis.rows if row["estimator"] == name and row["main"])


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize(
    ("simulated", "known", "information"),
    [
        ({}, {}, {"kind": "fresh"}),
        (
            {"travel_time": 0.5, "speeds": {"kind": "two_speed", "ratio": 2.0}},
            {"travel_time": 0.5, "server_classes": {"slow": [0, 1, 2], "fast": [3, 4, 5]}},
            {"kind": "constant_age", "age": 0.7},
        ),
        ({}, {}, {"kind": "bulletin_board", "period": 2.0}),
    ],
)
def test_the_pipelines_replay(simulate, describe, tmp_path, lengths, simulated, known, information):
    cell, replicate = simulate(load=0.6, information=information, **simulated)
    speeds = {"slow": 0.5, "fast": 1.0} if "server_classes" in known else {}
    description = describe(
        columns={name: name for name in LENGTHS} if lengths else {},
        horizon=HORIZON, arrival_rate=cell.rate, **known,
        structure=STRUCTURE | {"information": information, "speeds": speeds},
    )  # fmt: skip
    columns = columns_of(replicate, lengths=lengths)
    analysis = analyze_log(write_log(tmp_path / "log.parquet", columns), description)
    same(analysis, pipeline(cell, replicate, structure=True))
    assert "replay" in {row["estimator"] for row in analysis.rows}
    order = np.random.default_rng(3).permutation(len(columns["arm"]))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    again = analyze_log(write_log(tmp_path / "shuffled.parquet", shuffled), description)
    assert main_row(again, "replay") == main_row(analysis, "replay")


def test_units_change_nothing_but_the_unit(simulate, describe, tmp_path):
    """The same log in milliseconds: the replay is the same one, in milliseconds."""
    delayed = {"kind": "constant_age", "age": 1.5}
    _, replicate = simulate(load=0.8, information=delayed, travel_time=0.3)
    columns = columns_of(replicate, lengths=False)
    found = []
    for unit in (1.0, 250.0):
        information = {"kind": "constant_age", "age": 1.5 * unit}
        log = write_log(
            tmp_path / f"{unit}.parquet",
            columns
            | {
                name: [unit * t for t in columns[name]]
                for name in ("arrival_time", "response_time")
            },
        )
        description = describe(
            drop=["mean_service_time"], travel_time=0.3 * unit, time_unit="ms", horizon=HORIZON,
            structure=STRUCTURE | {"information": information},
        )  # fmt: skip
        found.append(main_row(analyze_log(log, description), "replay"))
    assert found[1]["estimate"] == pytest.approx(250 * found[0]["estimate"], rel=1e-6)
    assert found[1]["estimate_se"] == pytest.approx(250 * found[0]["estimate_se"], rel=1e-6)
    assert found[1]["check"] == pytest.approx(found[0]["check"], rel=1e-3)


@pytest.fixture
def delayed_log(simulate, tmp_path):
    _, replicate = simulate(
        load=0.9, arrivals=20_000, information={"kind": "constant_age", "age": 1.5},
        treatment={"policy": "power_of_d", "d": 5},
    )  # fmt: skip
    return write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))


def test_a_wrong_structure_leads_the_report(delayed_log, describe, tmp_path):
    treatment = {"policy": "power_of_d", "d": 5}
    wrong = describe(structure=STRUCTURE | {"treatment": treatment})
    analysis = analyze_log(delayed_log, wrong, tmp_path / "out")
    for text in (analysis.report(), (tmp_path / "out" / "report.txt").read_text()):
        first = text.splitlines()[0]
        assert first.startswith(SENTENCE)
        assert first.endswith("); do not believe it")
    found = by_name(analysis)["replay_rejected"]
    assert found.kind == "warning"
    assert analysis.findings[0] == found
    with open(tmp_path / "out" / "estimates.csv") as file:
        rows = {row["estimator"]: row for row in csv.DictReader(file)}
    assert float(rows["replay"]["check"]) < 1e-3
    for name in ("estimate", "estimate_se", "lower_95", "upper_95"):
        assert all(np.isfinite(float(row[name])) for row in rows.values()), name
    assert rows["mixed_dq"]["check"] == ""
    assert rows["replay"]["note"].startswith("fails to reproduce")
    assert "fails to reproduce" in next(
        line for line in analysis.report().splitlines() if line.startswith("replay  ")
    )


def test_the_right_structure_does_not(delayed_log, describe):
    information = {"kind": "constant_age", "age": 1.5}
    treatment = {"policy": "power_of_d", "d": 5}
    right = describe(structure=STRUCTURE | {"treatment": treatment, "information": information})
    analysis = analyze_log(delayed_log, right)
    assert not analysis.report().startswith("replay")
    assert by_name(analysis)["replay_checked"].kind == "note"
    assert {"slope_agrees_with_effect", "slope_misses_effect"} & by_name(analysis).keys()
    assert main_row(analysis, "replay")["check"] > 0.05


def test_a_short_record_says_that_it_is_unchecked(simulate, describe, tmp_path):
    _, replicate = simulate(arrivals=600)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    analysis = analyze_log(log, describe(structure=STRUCTURE, horizon=HORIZON))
    assert "replay_unchecked" in by_name(analysis)


def test_nothing_is_replayed_where_it_cannot_be(simulate, describe, small_log, tmp_path):
    columns = small_log(jobs=2000)
    columns["response_time"] = np.random.default_rng(2).exponential(2.0, 2000).tolist()
    structure = STRUCTURE | {"treatment": {"policy": "power_of_d", "d": 1}}
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe(structure=structure, horizon=5.0))
    assert {"not_replayed", "not_first_come_first_served"} <= set(by_name(analysis))
    assert "replay" not in {row["estimator"] for row in analysis.rows}
    kind = {"kind": "switchback", "period": 25.0}
    _, replicate = simulate("switchback", designs={"switchback": kind})
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    analysis = analyze_log(log, describe(structure=STRUCTURE, design=kind, horizon=5.0))
    assert "not_replayed" in by_name(analysis)


def test_a_policy_that_alone_is_unstable(simulate, describe, tmp_path):
    """Half the servers are slow, 0.4 against 1.6, and random routing would send 0.7 to each."""
    random, expected_delay = (
        {"policy": "power_of_d", "d": 1},
        {"policy": "shortest_expected_delay", "d": 6},
    )
    _, replicate = simulate(
        control=random, treatment=expected_delay, speeds={"kind": "two_speed", "ratio": 4.0}
    )
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    speeds = {str(server): 1 + 3 * (server >= 3) for server in range(6)}
    for dropped in ([], ["mean_service_time"]):
        description = describe(
            horizon=HORIZON, drop=dropped,
            structure={"control": random, "treatment": expected_delay, "speeds": speeds},
        )  # fmt: skip
        found = [f for f in analyze_log(log, description).findings if f.name == "unstable_alone"]
        assert len(found) == 1
        assert found[0].text.startswith("the control policy power_of_d alone is not stable")
    stable = describe(
        horizon=HORIZON,
        structure={"control": expected_delay, "treatment": expected_delay, "speeds": speeds},
    )
    assert "unstable_alone" not in by_name(analyze_log(log, stable))


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        ({"control": {"policy": "power_of_e"}}, "structure.control.policy: no policy is named power_"),
        ({"treatment": {"policy": "power_of_d"}}, "structure.treatment.d: power_of_d needs this key"),
        ({"treatment": {"policy": "power_of_d", "d": 2.5}}, "structure.treatment.d: must be a whole"),
        ({"control": {"policy": "round_robin", "d": 2}}, "structure.control.d: unknown key, round_ro"),
        ({"control": None}, "structure.control: must be a mapping of keys, got null"),
        ({"information": "fresh"}, "structure.information: must be a mapping of keys like {kind: fresh}, "),
        ({"speeds": 3}, "structure.speeds: must be a mapping of keys, got 3"),
        ({"speed": {}}, "structure.speed: unknown key, did you mean speeds?"),
        ({"speeds": {"a": -1.0}}, "structure.speeds.a: "),
        ({"speeds": {"a": "fast"}}, "structure.speeds.a: "),
        ({"speeds": {"a": 1.0, "b": 1.1e6}}, "structure.speeds: the largest is 1.1e+06 times the smallest"),
        ({"speeds": {"a": 1.5e-300, "b": 1.5e300}}, "structure.speeds: the largest is inf times the"),
        ({"information": {"kind": "stale"}}, "structure.information.kind: must be one of "),
        ({"information": {"kind": "constant_age"}}, "structure.information.age: this key is requ"),
        ({"information": {"kind": "constant_age", "age": -1}}, "structure.information.age: "),
        ({"information": {"kind": "bulletin_board", "period": 0}}, "structure.information.period: "),
    ],
)  # fmt: skip
def test_wrong_structures(describe, structure, expected):
    path = describe(structure=STRUCTURE | structure)
    with pytest.raises(LogError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


def test_a_structure_that_is_no_mapping(describe):
    path = describe(structure="known")
    with pytest.raises(LogError) as caught:
        load_config(path)
    assert str(caught.value) == f'{path}: structure: must be a mapping of keys, got "known"'


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (
            {"treatment": {"policy": "power_of_d", "d": 7}},
            "structure.treatment.d: must be a whole number from 1 to 2 (the number of servers), got 7",
        ),
        ({"speeds": {"0": 1.0}}, "structure.speeds: server '1' has no speed; give one for every"),
        (
            {"speeds": {"0": 1, "1": 1, "a": 2}},
            "structure.speeds: 'a' is neither a server class no",
        ),
        ({"speeds": {"x": 1, "0": 1}}, "structure.speeds: server '0' has two speeds"),
    ],
)
def test_structures_that_do_not_fit_the_log(small_log, describe, tmp_path, keys, expected):
    log = write_log(tmp_path / "log.parquet", small_log())
    structure = STRUCTURE | {"treatment": {"policy": "power_of_d", "d": 1}} | keys
    classes = {"x": ["0"]} if "x" in keys.get("speeds", {}) else {}
    description = describe(structure=structure, horizon=5.0, server_classes=classes)
    with pytest.raises(LogError) as caught:
        analyze_log(log, description, tmp_path / "out")
    assert str(caught.value).startswith(f"{log}: {expected}")
    assert not (tmp_path / "out").exists()


def test_speeds_by_class_and_by_server(describe):
    servers = ["1", "2", "10", "a"]
    keys = {"server_classes": {"slow": [1, 2]}}
    config = load_config(
        describe(structure=STRUCTURE | {"speeds": {"slow": 1, "10": 4, "a": 2}}, **keys)
    )
    assert relative_speeds(config, servers).tolist() == [0.5, 0.5, 2.0, 1.0]
    assert server_classes(config.server_classes, servers).tolist() == [1, 1, 0, 0]
    equal = load_config(describe(structure=STRUCTURE, **keys))
    assert relative_speeds(equal, servers).tolist() == [1.0] * 4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("speeds", [(1.5e308, 1.25e308), (1.5e-323, 2.5e-323), (1.0, 1e6)])
def test_absurd_speeds_are_taken_quietly(small_log, describe, tmp_path, speeds):
    structure = {
        "control": {"policy": "power_of_d", "d": 1},
        "treatment": {"policy": "power_of_d", "d": 2},
    }
    given = dict(zip("01", speeds, strict=True))
    description = describe(structure=structure | {"speeds": given}, horizon=5.0)
    config = load_config(description)
    expected = 2 / (1 + speeds[1] / speeds[0])
    assert relative_speeds(config, ["0", "1"])[0] == pytest.approx(expected)
    analyze_log(write_log(tmp_path / "log.parquet", small_log()), description).report()


@pytest.mark.parametrize("travel_time", [0.0, 0.5])
@pytest.mark.parametrize("queues", [True, False])
def test_the_pipelines_coupled_estimates(
    simulate, describe, tmp_path, monkeypatch, queues, travel_time
):
    monkeypatch.setattr(normalise_module, "CHUNK", 97)
    cell, replicate = simulate(load=0.8, travel_time=travel_time)
    names = (*CHOICES, *(QUEUES if queues else ()))
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False, choices=names))
    description = describe(
        columns={name: name for name in names}, horizon=HORIZON, arrival_rate=cell.rate,
        travel_time=travel_time, structure=STRUCTURE,
    )  # fmt: skip
    analysis = analyze_log(log, description)
    same(analysis, pipeline(cell, replicate, choices=True, structure=True))
    assert "mixed_dq_coupled_met" in {row["estimator"] for row in analysis.rows}
    for name in (*CHOICES, *QUEUES):
        assert np.array_equal(analysis.replicate.column(name), replicate.column(name)), name
    assert not [found for found in analysis.findings if "disagrees" in found.name]


def test_lengths_at_choices_that_disagree(simulate, describe, tmp_path):
    _, replicate = simulate()
    names = (*CHOICES, *QUEUES)
    columns = columns_of(replicate, choices=names)
    columns["queue_if_treated"] = [length + 1 for length in columns["queue_if_treated"]]
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe(columns={name: name for name in names}, horizon=HORIZON))
    assert by_name(analysis)["queue_if_treated_disagrees"].count == 3000


@pytest.mark.parametrize(
    ("column", "row", "value", "expected"),
    [
        ("server_if_control", 2900, None, "row 2901: server_if_control is missing; every row of the"),
        ("queue_if_treated", 17, -1, "row 18: queue_if_treated: must be a whole number, 0 or more"),
        ("queue_if_treated", 17, None, "row 18: queue_if_treated: must be a whole number, 0 or more"),
    ],
)  # fmt: skip
def test_wrong_choices(simulate, describe, tmp_path, column, row, value, expected):
    _, replicate = simulate()
    names = (*CHOICES, *QUEUES)
    columns = columns_of(replicate, choices=names)
    columns[column][row] = value
    log = write_log(tmp_path / "log.parquet", columns)
    with pytest.raises(LogError) as caught:
        analyze_log(log, describe(columns={name: name for name in names}, horizon=HORIZON))
    assert str(caught.value).startswith(f"{log}: {expected}")


def test_a_job_that_did_not_go_where_its_arm_chose(simulate, describe, tmp_path):
    _, replicate = simulate()
    columns = columns_of(replicate, choices=CHOICES)
    treated = [i for i, arm in enumerate(columns["arm"]) if arm == "B"][100]
    for row in (treated, treated + 2000):
        columns["server_if_treated"][row] = (columns["server"][row] + 1) % 6
    wrong = [row + 1 for row in (treated, treated + 2000) if columns["arm"][row] == "B"]
    rows = f"rows {wrong[0]} and {wrong[1]}" if len(wrong) > 1 else f"row {wrong[0]}"
    log = write_log(tmp_path / "log.parquet", columns)
    with pytest.raises(LogError) as caught:
        analyze_log(log, describe(columns={name: name for name in CHOICES}, horizon=HORIZON))
    assert str(caught.value).startswith(f"{log}: {rows}: server is not server_if_treated though")


@pytest.mark.parametrize(
    ("columns", "drop", "expected"),
    [
        (["server_if_control"], [], "columns: server_if_control and server_if_treated are needed"),
        ([*CHOICES, "queue_if_control"], [], "columns: queue_if_control and queue_if_treated are n"),
        (QUEUES, [], "columns: queue_if_control and queue_if_treated need server_if_control too"),
        (CHOICES, ["server"], "columns: server_if_control and server_if_treated need server too"),
    ],
)  # fmt: skip
def test_choices_that_lack_something(describe, columns, drop, expected):
    path = describe(columns={name: name for name in columns}, drop=drop)
    with pytest.raises(LogError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    jobs=st.integers(1, 300),
    servers=st.integers(1, 4),
    travel_time=st.sampled_from([0.0, 0.7]),
    coarse=st.booleans(),
    cuts=st.integers(0, 5),
)
def test_lengths_at_choices(seed, jobs, servers, travel_time, coarse, cuts):
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.uniform(0, jobs / 2, jobs))
    server = rng.integers(servers, size=jobs).astype(np.int32)
    departure = arrival + travel_time + rng.exponential(servers, jobs)
    if coarse:
        arrival, departure = np.floor(arrival), np.ceil(departure)
    asked = tuple(rng.integers(-1, servers, size=jobs).astype(np.int32) for _ in range(2))
    choices = Choices(servers, travel_time)
    edges = [0, *np.sort(rng.integers(jobs + 1, size=cuts)).tolist(), jobs]
    parts = []
    for begin, end in itertools.pairwise(edges):
        part = slice(begin, end)
        chosen = [choice[part] for choice in asked]
        parts.append(choices.lengths(arrival[part], server[part], departure[part], chosen))
    for arm, choice in enumerate(asked):
        found = np.concatenate([part[arm] for part in parts])
        for i in range(jobs):
            there = [
                j
                for j in range(i)
                if server[j] == choice[i] and arrival[j] + travel_time <= arrival[i] < departure[j]
            ]
            assert found[i] == len(there)


def test_a_record_of_exactly_two_horizons(simulate, describe, tmp_path):
    """The longest horizon that is allowed is allowed to every estimator, replay too."""
    cell, replicate = simulate(arrivals=600)
    columns = columns_of(replicate, lengths=False, choices=CHOICES)
    log = write_log(tmp_path / "log.parquet", columns)
    described = {"columns": {name: name for name in CHOICES}, "structure": STRUCTURE}
    n = analyze_log(log, describe(horizon=1.0, **described)).replicate.arrivals
    half = n / 2 / cell.rate
    analysis = analyze_log(log, describe(horizon=half, arrival_rate=cell.rate, **described))
    row = main_row(analysis, "replay")
    assert 2 * analysis.setting.horizon_arrivals(half) == n
    assert np.isfinite(row["estimate"])
    with pytest.raises(LogError, match=r"horizon: .* more than half of the record's"):
        analyze_log(log, describe(horizon=half + 1.0, arrival_rate=cell.rate, **described))


def test_only_the_estimators_asked_for_are_applied(simulate, describe, tmp_path):
    _, replicate = simulate()
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    usual = analyze_log(log, describe(horizon=HORIZON, drop=["estimators"]))
    names = {row["estimator"] for row in usual.rows}
    assert {"naive", "mixed_dq"} <= names
    assert not names & {"mixed_dq_auto", "horvitz_thompson", "mixed_dq_jackknife", "dq_lambda"}
    one = analyze_log(log, describe(horizon=HORIZON, estimators=["qdq"]))
    assert {row["estimator"] for row in one.rows} == {"qdq"}


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        (["mixed_qd"], "estimators: no estimator is named mixed_qd, did you mean mixed_dq?"),
        ([], "estimators: "),
        (["switchback"], "estimators: none of those given is valid for this log"),
    ],
)
def test_wrong_estimators(simulate, describe, tmp_path, estimators, message):
    _, replicate = simulate()
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    with pytest.raises(LogError) as caught:
        analyze_log(log, describe(horizon=HORIZON, estimators=estimators))
    assert message in str(caught.value)
