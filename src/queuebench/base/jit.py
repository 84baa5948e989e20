"""Where numba keeps compiled kernels, and how the package's kernels are declared.

numba notices an edit of the file that holds a cached function but not of the modules whose functions it
calls, so a cached kernel could silently run yesterday's policy. Here the cache folder carries a hash of all
sources that a kernel can reach: the modules that declare compiled functions, and all they import from the
package. An edit of any of them compiles afresh; an edit of another, a figure say, does not.

What a kernel takes from elsewhere at run time, like the registered policies, is added to the hash of that
kernel's folder (``also``), modules from outside the package among it (`sources_hash`).
"""

import functools
import hashlib
import os
import re
from pathlib import Path

import numba

from queuebench.base.outside import outside_sources

_PACKAGE = Path(__file__).parents[1]
_DECLARING = {f"{_PACKAGE.name}.base.jit.{name}" for name in ("njit", "kernel", "inlined")} | {
    f"{_PACKAGE.name}.queueing.policies.registry.register"
}
"""Who imports one of these declares compiled functions."""

# A fifth of a second faster in every job than parsing; a docstring that looks like an import adds a module.
_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+(\([^)]*\)|[^\n]*))?", re.MULTILINE
)


def _imports(source):
    """Return the dotted names that a source imports: modules and what is taken from them."""
    found = set()
    for module, members in _IMPORT.findall(source):
        name = module.decode()
        found.add(name)
        found.update(f"{name}.{member}" for member in re.findall(r"\w+", members.decode()))
    return found


def _reachable():
    """Return the sources by name of the package's modules that a kernel can reach."""
    sources = {}
    for path in _PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts)
        sources[name.removesuffix(".__init__")] = path.read_bytes()
    imports = {name: _imports(source) for name, source in sources.items()}
    ahead = [name for name, imported in imports.items() if imported & _DECLARING]
    reached = {f"{_PACKAGE.name}.base.jit"}
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead.extend(imports[name] & sources.keys())
    return {name: sources[name] for name in sorted(reached)}


def _digest(sources):
    digest = hashlib.sha256()
    for name, source in sources.items():
        digest.update(name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:16]


@functools.cache
def _package_hash():
    return _digest(_reachable())


def sources_hash(module):
    """Return a hash of a module from outside the package and of what it imports from its own folder.

    Parameters
    ----------
    module : str
        Name of an imported module.

    Returns
    -------
    str
        Empty for a module of the package, whose sources are in every cache folder's hash, and for one
        that has no file.
    """
    paths = outside_sources(module)
    return _digest({name: path.read_bytes() for name, path in paths.items()}) if paths else ""


@functools.cache
def cache_folder(also="") -> Path:
    """Return the folder: where numba was told to, else beside the package, else the user's cache.

    Parameters
    ----------
    also : str
        What else the compiled code depends on.
    """
    beside = _PACKAGE / "__pycache__"
    if "NUMBA_CACHE_DIR" in os.environ:
        root = Path(os.environ["NUMBA_CACHE_DIR"])
    elif os.access(beside if beside.exists() else _PACKAGE, os.W_OK):
        root = beside
    else:
        root = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "queuebench"
    hashed = _package_hash()
    if also:
        hashed = hashlib.sha256(f"{hashed} {also}".encode()).hexdigest()[:16]
    return root / f"kernels-{hashed}"


def njit(function, *, also="", **options):
    """``numba.njit`` with the on-disk cache and NumPy's division by zero.

    Parameters
    ----------
    function : Callable
    also : str
        What else than sources of the package the compiled code depends on, see `cache_folder`.
    **options
        Of ``numba.njit``.
    """
    also += sources_hash(function.__module__)
    # numba looks the folder up when a function is declared.
    numba.config.CACHE_DIR = str(cache_folder(also))
    return numba.njit(function, cache=True, error_model="numpy", **options)


def kernel(function=None, *, also=""):
    """``njit`` for a function that allocates no array.

    numba counts references to arrays wherever one is passed on or unpacked from a tuple, atomically;
    in the dispatch loop that costs more than the simulation. A function that allocates nothing
    needs no counting, and numba's ``_nrt`` option leaves it out.
    """
    if function is None:
        return functools.partial(kernel, also=also)
    return njit(function, also=also, _nrt=False)


def inlined(function):
    """Declare a step of a kernel, copied into its callers when they are compiled.

    LLVM does the copying. numba's own, ``inline="always"``, takes five times as long to compile.
    """
    return numba.njit(function, forceinline=True, error_model="numpy", _nrt=False)
