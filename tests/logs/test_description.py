"""The description of a log, moments in it, and what comes out."""

import csv
import datetime
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from queuebench.logs import LogError, analyze_log, load_config, parse_config
from queuebench.logs.estimates import ROW
from queuebench.logs.read.clock import spoken
from tests.logs.exported import columns_of, write_log


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"treatmnt": "B"}, "treatmnt: unknown key, did you mean treatment?"),
        ({"columns": {"arival_time": "t"}}, "columns.arival_time: unknown key, did you mean arrival_t"),
        ({"treatment": None}, "treatment: "),
        ({"horizon": -1}, "horizon: "),
        ({"horizon": "soon"}, "horizon: "),
        ({"design": {"kind": "swichback"}}, "design.kind: must be one of "),
        ({"design": {"kind": "switchback"}}, "design.period: this key is required"),
        (
            {"design": {"kind": "switchback", "period": 1.0, "burn_in": 2.0}},
            "design: burn_in must be shorter than the period 1",
        ),
        ({"start": 1.0, "lead_in": 2.0}, "start and lead_in say the same thing; give one of them"),
        ({"time_unit": "day"}, "time_unit: "),
        ({"units": {"server": "s"}}, "units may name arrival_time, response_time and departure_time"),
    ],
)  # fmt: skip
def test_wrong_descriptions(describe, values, expected):
    columns = values.pop("columns", None)
    path = describe(columns=columns, drop=["start"], **values)
    with pytest.raises(LogError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: {expected}")


def test_exactly_one_end_of_a_job(describe):
    both = describe(columns={"departure_time": "d"})
    with pytest.raises(LogError, match="columns: exactly one of response_time and departure_time"):
        load_config(both)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "must be a mapping"),
        ("a: [1", "line 1 is not valid YAML"),
        ("- 1", "must be a mapping"),
    ],
)
def test_files_that_are_no_description(tmp_path, content, expected):
    path = tmp_path / "log.yaml"
    path.write_text(content)
    with pytest.raises(LogError, match=expected):
        load_config(path)
    with pytest.raises(LogError, match="cannot be read"):
        load_config(tmp_path / "nowhere.yaml")


def dated(columns, zone, unit):
    """Return columns with arrivals as dates and times of 2026."""
    origin = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC).timestamp()
    moments = [round((origin + t) * 1e9) for t in columns["arrival_time"]]
    if unit == "text":
        arrival = [
            f"{np.datetime64(moment, 'ns')}".replace("T", " ") + (zone or "") for moment in moments
        ]
    else:
        arrival = pa.array(moments, pa.timestamp("ns", zone)).cast(
            pa.timestamp(unit, zone), safe=False
        )
    return columns | {"arrival_time": arrival}


@pytest.mark.parametrize("zone", [None, "Z"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("unit", ["ns", "us", "text"])
def test_dates_and_times(simulate, describe, tmp_path, zone, suffix, unit):
    _, replicate = simulate()
    columns = columns_of(replicate, lengths=False)
    plain = analyze_log(
        write_log(tmp_path / f"plain{suffix}", columns), describe(drop=["mean_service_time"])
    )
    if unit != "text" and zone:
        zone = "UTC"
    log = write_log(tmp_path / f"log{suffix}", dated(columns, zone, unit))
    start = "2026-03-01T00:00:00" + ("Z" if zone else "")
    analysis = analyze_log(log, describe(drop=["mean_service_time"], start=start))
    assert analysis.replicate.arrivals == 3000
    assert analysis.mean_service_time == pytest.approx(plain.mean_service_time, rel=1e-5)
    assert np.array_equal(
        analysis.replicate.column("queue_length"), plain.replicate.column("queue_length")
    )
    with pytest.raises(LogError, match="start: must be a date and time"):
        analyze_log(log, describe(start=0.0))
    other = "2026-03-01T00:00:00" + ("" if zone else "Z")
    with pytest.raises(LogError, match="start: must be a date and time"):
        analyze_log(log, describe(start=other))


def test_nanoseconds_since_1970_and_responses_in_milliseconds(simulate, describe, tmp_path):
    _, replicate = simulate()
    columns = columns_of(replicate, lengths=False)
    plain = analyze_log(write_log(tmp_path / "plain.parquet", columns), describe())
    origin = 1_767_225_600 * 10**9
    columns["arrival_time"] = [origin + round(1e9 * t) for t in columns["arrival_time"]]
    columns["response_time"] = [1e3 * t for t in columns["response_time"]]
    description = describe(start=origin, units={"arrival_time": "ns", "response_time": "ms"})
    for suffix in (".parquet", ".csv"):
        analysis = analyze_log(write_log(tmp_path / f"log{suffix}", columns), description)
        for ours, theirs in zip(analysis.rows, plain.rows, strict=True):
            assert ours["estimate"] == pytest.approx(theirs["estimate"], rel=1e-5)


def test_durations(small_log, describe, tmp_path):
    columns = small_log()
    plain = analyze_log(write_log(tmp_path / "plain.parquet", columns), describe(horizon=5.0))
    whole = [round(1e9 * t) for t in columns["response_time"]]
    columns["response_time"] = pa.array(whole, pa.duration("ns"))
    analysis = analyze_log(write_log(tmp_path / "log.parquet", columns), describe(horizon=5.0))
    assert analysis.rows[0]["estimate"] == pytest.approx(plain.rows[0]["estimate"], rel=1e-6)


def test_what_is_written(small_log, describe, tmp_path):
    log = write_log(tmp_path / "log.parquet", small_log(jobs=4000))
    analysis = analyze_log(log, describe(horizon=5.0), tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "estimates.csv", "findings.csv", "report.txt",
    ]  # fmt: skip
    with open(tmp_path / "out" / "estimates.csv") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == ROW
    assert [row["estimator"] for row in rows] == [row["estimator"] for row in analysis.rows]
    assert float(rows[1]["estimate"]) == pytest.approx(analysis.rows[1]["estimate"], rel=1e-7)
    assert [row["estimand"] for row in rows] == [row["estimand"] for row in analysis.rows]
    assert {row["forbidden"] for row in rows} == {""}
    report = (tmp_path / "out" / "report.txt").read_text()
    assert report == analysis.report()
    assert "Little's law" in report
    assert "sensitivity to the horizon" in report
    assert str(tmp_path) not in report


def test_the_description_may_be_a_mapping(small_log, tmp_path):
    columns = {name: name for name in ("arrival_time", "arm", "response_time", "server")}
    log = write_log(tmp_path / "log.parquet", small_log())
    analysis = analyze_log(log, {"columns": columns, "treatment": "B", "horizon": 5.0})
    assert analysis.config == parse_config({"columns": columns, "treatment": "B", "horizon": 5.0})


def test_no_pandas(small_log, describe, tmp_path):
    columns = small_log() | {"in_system": [None, *[0] * 399]}
    columns["response_time"][3] = None
    for suffix in (".parquet", ".arrow", ".csv"):
        log = write_log(tmp_path / f"log{suffix}", columns)
        program = (
            "import sys; from queuebench.logs import analyze_log; "
            f"analyze_log({str(log)!r}, {str(describe(horizon=5.0))!r}, {str(tmp_path / 'out')!r}); "
            "assert 'pandas' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", program], check=True)


TEXT = """\
columns: {arrival_time: t, arm: a, response_time: r, server: s}
treatment: B
"""


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (TEXT + "# é", "line 3 is not text in UTF-8 (byte 0xe9, as in Latin-1); save it as UTF-8"),
        (TEXT + "horizon: 3\nhorizon: 4", "line 4: the key horizon is given twice, first in line 3"),
        (TEXT + "on: 3", "on: unknown key"),
        (TEXT + "1: 3", "1: Keys should be strings"),
        (TEXT + "lead_in: 1:30", 'lead_in: should be a valid number, got "1:30"'),
        (TEXT + "horizon: " + "9" * 400, "horizon: should be a valid number, got 999"),
        (TEXT + "start: " + "9" * 400, "start: should be less than 9223372036854775808, or should"),
        (TEXT + "horizon: .inf", "horizon: should be a finite number"),
        (TEXT + "horizon: [" + "x, " * 9999 + "]", "horizon: should be a valid number, got ["),
        (TEXT + "estimators: [" + "x" * 99_999 + "]", "estimators: no estimator is named xxx"),
        (TEXT + "server_classes: {slow: [.nan]}", "server_classes.slow.0: should be "),
        (TEXT + "server_classes: &a {slow: *a}", "line 3: *a refers to itself"),
    ],
)  # fmt: skip
def test_hostile_descriptions(tmp_path, content, expected):
    path = tmp_path / "log.yaml"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(LogError) as caught:
        load_config(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: {expected}")
    assert len(message) < len(str(path)) + 400
    assert "\n" not in message


def test_words_of_yaml_1_1_are_text(tmp_path):
    path = tmp_path / "log.yaml"
    path.write_text(TEXT.replace("B", "on") + "control: 010\nhorizon: 5e-1\nstart: 2026-03-01\n")
    config = load_config(path)
    assert (config.treatment, config.control) == ("on", "010")
    assert (config.horizon, config.start) == (0.5, "2026-03-01")


@pytest.mark.parametrize(
    ("duration", "unit", "said"),
    [
        (0.25, "ms", "0.25 ms"),
        (59.0, "s", "59 s"),
        (25.0, "min", "25 min"),
        (3690.0, "s", "1 h 2 min"),
        (76.0, "h", "3 d 4 h"),
        (24.0 * 7 * 3, "h", "3 w"),
        (24.0 * 365 * 2.5, "h", "2 y 26 w"),
        (1e12, "h", "1.14e+08 y"),
    ],
)
def test_durations_as_people_say_them(duration, unit, said):
    assert spoken(duration, unit) == said


def test_the_usual_estimators_choose_no_horizon(small_log, describe, tmp_path):
    """The one that does says, where it is asked for, what its standard error leaves out."""
    log = write_log(tmp_path / "log.parquet", small_log(jobs=4000))
    usual = analyze_log(log, describe(horizon=5.0, drop=["estimators"]))
    assert "mixed_dq_auto" not in {row["estimator"] for row in usual.rows}
    (row,) = analyze_log(log, describe(horizon=5.0, estimators=["mixed_dq_auto"])).rows
    assert row["note"].startswith("chose a horizon of ")
    assert row["note"].endswith(
        "; its standard error does not account for the choice of the horizon"
    )
