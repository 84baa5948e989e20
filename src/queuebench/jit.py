"""Where numba keeps compiled kernels, and how the package's kernels are declared.

numba notices an edit of the file that holds a cached function but not of the modules whose functions it
calls, so a cached kernel could silently run yesterday's policy. Here the cache folder carries the hash
of the package's sources: an edit anywhere compiles afresh, and nothing stale can be loaded.
"""

import functools
import hashlib
import os
from pathlib import Path

import numba

_PACKAGE = Path(__file__).parent


def _source_hash():
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*.py")):
        if b"jit" in (source := path.read_bytes()):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0" + source)
    return digest.hexdigest()[:16]


@functools.cache
def cache_folder():
    """Return the folder: where numba was told to, else beside the package, else the user's cache."""
    beside = _PACKAGE / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ:
        root = Path(os.environ["NUMBA_CACHE_DIR"])
    elif os.access(beside if beside.exists() else _PACKAGE, os.W_OK):
        root = beside
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "queuebench"
    return root / f"kernels-{_source_hash()}"


numba.config.CACHE_DIR = str(cache_folder())


def njit(*args, **options):
    """``numba.njit`` with the on-disk cache and NumPy's division by zero."""
    return numba.njit(*args, cache=True, error_model="numpy", **options)


def kernel(function):
    """``njit`` for a function that allocates no array.

    numba counts references to arrays wherever one is passed on or unpacked from a tuple, atomically;
    in the dispatch loop that costs more than the simulation. A function that allocates nothing
    needs no counting, and numba's ``_nrt`` option leaves it out.
    """
    return njit(function, _nrt=False)


def inlined(function):
    """Declare a step of a kernel, copied into its callers when they are compiled.

    LLVM does the copying. numba's own, ``inline="always"``, takes five times as long to compile.
    """
    return numba.njit(function, forceinline=True, error_model="numpy", _nrt=False)
