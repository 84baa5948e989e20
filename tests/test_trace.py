import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from queuebench.base.arrow import as_numpy
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace, TraceError, carry_path


@pytest.fixture
def trace_path(make_cell, tmp_path):
    cell = make_cell(arrivals=500, system={"servers": 6}, designs={"group": {"kind": "group"}})
    simulate_batch(cell, "group", range(3, 5), tmp_path / "batch.arrow")
    return tmp_path / "batch.arrow"


def test_metadata_says_what_was_simulated(trace_path):
    trace = Trace(trace_path)
    assert trace.design == "group"
    assert trace.seed == 1
    assert trace.replicates == range(3, 5)
    assert trace.cell["experiment"]["arrivals"] == 500
    assert [replicate.number for replicate in trace] == [3, 4]


def test_columns_and_nulls(trace_path):
    table = pa.ipc.open_file(pa.memory_map(str(trace_path))).read_all()
    assert table.schema.names == [
        "arrival_time", "treated", "server", "queue_length", "in_system", "response_time",
        "server_if_control", "server_if_treated", "queue_if_control", "queue_if_treated",
    ]  # fmt: skip
    assert table["server_if_control"].null_count == len(table) == 1000
    assert table["response_time"].null_count == 0


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_truncated_file_is_named(trace_path, kept):
    content = trace_path.read_bytes()
    trace_path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(TraceError, match=r"batch\.arrow: is not a complete Arrow file"):
        Trace(trace_path)


def test_a_truncated_carry_file_is_named(trace_path):
    path = carry_path(trace_path)
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TraceError, match=r"batch\.carry\.arrow: is not a complete"):
        list(Trace(trace_path))


def test_a_missing_carry_file_is_named(trace_path):
    carry_path(trace_path).unlink()
    with pytest.raises(TraceError, match=r"batch\.carry\.arrow: there is no such"):
        list(Trace(trace_path))


def test_a_foreign_arrow_file_is_named(tmp_path):
    table = pa.table({"x": [1, 2]})
    path = tmp_path / "foreign.arrow"
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(TraceError, match=r"foreign\.arrow: is an Arrow file but not a trace"):
        Trace(path)


def test_nothing_stays_behind_after_a_failure(make_cell, tmp_path, monkeypatch):
    from queuebench.pipeline.stages import simulate as experiment

    cell = make_cell(arrivals=500, system={"servers": 4})

    def fail(*_):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(experiment, "_columns", fail)
    with pytest.raises(RuntimeError, match="in the middle"):
        simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    assert list(tmp_path.iterdir()) == []


def test_pages_of_a_large_file_are_given_back_and_read_again(make_cell, tmp_path, monkeypatch):
    """Behind the reader next to nothing of the file stays in memory; a second pass sees the same."""
    path = tmp_path / "batch.arrow"
    simulate_batch(make_cell(arrivals=150_000, system={"servers": 6}), "bernoulli", range(1), path)
    for large, stays in ((1 << 28, True), (0, False)):
        monkeypatch.setattr("queuebench.trace._LARGE", large)
        (replicate,) = trace = Trace(path)
        names = ("arrival_time", "in_system", "response_time", "server_if_treated")
        first, again = (
            [list(map(np.sum, columns)) for columns in replicate.chunks(*names)] for _ in "12"
        )
        assert first == again
        assert (_resident(path) > path.stat().st_size / 2) == stays
        del trace, replicate


def _resident(path):
    """Return the bytes of a file that this process has in memory."""
    after = Path("/proc/self/smaps").read_text().split(str(path))[1]
    return 1024 * int(re.search(r"^Rss:\s*(\d+) kB", after, re.MULTILINE)[1])


@pytest.mark.parametrize("kind", [pa.float64(), pa.int32(), pa.bool_()])
def test_an_empty_column_may_have_no_buffer(kind):
    column = pa.Array.from_buffers(kind, 0, [None, None])
    found = as_numpy(column)
    assert len(found) == 0
    assert found.dtype == kind.to_pandas_dtype()
