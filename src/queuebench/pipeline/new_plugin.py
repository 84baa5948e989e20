"""A first plug-in for somebody to change: an estimator or a policy that runs as written, and its test."""

from pathlib import Path
from string import Template

from queuebench.base.errors import StudyError

_TEMPLATES = Path(__file__).with_name("templates")
KINDS = ("estimator", "policy")
"""What there is to begin with."""


def write_plugin(kind: str, name: str, folder: str | Path) -> list[Path]:
    """Write a plug-in that runs as it is, and its test; return their paths.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    name : str
        By which a study names it, and of its file.
    folder : str or pathlib.Path
        Made if it is not there.

    Raises
    ------
    StudyError
        If the name is no word of Python, or a file is there already.
    """
    if not name.isidentifier():
        raise StudyError(f"new: {name!r}: a name must be letters, digits and underscores")
    begun = {Path(folder) / f"{prefix}{name}.py": f"{prefix}{kind}.txt" for prefix in ("", "test_")}
    for path in begun:
        if path.exists():
            raise StudyError(f"new: {path} is there already")
    Path(folder).mkdir(parents=True, exist_ok=True)
    for path, template in begun.items():
        path.write_text(Template((_TEMPLATES / template).read_text()).substitute(name=name))
    return list(begun)
