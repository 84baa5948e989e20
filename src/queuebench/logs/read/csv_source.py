"""CSV logs: every field arrives as text, to be converted where row numbers are known."""

import csv
import io

import pyarrow as pa
import pyarrow.csv as arrow_csv

from queuebench.logs.errors import LogError, first_line, readable, shorten
from queuebench.logs.read.values import MISSING

_BLOCK = 8 * 2**20
"""Bytes read at a time; no row may be longer."""


class CsvSource:
    """A CSV file with a header.

    Parameters
    ----------
    path : pathlib.Path
    delimiter : str

    Attributes
    ----------
    names : list of str
        The header.
    """

    def __init__(self, path, delimiter):
        self._path = path
        self._delimiter = "\t" if path.suffix == ".tsv" else delimiter
        self.names = self._header()

    def batches(self, wanted):
        """Yield tuples of string arrays, one per wanted column number."""
        rows = 0
        with readable(self._path):
            try:
                for batch in self._open(wanted):
                    rows += len(batch)
                    yield tuple(batch.column(str(i)) for i in wanted)
            except pa.ArrowInvalid as error:
                raise LogError(f"{self._path}: {self._explain(str(error), rows)}") from None

    def _open(self, wanted):
        try:
            return arrow_csv.open_csv(
                pa.input_stream(str(self._path)),
                read_options=arrow_csv.ReadOptions(
                    use_threads=True,
                    block_size=_BLOCK,
                    skip_rows=1,
                    column_names=[str(i) for i in range(len(self.names))],
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=self._delimiter,
                    newlines_in_values=True,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    include_columns=[str(i) for i in sorted(set(wanted))],
                    column_types={str(i): pa.string() for i in wanted},
                    strings_can_be_null=True,
                    null_values=list(MISSING),
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return iter(())
            raise

    def _header(self):
        with pa.input_stream(str(self._path)) as stream:
            opening = stream.read(_BLOCK)
        end = opening.find(b"\n")
        if end < 0 and len(opening) == _BLOCK:
            raise LogError(
                f"{self._path}: its first line is longer than {_size(_BLOCK)}; is it CSV?"
            )
        line = opening[: end if end >= 0 else None]
        try:
            text = line.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise LogError(f"{self._path}: its header is not text in UTF-8") from None
        return next(csv.reader(io.StringIO(text.rstrip("\r")), delimiter=self._delimiter), [""])

    def _explain(self, problem, rows):
        if "straddling" in problem or "block boundaries" in problem:
            return self._explain_long(rows)
        if "UTF8" in problem:
            return f"after row {rows}: text that is not UTF-8; save it as UTF-8"
        if "Expected" in problem and "columns" in problem:
            return self._explain_ragged(rows)
        return f"after row {rows}: is not valid CSV ({first_line(problem)})"

    def _explain_long(self, rows):
        line = _first_long_line(self._path)
        if line is None:
            return f"after row {rows}: a quoted field does not end; a closing quote is missing"
        # A header is one line, so the second line of the file is row 1.
        return (
            f"row {line - 1} is longer than {_size(_BLOCK)}; "
            "a log's fields are numbers, dates and short names"
        )

    def _explain_ragged(self, rows):
        """Find the first row with too many or too few fields: pyarrow, in parallel, knows no numbers."""
        wanted = len(self.names)
        with io.TextIOWrapper(
            pa.input_stream(str(self._path)), "utf-8-sig", errors="replace", newline=""
        ) as file:
            try:
                for row, fields in enumerate(csv.reader(file, delimiter=self._delimiter)):
                    if fields and len(fields) != wanted:
                        text = shorten(self._delimiter.join(fields))
                        return f"row {row}: {len(fields)} fields where the header has {wanted} ({text})"
            except csv.Error:
                return f"after row {rows}: a quoted field does not end; a closing quote is missing"
        return f"after row {rows}: a row has not {wanted} fields like the header"


def _first_long_line(path):
    """Return the number of the first line longer than a block, None if there is none."""
    line, length = 1, 0
    with pa.input_stream(str(path)) as stream:
        while chunk := stream.read(_BLOCK // 4):
            for position, part in enumerate(chunk.split(b"\n")):
                if position:
                    line, length = line + 1, 0
                length += len(part)
                if length > _BLOCK // 2:
                    return line
    return None


def _size(size):
    return f"{size // 2**20} MiB"
