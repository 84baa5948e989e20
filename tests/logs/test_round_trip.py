"""A log written from a simulated trace gives the estimates of the pipeline."""

import math
from dataclasses import replace

import numpy as np
import pytest

from queuebench.estimators import estimators_for
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.logs import analyze_log
from queuebench.logs.read import sources
from queuebench.logs.record import normalise
from queuebench.logs.record import replicate as log_replicate
from tests.logs.exported import LENGTHS, columns_of, write_log

HORIZON = 10.0


def pipeline(cell, replicate, design="bernoulli", choices=False, structure=False, **known):
    """Return the pipeline's estimates, with the share of treated arrivals that a log shows, the random
    key of a log and its grid of horizons."""
    known = {"treated_share": float(replicate.column("treated").mean()), "random_key": (0,)} | known
    setting = replace(setting_of(cell, design), batch_horizon=HORIZON, choices=choices, **known)
    curve = (HORIZON / 30, HORIZON / 10, HORIZON / 3, HORIZON, 2 * HORIZON)
    fitting = [h for h in curve if 2 * setting.horizon_arrivals(h) <= replicate.arrivals]
    setting = replace(setting, horizons=tuple(fitting))
    record = Record(replicate, setting)
    return {
        entry.name: entry.function(record, HORIZON if entry.uses_horizon else None)
        for entry in estimators_for(
            setting.design, horizons=len(fitting), choices=choices, structure=structure
        )
    }


def same(analysis, expected):
    rows = {row["estimator"]: row for row in analysis.rows if row["main"]}
    assert set(rows) == set(expected)
    for name, estimate in expected.items():
        row = rows[name]
        assert row["estimate"] == pytest.approx(estimate.value, rel=1e-9, abs=1e-11), name
        assert row["estimate_se"] == pytest.approx(estimate.standard_error, rel=1e-9, nan_ok=True)
        assert row["check"] == pytest.approx(estimate.check, rel=1e-6, nan_ok=True), name
        chose = math.isfinite(estimate.horizon)
        assert row["note"].startswith("chose a horizon" if chose else estimate.note)
        assert row["alpha"] == pytest.approx(estimate.alpha, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize("departures", [True, False])
def test_the_pipelines_estimates(simulate, describe, tmp_path, suffix, lengths, departures):
    cell, replicate = simulate()
    assert len(replicate.carry)
    columns = columns_of(replicate, lengths=lengths, departures=departures)
    log = write_log(tmp_path / f"log{suffix}", columns)
    description = describe(
        columns=dict.fromkeys(["departure_time"] if departures else [], "departure_time")
        | ({name: name for name in LENGTHS} if lengths else {}),
        drop=["response_time"] if departures else [],
        horizon=HORIZON, arrival_rate=cell.rate,
    )  # fmt: skip
    analysis = analyze_log(log, description)
    same(analysis, pipeline(cell, replicate))
    assert analysis.first_come
    for name in LENGTHS:
        assert np.array_equal(analysis.replicate.column(name), replicate.column(name))
    assert not [found for found in analysis.findings if found.kind != "note"]


@pytest.mark.parametrize("lengths", [True, False])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_shuffled_rows(simulate, describe, tmp_path, monkeypatch, lengths, suffix):
    monkeypatch.setattr(normalise, "CHUNK", 97)
    monkeypatch.setattr(log_replicate, "CHUNK", 101)
    monkeypatch.setattr(sources, "BATCH", 103)
    cell, replicate = simulate()
    columns = columns_of(replicate, lengths=lengths)
    order = np.random.default_rng(3).permutation(len(columns["arm"]))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    description = describe(
        columns={name: name for name in LENGTHS} if lengths else {},
        horizon=HORIZON, arrival_rate=cell.rate,
    )  # fmt: skip
    found = [
        analyze_log(write_log(tmp_path / f"{name}{suffix}", table), description)
        for name, table in (("log", columns), ("shuffled", shuffled))
    ]
    same(found[1], pipeline(cell, replicate))
    for name in ("arrival_time", "treated", "queue_length", "in_system", "response_time"):
        first, second = (analysis.replicate.column(name) for analysis in found)
        assert np.array_equal(first, second)


def test_travel_time_and_unequal_servers(simulate, describe, tmp_path):
    cell, replicate = simulate(
        travel_time=0.5, speeds={"kind": "two_speed", "ratio": 2.0}, load=0.6
    )
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    description = describe(
        horizon=HORIZON, arrival_rate=cell.rate, travel_time=0.5,
        server_classes={"slow": [0, 1, 2], "fast": [3, 4, 5]},
    )  # fmt: skip
    analysis = analyze_log(log, description)
    same(analysis, pipeline(cell, replicate))
    assert np.array_equal(
        analysis.replicate.column("queue_length"), replicate.column("queue_length")
    )


@pytest.mark.parametrize("design", ["group", "switchback"])
def test_other_designs(simulate, describe, tmp_path, design):
    kind = {"kind": design} | ({"period": 25.0, "burn_in": 5.0} if design == "switchback" else {})
    cell, replicate = simulate(design, designs={design: kind})
    log = write_log(tmp_path / "log.arrow", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=HORIZON, arrival_rate=cell.rate, design=kind))
    same(analysis, pipeline(cell, replicate, design))
    compared = {"no_carry_over_seen"} if design == "switchback" else set()
    assert {found.name for found in analysis.findings} == {"lead_in", *compared}


def test_a_record_of_given_length(simulate, describe, tmp_path):
    cell, replicate = simulate(
        arrival_process={"kind": "sinusoidal", "amplitude": 0.3, "period": 50.0}
    )
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=HORIZON, end=replicate.record_end))
    assert analysis.replicate.record_end == replicate.record_end
    assert analysis.replicate.arrivals == replicate.arrivals


def test_units_change_nothing_but_the_unit(simulate, describe, tmp_path):
    """The same log in milliseconds since 1970, with the service time estimated."""
    cell, replicate = simulate()
    columns = columns_of(replicate, lengths=False)
    plain = analyze_log(
        write_log(tmp_path / "plain.parquet", columns), describe(drop=["mean_service_time"])
    )
    unit, origin = 250.0, 1_700_000_000_000.0
    columns["arrival_time"] = [origin + unit * t for t in columns["arrival_time"]]
    columns["response_time"] = [unit * t for t in columns["response_time"]]
    log = write_log(tmp_path / "ms.parquet", columns)
    description = describe(drop=["mean_service_time"], start=origin, time_unit="ms")
    analysis = analyze_log(log, description)
    assert analysis.mean_service_time == pytest.approx(unit * plain.mean_service_time, rel=1e-6)
    for ours, theirs in zip(analysis.rows, plain.rows, strict=True):
        assert ours["horizon_arrivals"] == theirs["horizon_arrivals"]
        assert ours["estimate"] == pytest.approx(unit * theirs["estimate"], rel=1e-4)


def test_the_estimated_service_time(simulate, describe, tmp_path):
    _, replicate = simulate(arrivals=20_000)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(drop=["mean_service_time"]))
    # 20 000 exponential services: 6 standard errors are 0.042, a false alarm in 5e8 seeds.
    assert analysis.mean_service_time == pytest.approx(1.0, abs=0.042)


def test_the_estimated_rate_converts_the_horizon(simulate, describe, tmp_path):
    cell, replicate = simulate(arrivals=500)
    arrival = replicate.column("arrival_time")
    rate = 499 / (arrival[-1] - arrival[0])
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=HORIZON))
    same(analysis, pipeline(cell, replicate, rate=rate))
    wdq = next(row for row in analysis.rows if row["estimator"] == "wdq")
    assert wdq["horizon_arrivals"] == int(HORIZON * rate + 1e-9)
