"""Plug-ins: Python files and modules from outside the package, which register what a study names.

A file's folder is put at the end of the import path, so that it is a module under its own name, finds the
modules beside it and hides none. Jobs load what they use again, each in its own process.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path

from queuebench.base.errors import StudyError
from queuebench.base.outside import is_outside

_GROUP = "queuebench.plugins"
_MODULES: dict[str, str] = {}
"""By plug-in that is loaded: the module that it is."""
_PROVIDED: dict[str, str] = {}
"""By module that came with a plug-in: the plug-in, as it was named first."""


def load_plugins(named: object) -> set[str]:
    """Import plug-ins, which register what they have, and return their modules.

    Parameters
    ----------
    named : object
        Of a study or a description: a list of paths to ``.py`` files, relative to the working directory, and
        of dotted names; what is no list of texts is left for the check of settings to refuse.

    Raises
    ------
    StudyError
        If one is not there or cannot be imported.
    """
    plugins = named if isinstance(named, list) else []
    return {_load(plugin) for plugin in plugins if isinstance(plugin, str)}


def load_installed() -> set[str]:
    """Import the plug-ins of installed packages, entry points of the group ``queuebench.plugins``.

    Returns
    -------
    set of str
        Their modules.

    Raises
    ------
    StudyError
        If one cannot be imported.
    """
    return load_plugins(sorted({found.module for found in entry_points(group=_GROUP)}))


def loaded_plugins() -> list[str]:
    """Return all plug-ins that are loaded, sorted."""
    return sorted(_MODULES)


def plugin_modules() -> list[str]:
    """Return the modules that the plug-ins are, sorted."""
    return sorted(set(_MODULES.values()))


def providers(modules: Iterable[str]) -> list[str]:
    """Return the plug-ins, sorted, that some modules came with."""
    return sorted({_PROVIDED[module] for module in modules if module in _PROVIDED})


def provided(plugin: str) -> set[str]:
    """Return the modules that came with a plug-in."""
    return {module for module, origin in _PROVIDED.items() if origin == plugin}


def _load(plugin):
    name = _module_of_file(plugin) if plugin.endswith(".py") else plugin
    before = set(sys.modules)
    try:
        importlib.import_module(name)
    except Exception as error:
        raise StudyError(f"plugins: {plugin} cannot be imported: {_said(error)}") from error
    _MODULES[plugin] = name
    came = {module for module in set(sys.modules) - before if is_outside(module)}
    for module in {name, *came}:
        _PROVIDED.setdefault(module, plugin)
    return name


def _module_of_file(plugin):
    """Return the name under which a file is a module, and let it be found."""
    path = Path(plugin).resolve()
    if not path.is_file():
        raise StudyError(f"plugins: there is no file {plugin} (looked for in {Path.cwd()})")
    if not path.stem.isidentifier():
        raise StudyError(f"plugins: {plugin}: a plug-in's name must be a word of Python")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
        importlib.invalidate_caches()
    found = importlib.util.find_spec(path.stem)
    if found is None or found.origin is None or Path(found.origin).resolve() != path:
        other = found.origin if found else "another module"
        raise StudyError(f"plugins: {plugin} has the name of {other}; give it one of its own")
    return path.stem


def _said(error):
    """Return an error on one line, with the line of the source where it knows one."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"
