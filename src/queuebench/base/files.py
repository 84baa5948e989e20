"""Files that appear whole or not at all, and folders that do not outlive who made them."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

_SCRATCH = "queuebench-"
_SETTLED = 60.0
"""Seconds after which the maker of a folder has certainly locked it."""


@contextlib.contextmanager
def whole_file(path: str | Path):
    """Give a temporary path beside `path`, renamed to it at the end and removed on any failure.

    Yields
    ------
    pathlib.Path
        Where to write.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # One fixed name, so that what a killed process left is overwritten by the next.
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def scratch_folder():
    """Give a temporary folder, removed at the end; remove those that killed processes left before.

    A folder belongs to whoever holds the lock on it, which ends with the process however that ends.

    Yields
    ------
    pathlib.Path
    """
    for left in Path(tempfile.gettempdir()).glob(f"{_SCRATCH}*"):
        with contextlib.suppress(OSError), _locked(left):
            if time.time() - left.stat().st_mtime > _SETTLED:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_SCRATCH) as folder, _locked(folder):
        yield Path(folder)


@contextlib.contextmanager
def _locked(folder):
    """Hold a folder's lock; an `OSError` if another process has it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
