"""The same log in every form in which it may come."""

import gzip

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest

from queuebench.logs import analyze_log
from tests.logs.exported import write_log


@pytest.fixture
def expected(small_log, describe, tmp_path):
    return analyze_log(write_log(tmp_path / "log.parquet", small_log()), describe(horizon=5.0)).rows


@pytest.fixture
def table(small_log):
    return pa.table(small_log())


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=77)


def write_compressed(table, path):
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table.schema, options=options) as writer,
    ):
        writer.write_table(table)


def write_gzip(table, path):
    with gzip.open(path, "wb") as sink:
        arrow_csv.write_csv(table, sink)


def write_tabs(table, path):
    arrow_csv.write_csv(table, path, arrow_csv.WriteOptions(delimiter="\t"))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("stream.arrow", write_stream),
        ("zstd.feather", write_compressed),
        ("log.csv.gz", write_gzip),
        ("log.tsv", write_tabs),
        ("UPPER.CSV", lambda table, path: arrow_csv.write_csv(table, path)),
        ("log.pq", lambda table, path: pq.write_table(table, path, compression="none")),
    ],
)
def test_files(table, expected, describe, tmp_path, name, write):
    write(table, tmp_path / name)
    assert analyze_log(tmp_path / name, describe(horizon=5.0)).rows == expected


@pytest.mark.parametrize(
    ("column", "convert"),
    [
        ("arm", lambda values: values.dictionary_encode()),
        ("arm", lambda values: values.cast(pa.large_string())),
        ("arm", lambda values: values.cast(pa.string_view())),
        ("server", lambda values: values.cast(pa.int8())),
        ("server", lambda values: values.cast(pa.float64())),
        ("server", lambda values: values.cast(pa.string())),
        ("response_time", lambda values: values.cast(pa.string())),
        ("response_time", lambda values: values.cast(pa.large_string()).dictionary_encode()),
    ],
)
def test_types(table, expected, describe, tmp_path, column, convert):
    place = table.schema.get_field_index(column)
    table = table.set_column(place, column, convert(table[column]))
    pq.write_table(table, tmp_path / "log.parquet")
    assert analyze_log(tmp_path / "log.parquet", describe(horizon=5.0)).rows == expected


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("treatment", [1, "1", 1.0])
def test_arms_as_numbers(small_log, expected, describe, tmp_path, suffix, treatment):
    columns = small_log()
    columns["arm"] = [int(arm == "B") for arm in columns["arm"]]
    log = write_log(tmp_path / f"numbers{suffix}", columns)
    analysis = analyze_log(log, describe(horizon=5.0, treatment=treatment, control=0))
    assert analysis.rows == expected
    assert analysis.arms == ("0", "1")


def test_other_columns_are_not_read(small_log, expected, describe, tmp_path):
    columns = small_log() | {"note": [["any", "thing"]] * 400, "more": [{"a": 1}] * 400}
    assert analyze_log(
        write_log(tmp_path / "more.parquet", columns), describe(horizon=5.0)
    ).rows == (expected)


def test_text_with_line_ends_in_other_columns(small_log, expected, describe, tmp_path):
    columns = small_log() | {"note": ["two\nlines, and a comma"] * 400}
    log = write_log(tmp_path / "log.csv", columns)
    assert analyze_log(log, describe(horizon=5.0)).rows == expected
