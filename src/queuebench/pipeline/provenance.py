"""Which study made the results in a folder: written beside them and into the collected tables."""

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import yaml

from queuebench import __version__
from queuebench.base.errors import StudyError
from queuebench.base.files import whole_file
from queuebench.study.cells import parse_study, resolve
from queuebench.study.file import read_study_file

_CHANGES_NO_NUMBER = ("batch_size", "keep_traces")
_NAMED = 6
"""Differences that are named one by one."""


def stamp(cells):
    """Return what a collected table says of its origin: the version, and a hash of the experiments.

    Parameters
    ----------
    cells : list of queuebench.study.cells.Cell
        All of the study, in its order.
    """
    values = [cell.to_dict() | {"experiment": _experiment(cell)} for cell in cells]
    digest = hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
    return {"queuebench": __version__, "study": digest[:16]}


def _experiment(cell):
    """Return a cell's settings but for what changes no number: some keys, and orders that mean nothing."""
    values = cell.to_dict()["experiment"] | {"horizons": cell.experiment.all_horizons}
    if isinstance(values["estimators"], list):
        values["estimators"] = sorted(values["estimators"])
    return {name: value for name, value in values.items() if name not in _CHANGES_NO_NUMBER}


def check_shown(cells, path):
    """Refuse to show collected tables that the study's experiments did not make.

    Parameters
    ----------
    cells : list of queuebench.study.cells.Cell
    path : str or pathlib.Path
        Of the collected estimates; one that is not there is no matter.

    Raises
    ------
    StudyError
        If they are another study's.
    """
    if cells and Path(path).exists():
        found = (pq.read_schema(path).metadata or {}).get(b"study", b"unknown").decode()
        wanted = stamp(cells)["study"]
        if found != wanted:
            raise StudyError(
                f"{path} is of study {found}, and a report would show it as study {wanted}; "
                "run the study first"
            )


def study_values(study):
    """Return a study as plain values with every default said; they are a study again."""
    values = study.model_dump(mode="json", exclude={"scenarios"}, exclude_none=True)
    return values | {"scenarios": study.scenarios}


def take_over(study, path):
    """Write a study beside the results of its run; say so if they are another study's.

    Parameters
    ----------
    study : queuebench.study.settings.Study
    path : str or pathlib.Path
        For example ``results/study.yaml``.

    Returns
    -------
    str or None
        A sentence on what the study that ran here before has otherwise.
    """
    path = Path(path)
    origin = stamp(resolve(study))
    text = (
        "# The study that ran here last, with every default said; it can be run as it is.\n"
        f"# queuebench {origin['queuebench']}, study {origin['study']}\n"
        + yaml.safe_dump(study_values(study), sort_keys=False, allow_unicode=True)
    )
    before = path.read_text(errors="replace") if path.exists() else None
    # The jobs of a cluster parse the study too, and find it written.
    if before == text:
        return None
    said = None if before is None else _said(path, study)
    with whole_file(path) as partial:
        partial.write_text(text)
    return said


def _said(path, study):
    try:
        other = _written(path, study)
    except StudyError:
        return f"{path} could not be read, so whose results lie beside it is not known"
    differing = _differences(other, study_values(study))
    if not differing:
        return None
    named = ", ".join(differing[:_NAMED])
    more = f" and {len(differing) - _NAMED} more" if len(differing) > _NAMED else ""
    scenarios = ", ".join(other["scenarios"]) or "none"
    return (
        f"{path.parent}/ holds the study with seed {other['seed']} and scenarios {scenarios}; this one "
        f"differs in {named}{more}: results which that concerns are replaced, and those of what is no longer "
        "named stay where they are"
    )


def _written(path, study):
    """Return the values of an earlier run's study, without running plug-ins that this one does not name."""
    values = read_study_file(path)
    named = values.get("plugins") if isinstance(values, dict) else None
    if named and named != study.plugins:
        return {"seed": None, "scenarios": {}} | values
    return study_values(parse_study(values))


def _differences(old, new, prefix=""):
    """Return what differs between two mappings of keys, by key and scenario."""
    found = []
    for key in dict.fromkeys([*new, *old]):
        one, other = old.get(key), new.get(key)
        if one == other and (key in old) == (key in new):
            continue
        if key == "scenarios":
            found += _differences(one or {}, other or {}, "scenarios.")
        elif key not in old:
            found.append(f"{prefix}{key} (new)")
        elif key not in new:
            found.append(f"{prefix}{key} (gone)")
        elif isinstance(one, dict | list) or isinstance(other, dict | list):
            found.append(f"{prefix}{key}")
        else:
            found.append(f"{prefix}{key} ({one}, now {other})")
    return found
