"""Rows of estimates that earlier jobs made, kept by what each of them depends on.

Snakemake removes what a job wrote before it runs the job again, and knows of a batch only that something
it depends on has changed. So each job also leaves its rows under ``results/store/{cell}``, each with the
key of what it depends on, and one that runs again computes the rows whose key is not there: those of a
new estimator, of the replicates a larger batch has more. A key names settings, code and libraries (see
`queuebench.pipeline.jobs.row_keys`), so what is reused is what would be computed.

The files are a cache. They appear whole or not at all and begin with their own digest; one that is
damaged is left out, and removing them costs time and nothing else.
"""

import hashlib
import re
from pathlib import Path

import pyarrow as pa

from queuebench.base.arrow import table
from queuebench.base.files import whole_file

_NAME = re.compile(r"(\d+)-(\d+)\.([a-z]+)\.rows")
_DIGEST = hashlib.sha256
_SIZE = _DIGEST().digest_size


def store_of(output):
    """Return the store of the cell whose batch is written to a file, ``results/KIND/CELL/batch``."""
    cell = Path(output).parent
    return cell.parents[1] / "store" / cell.name


def replicates_of(path):
    """Return the replicates whose rows a store's file has, None if it is no such file."""
    named = _NAME.fullmatch(Path(path).name)
    return range(int(named[1]), int(named[2])) if named else None


class RowStore:
    """The rows of one kind that a cell's jobs have left for some replicates.

    Parameters
    ----------
    folder : str or pathlib.Path
        Of the cell, see `store_of`.
    kind : str
        In the files' names: estimates or diagnostics.
    schema : pyarrow.Schema
        Of the rows, but for their key.
    replicates : range
    say : Callable
        Called with a line of text about a file that is left out.
    """

    def __init__(self, folder, kind, schema, replicates, say):
        self._folder = Path(folder)
        self._kind = kind
        self._schema = schema.append(pa.field("key", pa.string()))
        self._replicates = replicates
        self._say = say

    def read(self):
        """Yield the rows at hand, each with what it depends on as ``key``.

        Where batches were cut otherwise before, files overlap and a row may come twice.
        """
        wanted = self._replicates
        for path, held in self._files():
            if max(held.start, wanted.start) < min(held.stop, wanted.stop):
                yield from (row for row in self._rows(path) if row["replicate"] in wanted)

    def write(self, rows):
        """Leave rows, each with its ``key``, in place of files that have no other replicates."""
        wanted = self._replicates
        path = self._folder / f"{wanted.start}-{wanted.stop}.{self._kind}.rows"
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema) as writer:
            writer.write_table(table(list(rows), self._schema))
        content = sink.getvalue().to_pybytes()
        try:
            with whole_file(path) as partial:
                partial.write_bytes(_DIGEST(content).digest() + content)
            for other, held in self._files():
                if other != path and wanted.start <= held.start and held.stop <= wanted.stop:
                    other.unlink(missing_ok=True)
        except OSError as error:
            self._say(f"{path} could not be written ({error.strerror}); later runs compute again")

    def _files(self):
        for path in sorted(self._folder.glob(f"*.{self._kind}.rows")):
            if (held := replicates_of(path)) is not None:
                yield path, held

    def _rows(self, path):
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # Another job has just put its rows into a larger file.
            return []
        except OSError as error:
            self._say(f"{path} cannot be read ({error.strerror}); left out")
            return []
        if _DIGEST(content[_SIZE:]).digest() != content[:_SIZE]:
            self._say(f"{path} is damaged; left out")
            return []
        found = pa.ipc.open_stream(content[_SIZE:]).read_all()
        # Of another version: no key in it could match.
        return found.to_pylist() if found.schema.equals(self._schema) else []
