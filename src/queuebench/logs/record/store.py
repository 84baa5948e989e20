"""Columns longer than memory: plain binary files, one per column, read through memory maps.

The files have no names: whatever ends the process, the system gives their room back.
"""

import contextlib
import tempfile

import numpy as np

from queuebench.logs.errors import LogError


@contextlib.contextmanager
def _room():
    try:
        yield
    except OSError as error:
        folder = tempfile.tempdir or "a temporary folder"
        raise LogError(
            f"its columns, about 70 bytes a row, could not be kept in {folder} "
            f"({error.strerror}); set TMPDIR to a folder with more room"
        ) from None


class ColumnStore(contextlib.ExitStack):
    """Columns that grow at their end; use as a context manager, which closes the files.

    Arrays that `read` returned stay valid afterwards: they hold on to their maps.

    Parameters
    ----------
    kinds : dict of str to dtype
        NumPy types by column name.

    Raises
    ------
    LogError
        If there is no room for temporary files.
    """

    def __init__(self, kinds):
        super().__init__()
        self._kinds = dict(kinds)

    def __enter__(self):
        super().__enter__()
        with _room():
            self._files = {
                name: self.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (it is one)
                for name in self._kinds
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
        file = self._files[name]
        return np.asarray(np.memmap(file, kind, mode="r")) if file.tell() else np.empty(0, kind)
