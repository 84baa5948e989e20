"""Modules from outside the package, as plug-ins are, and the files whose edit changes what they do."""

import ast
import importlib.util
import sys
from pathlib import Path

_PACKAGE = Path(__file__).parents[1].name
_INSTALLED = {"site-packages", "dist-packages"}


def is_outside(module: str) -> bool:
    """Return whether a module is none of the package."""
    return module.partition(":")[0].partition(".")[0] != _PACKAGE


def outside_sources(module: str) -> dict[str, Path]:
    """Return what a module from outside the package is made of.

    Parameters
    ----------
    module : str
        Name of an imported module.

    Returns
    -------
    dict of str to pathlib.Path
        Sources by name: of the module and of all it imports from its own folder, within functions too; for
        one that is installed, from its own package. Empty for a module of the package, and for one that has
        no file.
    """
    file = getattr(sys.modules.get(module), "__file__", None)
    if not is_outside(module) or not file or not file.endswith(".py"):
        return {}
    file = Path(file).resolve()
    root = file.parents[module.count(".") + (file.name == "__init__.py")]
    alone = bool(_INSTALLED & set(root.parts))
    found, ahead = {}, {module}
    while ahead:
        name = ahead.pop()
        path = source_path(root, name)
        if name in found or not path.is_file():
            continue
        if not alone or name.partition(".")[0] == module.partition(".")[0]:
            found[name] = path
            ahead |= imported_names(ast.parse(path.read_bytes()), _package_of(name, path))
    return dict(sorted(found.items()))


def source_path(root: Path, name: str) -> Path:
    """Return where a module of some name lies below a folder, whether it is there or not."""
    base = root.joinpath(*name.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def imported_names(tree: ast.AST, package: str = "") -> set[str]:
    """Return the dotted names that a tree imports, anywhere in it: modules, and what is taken from them.

    Parameters
    ----------
    tree : ast.AST
    package : str
        In which the tree's module is, for imports relative to it.
    """
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            name = importlib.util.resolve_name(module, package) if package else module
            found |= {name, *(f"{name}.{alias.name}" for alias in node.names)}
    # Whoever imports a module runs the packages it is in.
    return {name.rsplit(".", k)[0] for name in found for k in range(name.count(".") + 1)}


def _package_of(name, path):
    return name if path.name == "__init__.py" else name.rpartition(".")[0]
