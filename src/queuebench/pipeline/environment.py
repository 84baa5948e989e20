"""The environment variables that jobs inherit from the process that starts them."""

import os
from pathlib import Path

_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def prepare_jobs(threads=1):
    """Hold numerical libraries to a number of threads, and let every job find this package.

    A job in an environment of its own (conda, a container) does not have the package installed; it
    finds it through ``PYTHONPATH``.
    """
    for name in _THREADS:
        os.environ[name] = str(threads)
    source = str(Path(__file__).parents[2])
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if source not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [source, *paths]))
