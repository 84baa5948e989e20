"""Fingerprints of the code a result depends on.

Snakemake sees that a script changed, not that a module it imports did. A rule therefore carries, as a
param, a hash of the modules it reaches through imports. Docstrings and comments do not count.

Left out: `queuebench.config`, whose outcome is in the params already; `queuebench.progress`, which changes
no result; and the packages that register policies and estimators: the rule names the ones it uses, so
that a new one reruns nothing else.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

_SOURCE = Path(__file__).parent.parent
_NOT_FOLLOWED = {
    "queuebench",
    "queuebench.config",
    "queuebench.progress",
    "queuebench.queueing.policies",
    "queuebench.queueing.policies.registry",
    "queuebench.estimators",
}


def fingerprint(*modules):
    """Return a hash of some modules of the package and of all they import from it.

    Parameters
    ----------
    *modules : str
        Dotted names, for example ``"queuebench.experiment"``.

    Returns
    -------
    str
        Sixteen hexadecimal digits.

    Raises
    ------
    FileNotFoundError
        If a module is not part of the package.
    """
    digest = hashlib.sha256()
    for name in sorted(_closure(modules)):
        digest.update(f"{name}={_hash(name)};".encode())
    return digest.hexdigest()[:16]


def _closure(modules):
    seen, ahead = set(), list(modules)
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead.extend(_imports(name) - seen)
    return seen


def _path(name):
    base = _SOURCE / Path(*name.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


@cache
def _tree(name):
    return ast.parse(_path(name).read_text())


@cache
def _imports(name):
    """Return the modules of the package that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(_tree(name)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            found.update(member for member in members if _path(member).exists())
            found.add(node.module)
    return {name for name in found if name.startswith("queuebench")} - _NOT_FOLLOWED


@cache
def _hash(name):
    tree = _tree(name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
