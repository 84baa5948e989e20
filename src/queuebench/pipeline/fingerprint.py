"""Fingerprints of the code a result depends on.

Snakemake sees that a script changed, not that a module it imports did. A rule therefore carries, as a
param, a hash of all modules that its script reaches through imports, those within functions too. Docstrings
and comments do not count.

Left out is what changes no result (`_NO_RESULT`), and what a registry's package imports: the rule names the
policies and estimators it uses, so that a new one reruns nothing else (`_NAMED`). Of the settings
(`_SETTINGS`) the methods and functions that are reached count; fields and validators do not, as every study
passes them when the workflow is parsed, and what comes out is in the params. Of a module from outside counts
what it imports from its own folder, and of the package.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

from queuebench.base.outside import is_outside, outside_sources, source_path

_SOURCE = Path(__file__).parents[2]
_PACKAGE = "queuebench"
_NO_RESULT = {
    f"{_PACKAGE}{name}"
    for name in ("", ".base.progress", ".pipeline.failures", ".pipeline.kernels")
}
_NAMED = {f"{_PACKAGE}.estimators", f"{_PACKAGE}.queueing.policies"}
_SETTINGS = f"{_PACKAGE}.study."
_VALIDATORS = {"model_validator", "field_validator"}
_OUTSIDE: dict[str, Path] = {}
"""Sources of the modules from outside that somebody asked for."""


def fingerprint(script, *modules):
    """Return a hash of all code of the package, and of plug-ins, that a script reaches.

    Parameters
    ----------
    script : str, pathlib.Path or None
        Of a rule; None where only modules count.
    *modules : str
        Dotted names of the registered policies' and estimators' modules that the rule uses, or of others;
        those from outside are imported already.

    Returns
    -------
    str
        Sixteen hexadecimal digits.

    Raises
    ------
    FileNotFoundError
        If the script is not there or a module is not part of the package.
    """
    digest = hashlib.sha256()
    for name in sorted(reached(script, *modules)):
        digest.update(f"{name}={_hash(name)};".encode())
    return digest.hexdigest()[:16]


def reached(script, *modules):
    """Return the names behind a fingerprint: modules, and ``module:definition`` of the settings."""
    imported = set() if script is None else _imported(ast.parse(Path(script).read_text()))
    ahead = {*imported, *modules}
    for module in filter(is_outside, modules):
        sources = outside_sources(module)
        _OUTSIDE.update(sources)
        ahead |= sources.keys()
    seen = set()
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead |= _followed(name)
    return seen


def _path(name):
    if is_outside(name) and name not in _OUTSIDE:
        raise FileNotFoundError(f"{name} is no Python file")
    return _OUTSIDE.get(name) or source_path(_SOURCE, name)


@cache
def _tree(name):
    return ast.parse(_path(name).read_text())


@cache
def _followed(name):
    """Return the names that a module, or a definition of the settings, leads to."""
    module, _, symbol = name.partition(":")
    if symbol:
        return _followed_from(module, _definition(module, symbol))
    found = _imported(_tree(module))
    if _path(module).name == "__init__.py" and _discovers(_tree(module)):
        found |= {f"{module}.{path.stem}" for path in _path(module).parent.glob("[!_]*.py")}
    return found


def _imported(tree):
    """Return the names of the package that a tree imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {_member(node.module, alias.name) for alias in node.names}
    found = {name for name in found if name.split(".")[0] == _PACKAGE}
    # Whoever imports a module runs the packages it is in.
    for name in list(found):
        module = name.partition(":")[0]
        while "." in module:
            module = module.rpartition(".")[0]
            found.add(module)
    return found - _NO_RESULT - _NAMED


def _member(module, name):
    """Return what ``from module import name`` leads to."""
    if module.startswith(_SETTINGS):
        return f"{module}:{name}"
    inner = f"{module}.{name}"
    return inner if module.split(".")[0] == _PACKAGE and _path(inner).exists() else module


def _discovers(tree):
    """Return whether a package imports all its modules without naming them."""
    return any(
        isinstance(node, ast.Attribute) and node.attr == "iter_modules" for node in ast.walk(tree)
    )


@cache
def _definitions(module):
    """Return what a module of the settings defines, by name; what it imports among it."""
    found = {}
    for node in _tree(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(alias.asname or alias.name): _alone(node, alias) for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in getattr(node, "targets", None) or [node.target]:
                found |= {part.id: node for part in ast.walk(target) if isinstance(part, ast.Name)}
    return found


def _alone(node, alias):
    """Return the import of one name, without its neighbours."""
    if isinstance(node, ast.Import):
        return ast.Import([alias])
    return ast.ImportFrom(node.module, [alias], node.level)


def _definition(module, symbol):
    if symbol not in _definitions(module):
        raise FileNotFoundError(f"{module} defines no {symbol}")
    return _definitions(module)[symbol]


def _followed_from(module, node):
    """Return what a definition of the settings leads to: its code to all it names, fields to models."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _imported(node)
    code, declared = _parts(node)
    defined = _definitions(module)
    named = _names_of(declared) & defined.keys()
    found = _names_of(code) & defined.keys() | {n for n in named if _declares(module, defined[n])}
    return {f"{module}:{name}" for name in found}.union(*map(_imported, code))


def _parts(node):
    """Return the code of a definition, and what it only declares."""
    if isinstance(node, ast.ClassDef):
        methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        code = [part for part in methods if not _names_of(part.decorator_list) & _VALIDATORS]
        return code, [*node.bases, *(part for part in node.body if part not in methods)]
    return ([], [node]) if _is_type(node) else ([node], [])


def _declares(module, node):
    """Return whether a node of the settings is, or imports, a model or a type under a name of its own."""
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(_SETTINGS):
        name = node.names[0].name
        return _declares(node.module, _definition(node.module, name))
    return _is_type(node)


def _is_type(node):
    value = getattr(node, "value", None)
    union = isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)
    return isinstance(node, ast.ClassDef) or isinstance(value, ast.Subscript) or union


def _names_of(nodes):
    return {part.id for node in nodes for part in ast.walk(node) if isinstance(part, ast.Name)}


@cache
def _hash(name):
    module, _, symbol = name.partition(":")
    if symbol:
        return hash_of(ast.Module(_parts(_definition(module, symbol))[0], []))
    return hash_of(_tree(module))


def hash_of(tree):
    """Return the hash of a tree, from which its docstrings are taken out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()
