"""Traces: Arrow in and out, the only door between simulation and estimation.

A trace file holds the replicates of one design one after the other, in record batches none of which
spans two replicates. The carry file beside it holds, per replicate, when the record starts and ends and
which jobs were already in the system; without those Little's law is not an identity.
"""

import contextlib
import json
import mmap
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa

from queuebench import __version__
from queuebench.base.arrow import as_numpy, column, numbers
from queuebench.base.files import whole_file

ARMS = ("control", "treated")
_LARGE = 1 << 28
"""Bytes from which on a mapped file is too large to stay in memory as a whole."""
_COUNTERFACTUAL = [f"{what}_if_{arm}" for what in ("server", "queue") for arm in ARMS]
_SEEN = [f"seen_if_{arm}" for arm in ARMS]
_JOB = pa.struct(
    [("server", pa.int32()), ("arrival", pa.float64()), ("start", pa.float64()),
     ("departure", pa.float64())]
)  # fmt: skip
_CARRY_SCHEMA = pa.schema(
    [
        ("replicate", pa.int64()),
        ("arrivals", pa.int64()),
        ("record_start", pa.float64()),
        ("record_end", pa.float64()),
        ("jobs", pa.list_(_JOB)),
    ]
)


class TraceError(Exception):
    """A trace file that is missing, truncated or not one of ours."""


def trace_schema(*, delayed, blocks, shares=False):
    """Return the columns of a trace.

    Parameters
    ----------
    delayed : bool
        Whether the dispatcher sees old lengths, so that what it saw is recorded.
    blocks : bool
        Whether the design has blocks of time (switchback, shares).
    shares : bool
        Whether the blocks have treated shares of their own.

    Returns
    -------
    pyarrow.Schema
        Times in mean service times. ``queue_length`` is the true number at the joined server just
        before the job lands, ``in_system`` the jobs dispatched and not completed just before the
        arrival, ``*_if_*`` each arm's choice and its true (seen) length just before the decision.
    """
    fields = [
        ("arrival_time", pa.float64()),
        ("treated", pa.bool_()),
        ("server", pa.int32()),
        ("queue_length", pa.int32()),
        ("in_system", pa.int32()),
        ("response_time", pa.float64()),
        *((name, pa.int32()) for name in _COUNTERFACTUAL),
    ]
    if delayed:
        fields += [(name, pa.int32()) for name in _SEEN]
    if blocks:
        fields.append(("block", pa.int32()))
    if shares:
        fields.append(("share", pa.float64()))
    return pa.schema(fields)


def carry_path(path):
    """Return the path of the carry file that belongs to a trace."""
    return Path(path).with_suffix(".carry.arrow")


class TraceWriter:
    """Writes a trace and its carry file; use as a context manager.

    Both files appear under their names only when the last replicate is complete.

    Parameters
    ----------
    path : str or pathlib.Path
        Of the trace, ending in ``.arrow``.
    cell : dict
        The resolved cell, stored as JSON in the file.
    design : str
        Name of the design.
    seed : int
    replicates : range
        Numbers of the replicates to be written, in order.
    delayed, blocks, shares : bool
        See `trace_schema`.
    counterfactual : bool
        Whether the arms' choices are known (not under a group design).
    recycle : bool
        Whether an older trace of that name gives its pages to the new one: writing over pages costs a
        quarter of asking for fresh ones, and some file systems write out a file that is renamed over.
        For traces that pass from simulation to estimation; nobody may be reading the older one.
    """

    def __init__(
        self,
        path,
        *,
        cell,
        design,
        seed,
        replicates,
        delayed,
        blocks,
        counterfactual,
        shares=False,
        recycle=False,
    ):
        self._path = path
        self._counterfactual = counterfactual
        self._recycle = recycle
        self._schema = trace_schema(delayed=delayed, blocks=blocks, shares=shares).with_metadata(
            {
                "cell": json.dumps(cell, sort_keys=True),
                "design": design,
                "seed": str(seed),
                "replicates": f"{replicates.start}:{replicates.stop}",
                "queuebench": __version__,
            }
        )
        self._carry = []
        self._nulls = pa.nulls(0, pa.int32())

    def __enter__(self):
        self._files = contextlib.ExitStack()
        with contextlib.ExitStack() as opening:
            # The carry file is renamed first: a trace that is there is complete.
            partial = opening.enter_context(self._partial(self._path))
            self._partial_carry = opening.enter_context(self._partial(carry_path(self._path)))
            file = opening.enter_context(_open_over(partial))
            self._writer = opening.enter_context(
                pa.ipc.new_file(pa.PythonFile(file, "w"), self._schema)
            )
            self._files = opening.pop_all()
        return self

    @contextlib.contextmanager
    def _partial(self, path):
        with whole_file(path) as partial:
            if self._recycle:
                with contextlib.suppress(FileNotFoundError):
                    os.replace(path, partial)
            yield partial

    def __exit__(self, *failure):
        if failure[0] is None:
            self._write_carry()
        return self._files.__exit__(*failure)

    def write(self, replicate, columns):
        """Append a record batch.

        Parameters
        ----------
        replicate : int
        columns : dict of str to ndarray
            By name; under a group design the counterfactual columns are left out.
        """
        n = len(columns["arrival_time"])
        arrays = [self._array(field, columns, n) for field in self._schema]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self._writer.write_batch(batch, custom_metadata={"replicate": str(replicate)})

    def end_replicate(self, replicate, *, arrivals, start, end, jobs):
        """Note a replicate's record and the jobs it began with, in arrays `server` to `departure`."""
        self._carry.append(
            {
                "replicate": replicate,
                "arrivals": arrivals,
                "record_start": start,
                "record_end": end,
                "jobs": jobs,
            }
        )

    def _array(self, field, columns, n):
        if field.name in _COUNTERFACTUAL and not self._counterfactual:
            if len(self._nulls) < n:
                self._nulls = pa.nulls(n, field.type)
            return self._nulls[:n]
        return numbers(columns[field.name], field.type)

    def _write_carry(self):
        table = _carry_table(self._carry)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        with _open_over(self._partial_carry) as file:
            file.write(sink.getvalue())


@contextlib.contextmanager
def _open_over(path):
    """Open a file for writing over what is there; what is left of that is cut off at the end."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb", buffering=0) as file:
        yield file
        file.truncate(file.tell())


def _carry_table(rows):
    """Return the carry of all replicates, with the list of jobs as a nested column."""
    members = [
        numbers(np.concatenate([row["jobs"][k] for row in rows]), field.type)
        for k, field in enumerate(_JOB)
    ]
    offsets = np.cumsum([0, *(len(row["jobs"][0]) for row in rows)])
    nested = pa.ListArray.from_arrays(
        numbers(offsets.astype(np.int32), pa.int32()),
        pa.StructArray.from_arrays(members, fields=list(_JOB)),
    )
    columns = [
        column([row[field.name] for row in rows], field.type) for field in list(_CARRY_SCHEMA)[:-1]
    ]
    return pa.Table.from_arrays([*columns, nested], schema=_CARRY_SCHEMA)


def carry_array(jobs):
    """Return the jobs in the system when a record starts as an Arrow array.

    Parameters
    ----------
    jobs : dict of str to ndarray
        ``server``, ``arrival``, ``start`` and ``departure``.

    Returns
    -------
    pyarrow.StructArray
    """
    members = [
        numbers(np.ascontiguousarray(jobs[field.name], field.type.to_pandas_dtype()), field.type)
        for field in _JOB
    ]
    return pa.StructArray.from_arrays(members, fields=list(_JOB))


@dataclass(frozen=True)
class Replicate:
    """One replicate of a trace, read through a memory map.

    Attributes
    ----------
    number : int
    arrivals : int
        Recorded arrivals n.
    record_start, record_end : float
        In mean service times.
    carry : pyarrow.StructArray
        ``server, arrival, start, departure`` of the jobs in the system when the record starts.
    """

    number: int
    arrivals: int
    record_start: float
    record_end: float
    carry: pa.StructArray
    _batches: tuple
    _file: "_MappedFile"

    def chunks(self, *names):
        """Yield tuples of arrays, one array per column name, a record batch at a time."""
        for batch in self._batches:
            yield tuple(as_numpy(batch.column(name)) for name in names)
            self._file.release(batch)

    def part(self, begin, end, start, stop, carry):
        """Return consecutive arrivals as a replicate of their own.

        Parameters
        ----------
        begin, end : int
            From the first arrival to the one after the last.
        start, stop : float
            When that record starts and ends.
        carry : pyarrow.StructArray
            The jobs in the system when it starts, see `carry_array`.
        """
        batches, before = [], 0
        for batch in self._batches:
            low, high = max(begin - before, 0), min(end - before, len(batch))
            if low < high:
                batches.append(batch.slice(low, high - low))
            before += len(batch)
        return Replicate(self.number, end - begin, start, stop, carry, tuple(batches), self._file)

    def column(self, name):
        """Return one column as one array, copied."""
        # Copied one by one, before a chunk's pages are given back.
        return np.concatenate([chunk.copy() for (chunk,) in self.chunks(name)])


class Trace:
    """A trace file opened for reading.

    Parameters
    ----------
    path : str or pathlib.Path

    Attributes
    ----------
    cell : dict
        The resolved cell it was simulated from.
    design : str
    seed : int
    replicates : range

    Raises
    ------
    TraceError
        If the file or its carry file is missing, truncated, or not a trace.
    """

    def __init__(self, path):
        self.path = Path(path)
        self._file = _MappedFile(self.path)
        self._reader = self._file.reader
        metadata = {
            key.decode(): value.decode()
            for key, value in (self._reader.schema.metadata or {}).items()
        }
        self._check(metadata)
        self.cell = json.loads(metadata["cell"])
        self.design = metadata["design"]
        self.seed = int(metadata["seed"])
        self.replicates = range(*map(int, metadata["replicates"].split(":")))

    def _check(self, metadata):
        names = self._reader.schema.names
        wanted = trace_schema(
            delayed="seen_if_control" in names, blocks="block" in names, shares="share" in names
        )
        if not self._reader.schema.equals(wanted) or "queuebench" not in metadata:
            raise TraceError(
                f"{self.path}: is an Arrow file but not a trace of queuebench; its columns are {names}"
            )

    def check_origin(self, cell, design):
        """Refuse the trace of another cell, design or seed, which would be estimated from unnoticed.

        Parameters
        ----------
        cell : queuebench.study.cells.Cell
        design : str
        """
        found = (self.cell["scenario"], self.cell["load"], self.design, self.seed)
        wanted = (cell.scenario, cell.load, design, cell.seed)
        words = ("scenario", "load", "design", "seed")
        for word, one, other in zip(words, found, wanted, strict=True):
            if one != other:
                raise TraceError(
                    f"{self.path}: was simulated for {word} {one}, not {other}; "
                    "delete the file and simulate again"
                )

    def __iter__(self):
        """Yield the replicates in order."""
        batches = self._batches_by_replicate
        for row in self._carry:
            number = row["replicate"].as_py()
            own = tuple(batches.get(number, ()))
            if sum(len(batch) for batch in own) != row["arrivals"].as_py():
                raise TraceError(
                    f"{self.path}: replicate {number} is incomplete; delete the file and simulate again"
                )
            jobs = row["jobs"].values
            yield Replicate(
                number,
                row["arrivals"].as_py(),
                row["record_start"].as_py(),
                row["record_end"].as_py(),
                jobs,
                own,
                self._file,
            )

    @cached_property
    def _batches_by_replicate(self):
        batches = {}
        for index in range(self._reader.num_record_batches):
            found = self._reader.get_batch_with_custom_metadata(index)
            number = int(found.custom_metadata[b"replicate"])
            batches.setdefault(number, []).append(found.batch)
        return batches

    @cached_property
    def _carry(self):
        path = carry_path(self.path)
        table = _MappedFile(path).reader.read_all()
        if not table.schema.equals(_CARRY_SCHEMA):
            raise TraceError(f"{path}: is an Arrow file but not the carry file of a trace")
        return [
            dict(zip(table.schema.names, row, strict=True))
            for row in zip(*(column.combine_chunks() for column in table.columns), strict=True)
        ]


class _MappedFile:
    """An Arrow file mapped into memory, whose pages can be given back before the end.

    pyarrow's own memory map holds every page that was ever read until it is closed.

    Parameters
    ----------
    path : pathlib.Path

    Attributes
    ----------
    reader : pyarrow.ipc.RecordBatchFileReader

    Raises
    ------
    TraceError
        If there is no such file or it is not a whole Arrow file.
    """

    def __init__(self, path):
        if not Path(path).exists():
            raise TraceError(f"{path}: there is no such trace")
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            buffer = pa.py_buffer(self._map)
            self.reader = pa.ipc.open_file(buffer)
        except (pa.ArrowInvalid, OSError, ValueError) as error:
            raise TraceError(
                f"{path}: is not a complete Arrow file ({error}); delete it and simulate again"
            ) from None
        self._begin = buffer.address
        self._large = buffer.size > _LARGE

    def release(self, batch):
        """Give a batch's pages back; they are read again if somebody looks. In small files they stay."""
        if not self._large:
            return
        buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer]
        first = min(buffer.address for buffer in buffers) - self._begin
        end = max(buffer.address + buffer.size for buffer in buffers) - self._begin
        first -= first % mmap.PAGESIZE
        self._map.madvise(mmap.MADV_DONTNEED, first, end - first)
