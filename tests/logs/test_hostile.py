"""Logs that cannot be analysed: one sentence with row numbers, and nothing written."""

import gzip
import math
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queuebench.logs import LogError, analyze_log
from queuebench.logs.read import csv_source, ingest, order
from queuebench.logs.read.sources import locate, open_log
from queuebench.logs.read.values import plain
from tests.logs.exported import write_log

SUFFIXES = (".parquet", ".arrow", ".csv")


@pytest.fixture
def refusal(tmp_path, describe):
    """Return a function that says what a log is refused with, and that nothing was written."""

    def refuse(log, **keys):
        keys = {"drop": ["start"], "horizon": 5.0} | keys
        out = tmp_path / "out"
        with pytest.raises(LogError) as caught:
            analyze_log(log, describe(**keys), out)
        message = str(caught.value)
        assert not out.exists()
        assert message.startswith(f"{log}: ") or message.startswith(f"{tmp_path / 'log.yaml'}: ")
        assert "\n" not in message
        assert len(message) < 400 + len(str(log))
        assert "Traceback" not in message
        return message.split(": ", 1)[1]

    return refuse


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("column", "rows", "value", "expected"),
    [
        ("arrival_time", [7], math.nan, "row 8: arrival_time must be finite, not NaN or infinite"),
        ("arrival_time", [7], math.inf, "row 8: arrival_time must be finite"),
        ("arrival_time", [3, 7], None, "rows 4 and 8: arrival_time is missing"),
        ("arrival_time", [2, 5], -3.0, "rows 3 and 6: arrival_time is negative; if the log begins"),
        ("response_time", [8], 1e300, "row 9: response_time must be finite"),
        ("response_time", [8], math.nan, "row 9: response_time must be finite, not NaN"),
        (
            "response_time",
            range(20),
            -0.5,
            "rows 1, 2, 3, 4, 5 and 15 others: response_time is neg",
        ),
        ("server", [0], None, "row 1: server is missing"),
        ("arm", [5, 9], None, "rows 6 and 10: arm is missing"),
        (
            "arm",
            [17],
            "C",
            "row 18: arm is 'C', but an experiment has two arms and the record has 3",
        ),
    ],
)
def test_wrong_values(small_log, refusal, tmp_path, suffix, column, rows, value, expected):
    columns = small_log()
    for row in rows:
        columns[column][row] = value
    assert refusal(write_log(tmp_path / f"log{suffix}", columns)).startswith(expected)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_departures_before_arrivals(small_log, refusal, tmp_path, suffix):
    columns = small_log()
    response = columns.pop("response_time")
    columns["departure_time"] = [
        a + r for a, r in zip(columns["arrival_time"], response, strict=True)
    ]
    columns["departure_time"][11] = columns["arrival_time"][11] - 1
    found = refusal(
        write_log(tmp_path / f"log{suffix}", columns),
        columns={"departure_time": "departure_time"}, drop=["response_time", "start"],
    )  # fmt: skip
    assert found == (
        "row 12: departure_time is before the arrival; times must run forward (leave it empty for a job "
        "without an end, or name a status)"
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("column", ["arrival_time", "response_time"])
def test_strings_in_numbers(small_log, refusal, tmp_path, suffix, column):
    columns = small_log()
    columns[column] = [str(value) for value in columns[column]]
    columns[column][123] = "soon"
    found = refusal(write_log(tmp_path / f"log{suffix}", columns))
    assert found == f"row 124: {column}: 'soon' is not a number"


def test_row_numbers_count_over_batches(small_log, refusal, tmp_path, monkeypatch):
    monkeypatch.setattr("queuebench.logs.read.sources.BATCH", 100)
    columns = small_log()
    columns["response_time"][250] = -1.0
    assert refusal(write_log(tmp_path / "log.parquet", columns)).startswith("row 251: response")
    columns["response_time"] = [str(value) for value in columns["response_time"]]
    columns["response_time"][333] = "x"
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert found.startswith("row 251: response"), "what is wrong first is said first"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("arm", "expected"),
    [
        ("A", "treatment: arm is never 'B' in the log; known here: A"),
        ("B", "every row of the record is 'B' (400 rows); the control arm is empty"),
    ],
)
def test_one_arm_is_empty(small_log, refusal, tmp_path, suffix, arm, expected):
    columns = small_log() | {"arm": [arm] * 400}
    assert refusal(write_log(tmp_path / f"log{suffix}", columns)) == expected


def test_one_arm_is_empty_within_the_record(small_log, refusal, tmp_path):
    columns = small_log() | {"arm": ["B"] * 100 + ["A"] * 300}
    start = columns["arrival_time"][200]
    found = refusal(write_log(tmp_path / "log.parquet", columns), start=start, drop=[])
    assert (
        found == "no row of the record is the treatment 'B': it has 'A' (200 rows); an arm is empty"
    )


def test_a_misspelt_treatment(small_log, refusal, tmp_path):
    columns = small_log()
    columns["arm"] = [{"A": "random", "B": "shortest"}[arm] for arm in columns["arm"]]
    found = refusal(write_log(tmp_path / "log.csv", columns), treatment="shortst")
    assert found.startswith("treatment: arm is never 'shortst' in the log, did you mean shortest?")


@pytest.mark.parametrize("value", [True, "true", "True"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_arms_as_booleans(small_log, describe, tmp_path, value, suffix):
    columns = small_log()
    columns["arm"] = [arm == "B" for arm in columns["arm"]]
    log = write_log(tmp_path / f"log{suffix}", columns)
    analysis = analyze_log(log, describe(treatment=value, horizon=5.0))
    assert analysis.treated == sum(columns["arm"])


STAMPS = {
    "mixed offsets": "2026-03-01T12:00:00.5+02:00",
    "one without": "2026-03-01T12:00:00.5",
    "one in UTC": "2026-03-01T12:00:00.5Z",
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("other", STAMPS)
def test_mixed_time_zones(small_log, refusal, tmp_path, suffix, other):
    columns = small_log()
    zone = "" if other == "one in UTC" else "+01:00"
    columns["arrival_time"] = [
        f"2026-03-01T{10 + i // 3600:02}:{i // 60 % 60:02}:{i % 60:02}{zone}" for i in range(400)
    ]
    columns["arrival_time"][42] = STAMPS[other]
    found = refusal(write_log(tmp_path / f"log{suffix}", columns))
    assert found.startswith("row 43: arrival_time: mixed time zones: '2026-03-01T12:00:00.5")
    assert found.endswith("; write all times in UTC")


def test_mixed_time_zones_between_columns(small_log, refusal, tmp_path):
    columns = small_log()
    stamps = [int(1e9 * t) for t in columns["arrival_time"]]
    columns["arrival_time"] = pa.array(stamps, pa.timestamp("ns", "UTC"))
    columns["departure_time"] = pa.array(stamps, pa.timestamp("ns", "Europe/Paris"))
    found = refusal(
        write_log(tmp_path / "log.parquet", columns),
        columns={"departure_time": "departure_time"}, drop=["response_time", "start"],
    )  # fmt: skip
    assert found.startswith("departure_time: mixed time zones: it is in zone Europe/Paris while")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows(small_log, refusal, tmp_path, suffix):
    table = pa.table(small_log()).slice(0, 0)
    log = tmp_path / f"log{suffix}"
    write_log(log, {name: table[name] for name in table.schema.names})
    assert refusal(log) == "has no rows"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_bytes(refusal, tmp_path, suffix):
    (tmp_path / f"log{suffix}").write_bytes(b"")
    assert refusal(tmp_path / f"log{suffix}") == "is empty (0 bytes)"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_renamed_csv(small_log, refusal, tmp_path, suffix):
    write_log(tmp_path / "log.csv", small_log()).rename(tmp_path / f"log{suffix}")
    format = {".parquet": "Parquet", ".arrow": "Arrow"}[suffix]
    found = refusal(tmp_path / f"log{suffix}")
    assert found == f"is named like {format} but its content is CSV; rename it"


def test_a_parquet_file_named_csv(small_log, refusal, tmp_path):
    write_log(tmp_path / "log.parquet", small_log()).rename(tmp_path / "log.csv")
    assert (
        refusal(tmp_path / "log.csv") == "is named like CSV but its content is Parquet; rename it"
    )


@pytest.mark.parametrize("name", ["log", "log.xlsx", "log.json", "log.gz"])
def test_other_names(small_log, refusal, tmp_path, name):
    write_log(tmp_path / "log.csv", small_log()).rename(tmp_path / name)
    assert refusal(tmp_path / name).startswith("a log's name must end in")


def test_a_missing_file(refusal, tmp_path):
    assert refusal(tmp_path / "nowhere.csv") == "there is no such file"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kept", [30, 0.3, 0.9])
def test_truncated_files(small_log, refusal, tmp_path, suffix, kept):
    log = write_log(tmp_path / f"log{suffix}", small_log())
    content = log.read_bytes()
    log.write_bytes(content[: int(kept if kept > 1 else kept * len(content))])
    assert refusal(log).startswith("cannot be read, it is truncated or damaged (")


@pytest.mark.parametrize("quoted", [True, False])
@pytest.mark.parametrize("column", ["arm", "arrival_time", "note"])
def test_a_very_long_field_in_csv(small_log, refusal, tmp_path, quoted, column):
    columns = small_log() | {"note": ["x"] * 400}
    columns = {name: [str(value) for value in values] for name, values in columns.items()}
    columns[column][4] = "7" * 50_000_000
    log = tmp_path / "log.csv"
    lines = [",".join(columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append(",".join(f'"{field}"' if quoted else field for field in row))
    log.write_text("\n".join(lines))
    assert refusal(log).startswith("row 5 is longer than 8 MiB; a log's fields are numbers")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("column", ["arm", "arrival_time"])
def test_a_very_long_field(small_log, refusal, tmp_path, suffix, column):
    columns = small_log()
    columns[column] = [str(value) for value in columns[column]]
    columns[column][4] = "7" * 50_000_000
    found = refusal(write_log(tmp_path / f"log{suffix}", columns))
    assert found.startswith(f"row 5: {column}: a field of 50,000,000 bytes; at most 1,000 are")


def test_a_quote_that_never_ends(small_log, refusal, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    lines = log.read_text().replace('"', "").splitlines()
    lines[10] = '"' + lines[10]
    log.write_text("\n".join(lines + ["1,2,3,4"] * 2_000_000))
    assert "a quoted field does not end; a closing quote is missing" in refusal(log)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_duplicate_columns(small_log, refusal, tmp_path, suffix):
    columns = small_log()
    names = ["arrival_time", "arm", "server", "arm"]
    table = pa.Table.from_arrays([pa.array(columns[name]) for name in names], names=names)
    table = table.append_column("response_time", pa.array(columns["response_time"]))
    log = tmp_path / f"log{suffix}"
    if suffix == ".csv":
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        text = [",".join(map(str, row)) for row in rows]
        log.write_text("\n".join([",".join(table.schema.names), *text]))
    elif suffix == ".parquet":
        pq.write_table(table, log)
    else:
        with pa.OSFile(str(log), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    found = refusal(log)
    assert found.startswith("columns.arm: the log has 2 columns named 'arm' (columns 2, 4); rename")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_missing_column(small_log, refusal, tmp_path, suffix):
    columns = small_log()
    columns["serverid"] = columns.pop("server")
    found = refusal(write_log(tmp_path / f"log{suffix}", columns))
    assert found == "columns.server: there is no column 'server', did you mean serverid?"


def test_a_byte_order_mark_and_windows_line_ends(small_log, describe, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    text = log.read_text()
    plain = analyze_log(log, describe(horizon=5.0))
    log.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert analyze_log(log, describe(horizon=5.0)).rows[:2] == plain.rows[:2]


def test_utf_16(small_log, refusal, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    log.write_bytes(log.read_text().encode("utf-16"))
    assert "its content is text in UTF-16 (save it as UTF-8)" in refusal(log)


def test_text_that_is_not_utf_8(small_log, refusal, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    log.write_bytes(log.read_bytes().replace(b'"B"', b'"B\xff"'))
    assert refusal(log) == "after row 0: text that is not UTF-8; save it as UTF-8"


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_labels_that_are_not_utf_8(small_log, refusal, tmp_path, suffix):
    log = write_log(tmp_path / f"log{suffix}", small_log() | {"arm": ["AAAA", "BBBB"] * 200})
    if suffix == ".parquet":
        pq.write_table(pq.read_table(log), log, compression="none")
    log.write_bytes(log.read_bytes().replace(b"BBBB", b"BB\xffB"))
    assert "rows 1 to 400: arm: is damaged (" in refusal(log)


def test_ragged_rows(small_log, refusal, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    lines = log.read_text().splitlines()
    lines[21] += ",extra"
    log.write_text("\n".join(lines))
    found = refusal(log)
    assert "5 fields where the header has 4" in found
    assert found.startswith("row 21: ")


def test_another_delimiter(small_log, describe, refusal, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    plain = analyze_log(log, describe(horizon=5.0)).rows
    log.write_text(log.read_text().replace(",", ";"))
    assert "there is no column 'arrival_time'" in refusal(log)
    assert analyze_log(log, describe(horizon=5.0, delimiter=";")).rows[0] == plain[0]


def test_too_many_arms_and_servers(small_log, refusal, tmp_path, monkeypatch):
    columns = small_log()
    columns["arm"] = [f"user {i}" for i in range(400)]
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert "arm: more than 64 different values; is it the name of an arm?" in found
    monkeypatch.setattr(ingest, "MOST_SERVERS", 100)
    columns = small_log()
    columns["server"] = list(range(400))
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert "server: more than 100 different values; is it the name of a server?" in found


def test_an_unsorted_log_that_is_too_long(small_log, refusal, tmp_path, monkeypatch):
    monkeypatch.setattr(order, "SORT_LIMIT", 300)
    columns = small_log()
    write_log(tmp_path / "log.parquet", columns)
    times = columns["arrival_time"]
    times[50], times[51] = times[51], times[50]
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert found == (
        "row 52 arrives before the row above it, and 400 rows are too many to sort (the limit is 300); "
        "sort the file by arrival time"
    )


@pytest.mark.parametrize("name", ["queue_length", "in_system"])
@pytest.mark.parametrize("value", [-1, 1.5, None, 2**40])
def test_lengths_that_are_no_counts(small_log, refusal, tmp_path, name, value):
    columns = small_log()
    columns[name] = [0.0] * 400
    columns[name][6] = value
    found = refusal(write_log(tmp_path / "log.parquet", columns), columns={name: name})
    assert found.startswith(f"row 7: {name}: must be a whole number, 0 or more")


def test_all_at_once(small_log, refusal, tmp_path):
    columns = small_log() | {"arrival_time": [5.0] * 400}
    assert refusal(write_log(tmp_path / "log.parquet", columns)).startswith(
        "all arrivals are at the"
    )


def test_a_horizon_longer_than_half_the_record(small_log, refusal, tmp_path):
    log = write_log(tmp_path / "log.parquet", small_log())
    found = refusal(log, horizon=300.0)
    assert found.startswith("horizon: 300 mean service times are 3")
    assert "more than half of the record's 400; at most " in found


@pytest.mark.parametrize("keys", [{"start": 1e9}, {"end": -5.0}, {"start": 10.0, "end": 10.0}])
def test_an_empty_record(small_log, refusal, tmp_path, keys):
    log = write_log(tmp_path / "log.parquet", small_log())
    assert refusal(log, drop=[], **keys).startswith("the record is empty")


def test_no_finished_job(small_log, refusal, tmp_path):
    columns = small_log() | {"response_time": [None] * 400}
    log = write_log(tmp_path / "log.parquet", columns)
    assert refusal(log) == "no job of the log is finished"


def test_types_that_tell_no_time(small_log, refusal, tmp_path):
    columns = small_log() | {"arrival_time": pa.array([0] * 400, pa.date32())}
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert (
        found
        == "arrival_time: must be a number or a date and time, the column's type is date32[day]"
    )
    columns = small_log() | {"response_time": [[1.0]] * 400}
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert found.startswith("response_time: must be numbers, the column's type is list")


def test_an_arm_that_is_a_list(small_log, refusal, tmp_path):
    columns = small_log() | {"arm": [["A"]] * 400}
    assert "cannot be read" in refusal(write_log(tmp_path / "log.parquet", columns))


def test_responses_shorter_than_the_travel_time(small_log, refusal, tmp_path):
    columns = small_log()
    columns["response_time"] = [max(0.5, value) for value in columns["response_time"]]
    columns["response_time"][3] = 0.25
    found = refusal(write_log(tmp_path / "log.parquet", columns), travel_time=0.5)
    assert found == "row 4: the response is shorter than the travel_time of 0.5"


def test_nothing_is_left_in_the_temporary_folder(
    small_log, refusal, describe, tmp_path, monkeypatch
):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    columns = small_log()
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe(horizon=5.0))
    assert not list(temporary.iterdir())
    assert analysis.replicate.column("server").sum() == sum(columns["server"])
    columns["arm"][3] = "C"
    refusal(write_log(tmp_path / "log.parquet", columns))
    assert not list(temporary.iterdir())


def test_a_folder_that_cannot_be_written(small_log, describe, tmp_path):
    log = write_log(tmp_path / "log.parquet", small_log())
    (tmp_path / "out").write_text("a file")
    with pytest.raises(LogError, match="out: cannot be written"):
        analyze_log(log, describe(horizon=5.0), tmp_path / "out")


def gzipped(log, kept=0.5, flip=None):
    """Compress a log, keep its first part and turn a bit of a byte."""
    content = bytearray(gzip.compress(log.read_bytes()))
    if flip is not None:
        content[flip] ^= 1
    packed = log.with_name("log.csv.gz")
    packed.write_bytes(content[: int(kept * len(content))])
    return packed


@pytest.mark.parametrize("block", [2**12, 2**23])
@pytest.mark.parametrize(
    "damage", [{"kept": 0.01}, {"kept": 0.5}, {"kept": 0.999}, {"kept": 1.0, "flip": -6}]
)
def test_damaged_compressed_files(small_log, refusal, tmp_path, monkeypatch, block, damage):
    monkeypatch.setattr(csv_source, "_BLOCK", block)  # damage in the first block, or in a later one
    log = write_log(tmp_path / "log.csv", small_log(jobs=5000))
    found = refusal(gzipped(log, **damage))
    assert found.startswith("cannot be read, it is truncated or damaged (")


def outcome(log):
    """Return what reading a log gives: the values that it holds, or how it is refused."""
    try:
        source = open_log(log)
        wanted = locate(source, {name: name for name in ("arrival_time", "arm", "server")}, log)
        parts = []
        for arrays in source.batches(list(wanted.values())):
            columns = [plain(values, "x", 0) for values in arrays]
            columns = [
                values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values
                for values in columns
            ]
            parts.append([(pa.types.is_floating(c.type), c.to_pylist()) for c in columns])
    except LogError as error:
        return str(error)
    return parts


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("times", ["numbers", "dates"])
def test_a_flipped_bit_in_a_parquet_footer_changes_nothing_in_silence(
    small_log, tmp_path, times, every
):
    columns = small_log(jobs=20)
    if times == "dates":
        moments = [int(1e3 * t) + 1_767_225_600_000 for t in columns["arrival_time"]]
        columns["arrival_time"] = pa.array(moments, pa.timestamp("ms", "UTC"))
    log = tmp_path / "log.parquet"
    pq.write_table(pa.table(columns), log, row_group_size=10, write_statistics=False)
    content = log.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Of Arrow's copy of the schema, a part of the footer, only a few bits have any meaning.
    end = content.index(b"ARROW:schema")
    right = outcome(log)
    places = [*range(footer, end), *range(len(content) - 40, len(content))]
    flips = [(place, bit) for place in places for bit in range(8)][::every]
    silent, refused = [], 0
    for place, bit in flips:
        wrong = bytearray(content)
        wrong[place] ^= 1 << bit
        log.write_bytes(wrong)
        found = outcome(log)
        refused += isinstance(found, str)
        if not isinstance(found, str) and found != right:
            silent.append((place - footer, bit))
    assert silent == []
    assert refused > len(flips) / 10


def test_text_that_a_writer_of_parquet_did_not_mark_as_such(small_log, describe, tmp_path):
    columns = small_log()
    marked = analyze_log(write_log(tmp_path / "log.parquet", columns), describe(horizon=5.0))
    columns["arm"] = pa.array([arm.encode() for arm in columns["arm"]], pa.binary())
    log = write_log(tmp_path / "log.parquet", columns)
    assert analyze_log(log, describe(horizon=5.0)).rows == marked.rows


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("column", ["server", "arm"])
def test_names_that_are_not_numbers(small_log, refusal, tmp_path, suffix, value, column):
    columns = small_log()
    columns["arm"] = [float(arm == "B") for arm in columns["arm"]]
    columns["server"] = [float(server) for server in columns["server"]]
    columns[column][4] = columns[column][9] = value
    found = refusal(write_log(tmp_path / f"log{suffix}", columns), treatment=1)
    assert found.startswith(f"rows 5 and 10: {column} is missing; every row")


@pytest.mark.parametrize("text", ["nan", "NaN", "None", "<NA>", "NA", ""])
def test_names_that_are_what_is_left_of_an_empty_field(small_log, refusal, tmp_path, text):
    columns = small_log()
    columns["server"] = [str(server) for server in columns["server"]]
    columns["server"][4] = text
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert found == "row 5: server is missing; every row needs one"


def test_servers_that_are_durations(small_log, refusal, tmp_path):
    columns = small_log()
    columns["server"] = pa.array(columns["server"], pa.duration("s"))
    found = refusal(write_log(tmp_path / "log.parquet", columns))
    assert found == "server: must be names or numbers, the column's type is duration[s]"


def test_versions_as_arms(small_log, refusal, describe, tmp_path):
    columns = small_log()
    columns["arm"] = [{"A": "1.1", "B": "1.10"}[arm] for arm in columns["arm"]]
    log = write_log(tmp_path / "log.csv", columns)
    found = refusal(log, treatment=1.1)
    assert found.startswith("treatment: arm is both '1.")
    assert found.endswith("in the log; quote the one that is meant")
    assert analyze_log(log, describe(treatment="1.10", horizon=5.0)).arms == ("1.1", "1.10")


SPEEDS = {name: {"policy": "power_of_d", "d": 1} for name in ("control", "treatment")}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"server_classes": {"slow": ["9"]}}, "server_classes.slow: the log has no server '9'"),
        ({"server_classes": {"slow": []}}, "server_classes: class slow has no server"),
        (
            {"server_classes": {"slow": [0], "fast": [0]}},
            "server_classes.fast: server '0' is in two classes",
        ),
        (
            {
                "server_classes": {"slow": [0], "fast": [1]},
                "structure": SPEEDS | {"speeds": {"slow": 1.0, "quick": 2.0}},
                "design": {"kind": "switchback", "period": 10.0},
            },
            "structure.speeds: 'quick' is neither a server class nor a server of the log",
        ),
        (
            {"drop": ["server", "start"], "server_classes": {"slow": [0]}},
            "server_classes needs columns.server",
        ),
        ({"delimiter": "\n"}, "delimiter: must be a printable ASCII character"),
        ({"delimiter": '"'}, "delimiter: must be a printable ASCII character"),
        ({"delimiter": "é"}, "delimiter: must be a printable ASCII character"),
    ],
)
def test_descriptions_that_do_not_fit_the_log(small_log, refusal, tmp_path, keys, expected):
    log = write_log(tmp_path / "log.csv", small_log())
    assert refusal(log, **keys).startswith(expected)


@pytest.fixture
def command(tmp_path):
    """Return a function that runs ``queuebench`` in a process of its own."""

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "queuebench", *map(str, arguments)],
            capture_output=True, text=True, cwd=tmp_path, timeout=120,
        )  # fmt: skip

    return run


@pytest.mark.parametrize("what", ["gzip", "parquet", "nested", "twice", "server", "nothing"])
def test_the_commands_exit_status(small_log, describe, command, tmp_path, what):
    columns = small_log()
    description = describe(horizon=5.0, drop=["start"])
    log = write_log(tmp_path / "log.csv", columns)
    if what == "gzip":
        log = gzipped(log)
    elif what == "parquet":
        log = write_log(tmp_path / "log.parquet", columns)
        log.write_bytes(log.read_bytes()[:-300])
    elif what == "nested":
        description.write_text("{a: " * 10_000)
    elif what == "twice":
        description.write_text(description.read_text()[:-1] + ', "horizon": 9.0}')
    elif what == "server":
        columns["server"][7] = math.nan
        log = write_log(tmp_path / "log.parquet", columns | {"server": list(columns["server"])})
    done = command("analyze", log, "--config", description, "--out", "out")
    if what == "nothing":
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"queuebench: {tmp_path}")
    assert not (tmp_path / "out").exists()


def test_a_reader_that_goes_away(small_log, describe, tmp_path):
    log = write_log(tmp_path / "log.csv", small_log())
    words = [sys.executable, "-m", "queuebench", "analyze", log, "--config", describe(horizon=5.0)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


def test_a_terminal_that_cannot_show_a_name(small_log, describe, tmp_path):
    columns = small_log()
    columns["arm"] = [{"A": "один", "B": "два"}[arm] for arm in columns["arm"]]
    log = write_log(tmp_path / "log.csv", columns)
    description = describe(horizon=5.0, treatment="два")
    words = [sys.executable, "-m", "queuebench", "analyze", log, "--config", description]
    done = subprocess.run(
        words, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\\u0434\\u0432\\u0430" in done.stdout
