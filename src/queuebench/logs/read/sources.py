"""Log files: Parquet, Arrow and CSV, read a batch of rows at a time."""

import base64
import binascii
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.logs.errors import LogError, readable, shorten
from queuebench.logs.read.csv_source import CsvSource
from queuebench.study.explain import nearest

BATCH = 131_072
"""Most rows of a batch."""

_FORMATS = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".ipc": "Arrow",
    ".feather": "Arrow",
    ".csv": "CSV",
    ".tsv": "CSV",
    ".gz": "CSV",
}
_OPENINGS = {"Parquet": (b"PAR1",), "Arrow": (b"ARROW1", b"\xff\xff\xff\xff")}
_SUFFIXES = "`.parquet`, `.arrow`, `.csv` or `.csv.gz`"


def open_log(path, delimiter=","):
    """Open a log by the format that its name says, and check that its content agrees.

    Parameters
    ----------
    path : str or pathlib.Path
    delimiter : str
        Between the fields of a CSV file.

    Returns
    -------
    source : object
        With ``names``, the names of its columns, and ``batches(wanted)``, which yields a tuple of
        Arrow arrays, one per wanted column number, a batch of rows at a time.

    Raises
    ------
    LogError
        If there is no such file, or it is not what its name says, or it is damaged.
    """
    path = Path(path)
    named = _FORMATS.get(path.suffix.lower())
    if not path.is_file():
        raise LogError(f"{path}: there is no such file")
    if named is None or (path.suffix == ".gz" and not path.name.lower().endswith(".csv.gz")):
        raise LogError(f"{path}: a log's name must end in {_SUFFIXES}")
    with open(path, "rb") as file:
        opening = file.read(64)
    if not opening:
        raise LogError(f"{path}: is empty (0 bytes)")
    found = _content(opening)
    if found != named:
        raise LogError(f"{path}: is named like {named} but its content is {found}; rename it")
    with readable(path):
        if named == "Parquet":
            return _Parquet(path)
        if named == "Arrow":
            return _Arrow(path, stream=opening.startswith(b"\xff"))
        return CsvSource(path, delimiter)


def locate(source, columns, path):
    """Return where the wanted columns stand.

    Parameters
    ----------
    source : object
        From `open_log`.
    columns : dict of str to str
        Names by role.
    path : str or pathlib.Path
        For the message.

    Returns
    -------
    dict of str to int
        Column numbers by role.

    Raises
    ------
    LogError
        If a column is missing, with the nearest name there is, or if a name is there twice.
    """
    counted = Counter(source.names)
    positions = {}
    for role, name in columns.items():
        if not counted[name]:
            known = nearest(name, [shorten(known)[1:-1] for known in source.names])
            raise LogError(f"{path}: columns.{role}: there is no column {shorten(name)}{known}")
        if counted[name] > 1:
            places = [str(i + 1) for i, known in enumerate(source.names) if known == name]
            raise LogError(
                f"{path}: columns.{role}: the log has {counted[name]} columns named "
                f"{shorten(name)} (columns {', '.join(places)}); rename all but one"
            )
        positions[role] = source.names.index(name)
    return positions


def _content(opening):
    for name, marks in _OPENINGS.items():
        if opening.startswith(marks):
            return name
    if opening.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "text in UTF-16 (save it as UTF-8)"
    gzipped = opening.startswith(b"\x1f\x8b")
    return "CSV" if gzipped or b"\0" not in opening else "neither Parquet, Arrow nor text"


class _Parquet:
    def __init__(self, path):
        self._path = path
        # Checksums are rare; where there are any, damaged data is noticed.
        self._file = pq.ParquetFile(path, memory_map=True, page_checksum_verification=True)
        self._schema = self._file.schema_arrow
        self.names = self._schema.names

    def batches(self, wanted):
        names = [self.names[i] for i in wanted]
        with readable(self._path):
            self._check_footer(set(names))
            for batch in self._file.iter_batches(BATCH, columns=sorted(set(names))):
                yield tuple(batch.column(name) for name in names)

    def _check_footer(self, names):
        """Refuse a footer that contradicts itself: it has no checksum, and one wrong bit changes values.

        What is said of single columns is left alone: pyarrow aborts on some that are wrong.
        """
        metadata = self._file.metadata
        rows = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if min(rows, default=0) < 0 or sum(rows) != metadata.num_rows:
            raise pa.ArrowInvalid(f"{metadata.num_rows} rows, but its parts have {rows[:10]}")
        written = self._written_schema()
        for name in names.intersection(written.names if written else ()):
            kinds = [kind.field(name).type for kind in (written, self._schema)]
            if not _may_become(*kinds):
                raise pa.ArrowInvalid(f"column {name} has two types, {kinds[0]} and {kinds[1]}")

    def _written_schema(self):
        """Return the schema that Arrow's own writer leaves beside Parquet's; None without one."""
        stored = (self._file.metadata.metadata or {}).get(b"ARROW:schema")
        if stored is None:
            return None
        try:
            return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored, validate=True)))
        except binascii.Error as error:
            raise pa.ArrowInvalid(f"its Arrow schema: {error}") from None


def _may_become(written, found):
    """Return whether a writer of Parquet may have turned one type into another.

    A time may be stored in a coarser unit, or in milliseconds for the seconds that Parquet does not have.
    """
    times = [pa.types.is_timestamp(kind) for kind in (written, found)]
    if all(times):
        order = ("s", "ms", "us", "ns")
        return order.index(found.unit) <= max(1, order.index(written.unit))
    numbers = pa.types.is_integer, pa.types.is_floating
    kinds = [[is_kind(kind) for is_kind in numbers] for kind in (written, found)]
    wider = written.bit_width <= found.bit_width if all(map(any, kinds)) else True
    return not any(times) and kinds[0] == kinds[1] and wider


class _Arrow:
    def __init__(self, path, stream):
        self._path = path
        self._stream = stream
        self.names = self._open().schema.names

    def _open(self, wanted=None):
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        source = pa.memory_map(str(self._path))
        opener = pa.ipc.open_stream if self._stream else pa.ipc.open_file
        return opener(source, options=options)

    def batches(self, wanted):
        with readable(self._path):
            kept = sorted(set(wanted))
            places = [kept.index(i) for i in wanted]
            for batch in self._record_batches(self._open(kept)):
                for begin in range(0, len(batch), BATCH):
                    part = batch.slice(begin, BATCH)
                    yield tuple(part.column(i) for i in places)

    def _record_batches(self, reader):
        if self._stream:
            yield from reader
        else:
            yield from map(reader.get_batch, range(reader.num_record_batches))
