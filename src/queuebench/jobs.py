"""What a rule's job depends on: exactly the settings it uses, and the code it runs.

Rules pass these as params, so that a change reruns the jobs it concerns and no others. A `script` is the path
of the rule's script, whose imports say what code it runs.
"""

from pathlib import Path

import yaml

import queuebench.estimators  # noqa: F401 (importing registers)
from queuebench.estimators.registry import all_estimators
from queuebench.estimators.setting import applying, truth_arrivals
from queuebench.fingerprint import fingerprint
from queuebench.queueing.policies import policy

_SYSTEM = (
    "system", "control", "treatment", "speeds", "arrival_process", "information", "travel_time",
    "service", "warmup", "workload",
)  # fmt: skip
_RECORD = ("arrivals", "designs")
_ESTIMATION = ("horizon", "horizons", "estimators", "assumed")
_EXACT_ALONE = ("exact_states", "exact_tolerance")


def simulation_params(cell, design, script):
    """Return settings and code of a job that simulates kept traces of one design."""
    values = cell.to_dict(*_SYSTEM, "arrivals", "designs")
    values["experiment"]["designs"] = {design: values["experiment"]["designs"][design]}
    return {"cell": values, "code": _code(cell, script, _policies)}


def estimation_params(cell, script):
    """Return settings and code of a job that estimates from kept traces."""
    return {
        "cell": _with_estimators(cell),
        # Policies too, for estimators that replay the record.
        "code": _code(cell, script, _policies, _estimators),
    }


def batch_params(cell, script):
    """Return settings and code of a job that simulates and estimates."""
    return {
        "cell": _with_estimators(cell),
        "code": _code(cell, script, _policies, _estimators),
    }


def truth_params(cell, script):
    """Return settings and code of a job that simulates the truth."""
    return {
        "cell": _without_exact(cell.to_dict(*_SYSTEM, "truth")),
        "least_arrivals": truth_arrivals(cell),
        "code": _code(cell, script, _policies),
    }


def external_code(log, script):
    """Return the code of a job that analyses a log: all estimators, and the policies its description names.

    Parameters
    ----------
    log : queuebench.config.ExternalLog
    script : str or pathlib.Path
    """
    estimators = {entry.function.__module__ for entry in all_estimators()}
    return fingerprint(script, *estimators, *_described_policies(log.config))


def structural_estimators():
    """Return the names of the estimators that are told the structure of the system."""
    return [entry.name for entry in all_estimators() if entry.needs_structure]


def exact_params(cell, script):
    """Return settings and code of a job that solves a cell exactly."""
    values = cell.to_dict("system", "control", "treatment", "truth", "horizon", "horizons")
    truth = values["experiment"]["truth"]
    values["experiment"]["truth"] = {name: truth[name] for name in _EXACT_ALONE}
    return {"cell": values, "code": fingerprint(script)}


def loss_settings(study):
    """Return the settings of the loss network as plain values, empty without one."""
    return study.loss_network.model_dump(mode="json") if study.loss_network else {}


def _without_exact(values):
    """Leave out what only the exact oracle uses."""
    for name in _EXACT_ALONE:
        del values["experiment"]["truth"][name]
    return values


def _code(cell, script, *registries):
    return fingerprint(script, *(module for registry in registries for module in registry(cell)))


def _described_policies(path):
    """Return the modules of the policies that a log's description names; its job says what is wrong in it."""
    try:
        structure = yaml.safe_load(Path(path).read_text())["structure"]
        names = {structure[arm]["policy"] for arm in ("control", "treatment")}
        return {policy(name).module for name in names}
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return set()


def _policies(cell):
    for arm in (cell.experiment.control, cell.experiment.treatment):
        yield policy(arm.policy).module


def _applying(cell):
    kinds = dict.fromkeys(design.kind for design in cell.designs.values())
    return [entry for kind in kinds for entry in applying(cell, kind)]


def _estimators(cell):
    for entry in _applying(cell):
        yield entry.function.__module__


def _with_estimators(cell):
    """Return the cell's values with its estimators by name, so that a new one shows."""
    values = cell.to_dict(*_SYSTEM, *_RECORD, *_ESTIMATION)
    values["experiment"]["estimators"] = sorted(entry.name for entry in _applying(cell))
    return values
