"""Files that appear whole or not at all."""

import contextlib
import os
from pathlib import Path


@contextlib.contextmanager
def whole_file(path):
    """Give a temporary path beside `path`, renamed to it at the end and removed on any failure.

    Parameters
    ----------
    path : str or pathlib.Path

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
