"""Columns longer than memory: plain binary files, one per column, read through memory maps."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from queuebench.logs.errors import LogError


@contextlib.contextmanager
def _room():
    try:
        yield
    except OSError as error:
        raise LogError(
            f"its columns, about 70 bytes a row, could not be kept in {tempfile.gettempdir()} "
            f"({error.strerror}); set TMPDIR to a folder with more room"
        ) from None


class ColumnStore(contextlib.ExitStack):
    """Columns that grow at their end; use as a context manager, which removes the files.

    Arrays that `read` returned stay valid afterwards: they hold on to their maps.

    Parameters
    ----------
    kinds : dict of str to dtype
        NumPy types by column name.
    """

    def __init__(self, kinds):
        super().__init__()
        self._kinds = dict(kinds)

    def __enter__(self):
        super().__enter__()
        self._folder = Path(self.enter_context(tempfile.TemporaryDirectory(prefix="queuebench-")))
        self._files = {
            name: self.enter_context(self._path(name).open("wb")) for name in self._kinds
        }
        return self

    def append(self, **columns):
        """Append arrays of equal length, one per column.

        Raises
        ------
        LogError
            If the disk is full.
        """
        with _room():
            for name, kind in self._kinds.items():
                self._files[name].write(np.ascontiguousarray(columns[name], kind).data)

    def read(self):
        """Return all columns by name; the store must not grow afterwards."""
        with _room():
            for file in self._files.values():
                file.flush()
        return {name: self._map(name, kind) for name, kind in self._kinds.items()}

    def _map(self, name, kind):
        if not self._path(name).stat().st_size:
            return np.empty(0, kind)
        return np.asarray(np.memmap(self._path(name), kind, mode="r"))

    def _path(self, name):
        return self._folder / name
