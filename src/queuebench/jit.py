"""Where numba keeps compiled kernels, and how the package's kernels are declared.

numba notices an edit of the file that holds a cached function but not of the modules whose functions it
calls, so a cached kernel could silently run yesterday's policy. Here the cache folder carries the hash
of the package's sources: an edit anywhere compiles afresh, and nothing stale can be loaded.
"""

import hashlib
import os
from pathlib import Path

import numba

_PACKAGE = Path(__file__).parent


def _source_hash():
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        if b"njit" in (source := path.read_bytes()):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()[:16]


def _cache_folder():
    """Return the folder: where numba was told to, else beside the package, else the user's cache."""
    beside = _PACKAGE / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ:
        root = Path(os.environ["NUMBA_CACHE_DIR"])
    elif os.access(beside if beside.exists() else _PACKAGE, os.W_OK):
        root = beside
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "queuebench"
    return root / f"kernels-{_source_hash()}"


numba.config.CACHE_DIR = str(_cache_folder())


def njit(*args, **options):
    """``numba.njit`` with the on-disk cache; functions inlined into kernels need no cache of their own."""
    return numba.njit(*args, cache=True, **options)
