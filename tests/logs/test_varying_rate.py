"""Logs whose arrival rate varies."""

from dataclasses import replace

import numpy as np
import pytest

from queuebench.estimators import estimators_for
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import all_estimators
from queuebench.estimators.common.setting import setting_of
from queuebench.logs import LogError, analyze_log, load_config
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace
from tests.logs.exported import CHOICES, columns_of, write_log

HORIZON = 10.0
CYCLE = {"kind": "sinusoidal", "amplitude": 0.8, "period": 2000.0}


def estimate_of(analysis, name):
    (row,) = (row for row in analysis.rows if row["estimator"] == name and row["main"])
    return row["estimate"]


def findings_of(analysis):
    return {found.name: found for found in analysis.findings}


def test_the_local_rate_does_what_the_known_phase_does(make_cell, describe, tmp_path):
    """Against `qdq_uncentred`, which knows the rate, on the same records.

    The local rate's difference is within four standard errors, plus 2 % of the effect for the window
    of a sixth of a cycle. The constant rate's is about 0.7 per record: that the root of the mean of six
    squares is below 0.1 happens once in 25 000 seeds.
    """
    cell = make_cell(
        load=0.5, arrivals=18_000, warmup=100.0, system={"servers": 6}, horizon=HORIZON,
        arrival_process=CYCLE,
        control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2},
    )  # fmt: skip
    simulate_batch(cell, "bernoulli", range(6), tmp_path / "t.arrow")
    setting = replace(setting_of(cell, "bernoulli"), batch_horizon=HORIZON)
    (known,) = estimators_for("bernoulli", ["qdq_uncentred"], periodic=True)
    apart = {"auto": [], "constant": []}
    for replicate in Trace(tmp_path / "t.arrow"):
        expected = known.function(Record(replicate, setting), HORIZON).value
        log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
        for rate, found in apart.items():
            description = describe(
                horizon=HORIZON, horizons=[HORIZON], arrival_rate=cell.rate, cost_rate=rate,
                end=replicate.record_end,
            )  # fmt: skip
            found.append(estimate_of(analyze_log(log, description), "qdq") - expected)
    local, constant = (np.array(apart[rate]) for rate in ("auto", "constant"))
    error = local.std(ddof=1) / np.sqrt(6)
    assert abs(local.mean()) < 4 * error + 0.02 * 0.45
    assert np.sqrt((local**2).mean()) < 0.1 < np.sqrt((constant**2).mean())


@pytest.fixture
def varying(simulate, tmp_path):
    _, replicate = simulate(arrivals=20_000, load=0.5, arrival_process=CYCLE)
    return write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))


def test_the_rate_is_local_where_it_varies(varying, describe):
    auto = analyze_log(varying, describe(horizon=HORIZON))
    found = findings_of(auto)["varying_rate"]
    assert found.kind == "note"
    # 1000 arrivals at 3 per service time.
    assert "within 33" in found.text
    assert auto.setting.local_rate is not None
    constant = analyze_log(varying, describe(horizon=HORIZON, cost_rate="constant"))
    found = findings_of(constant)["varying_rate"]
    assert found.kind == "warning"
    assert "takes it to be constant: compare with wdq" in found.text
    assert estimate_of(constant, "qdq") != estimate_of(auto, "qdq")
    assert estimate_of(constant, "wdq") == estimate_of(auto, "wdq")


def test_a_constant_rate_stays_constant_unless_asked(simulate, describe, tmp_path):
    _, replicate = simulate(arrivals=20_000)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    assert analyze_log(log, describe(horizon=HORIZON)).setting.local_rate is None
    asked = analyze_log(log, describe(horizon=HORIZON, cost_rate="local", rate_window=500.0))
    assert findings_of(asked)["local_rate"].kind == "note"
    assert asked.setting.local_rate.window == pytest.approx(500.0, rel=0.05)


def test_a_window_that_holds_the_signal_is_warned_of(varying, describe):
    analysis = analyze_log(varying, describe(horizon=HORIZON, rate_window=8.0))
    assert findings_of(analysis)["short_rate_window"].kind == "warning"


def test_a_record_too_short_for_a_local_rate(simulate, describe, tmp_path):
    cycle = CYCLE | {"period": 800.0}
    _, replicate = simulate(arrivals=3000, load=0.5, arrival_process=cycle)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=HORIZON))
    found = findings_of(analysis)["varying_rate"]
    assert found.kind == "warning"
    assert "too short for a local rate" in found.text
    assert analysis.setting.local_rate is None


def test_a_rate_held_constant_offers_no_estimator_that_needs_it_so(simulate, describe, tmp_path):
    """However the rate is treated, it varies."""
    _, replicate = simulate(arrivals=20_000, load=0.5, arrival_process=CYCLE)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False, choices=CHOICES))
    needing = {entry.name for entry in all_estimators() if entry.needs_constant_rate}
    for rate in ("auto", "constant"):
        keys = {name: name for name in CHOICES}
        analysis = analyze_log(log, describe(keys, horizon=HORIZON, cost_rate=rate))
        assert not needing & {row["estimator"] for row in analysis.rows}
    assert (
        "estimators that need a constant rate are left out"
        in findings_of(analysis)["varying_rate"].text
    )
    _, replicate = simulate(arrivals=20_000, load=0.5)
    columns = columns_of(replicate, lengths=False, choices=CHOICES)
    steady = analyze_log(write_log(log, columns), describe(keys, horizon=HORIZON))
    assert "lstd_dq" in {row["estimator"] for row in steady.rows}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"rate_window": 1e5}, "rate_window: 100000 s is more than a fifth of the record of"),
        ({"rate_window": 1e-3}, "rate_window: 0.001 is too short for a record of"),
        ({"horizon": 500.0}, "rate_window: the default of 1499."),
    ],
)  # fmt: skip
def test_windows_that_do_not_fit(varying, describe, keys, expected):
    keys = {"horizon": HORIZON, "cost_rate": "local"} | keys
    with pytest.raises(LogError) as caught:
        analyze_log(varying, describe(**keys))
    assert str(caught.value).startswith(f"{varying}: {expected}"), str(caught.value)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"cost_rate": "lokal"}, "cost_rate: "),
        ({"rate_window": 0}, "rate_window: "),
        ({"rate_window": "an hour"}, "rate_window: "),
        ({"rate_window": 5.0, "cost_rate": "constant"}, "rate_window has no use with"),
    ],
)
def test_wrong_keys(describe, keys, expected):
    path = describe(**keys)
    with pytest.raises(LogError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
