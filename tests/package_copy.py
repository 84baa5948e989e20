"""Copies of the package that a test may edit, with what was compiled from it."""

import shutil
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

from queuebench.base.jit import cache_folder
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.queueing.policies.registry import registered

SOURCE = Path(__file__).parents[1] / "src"


def copy_package(folder):
    """Copy the package, its bytecode and its kernels, none of which an unedited copy makes again.

    numba finds a kernel in a subfolder named for the folder of its source, and takes it if the source is
    as old as it was.
    """
    ensure_compiled()
    left_out = shutil.ignore_patterns("kernels-*", "*.egg-info")
    shutil.copytree(SOURCE, folder, ignore=left_out)
    beside = folder / "queuebench/__pycache__"
    for cache in {cache_folder(), cache_folder(registered())}:
        for source in (SOURCE / "queuebench").rglob("*/"):
            copy = folder / source.relative_to(SOURCE)
            if (kernels := cache / _subfolder(source)).exists():
                shutil.copytree(kernels, beside / cache.name / _subfolder(copy))
        for mark in cache.glob("complete-*"):
            shutil.copy2(mark, beside / cache.name)


def _subfolder(folder):
    return UserProvidedCacheLocator.get_suitable_cache_subpath(str(folder / "module.py"))
