"""What a rule's job depends on: exactly the settings it uses, and the code it runs.

Rules pass these as params, so that a change reruns the jobs it concerns and no others. A `script` is the path
of the rule's script, whose imports say what code it runs.
"""

import hashlib
import json
from importlib.metadata import version

import queuebench.estimators  # noqa: F401 (importing registers)
from queuebench.base.yaml_text import YamlError, read_yaml
from queuebench.estimators.common.registry import all_estimators
from queuebench.estimators.common.setting import applying, truth_arrivals
from queuebench.pipeline.fingerprint import fingerprint
from queuebench.pipeline.stages.exact import choices
from queuebench.queueing.policies import policy
from queuebench.queueing.workload import content_hash

_SYSTEM = (
    "system", "control", "treatment", "speeds", "arrival_process", "information", "travel_time",
    "service", "warmup", "workload",
)  # fmt: skip
_RECORD = ("arrivals", "designs")
_ESTIMATION = ("horizon", "horizons", "estimators", "assumed")
_LIBRARIES = ("numpy", "numba", "llvmlite", "scipy")
_EXACT_ALONE = ("exact_states", "exact_tolerance")


def simulation_params(cell, design, script):
    """Return settings and code of a job that simulates kept traces of one design."""
    return {"cell": _record_settings(cell, design), "code": _code(cell, script, _policies)}


def _record_settings(cell, design):
    values = cell.to_dict(*_SYSTEM, "arrivals", "designs")
    values["experiment"]["designs"] = {design: values["experiment"]["designs"][design]}
    return values


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


def row_keys(cell):
    """Return what a cell's rows depend on, as hashes: settings, code, libraries and a workload's content.

    For the job that makes the rows, not for params: so it is the code and the workload at work that
    are named, whatever was edited since the workflow began.

    Returns
    -------
    dict of str to dict
        By design: ``estimates``, a hash by estimator, and ``diagnostics``, a hash.
    """
    told = cell.to_dict("horizon", "assumed")["experiment"]
    common = {
        "told": told | {"horizons": cell.experiment.all_horizons},
        "code": fingerprint(
            None,
            "queuebench.pipeline.stages.simulate",
            "queuebench.pipeline.stages.estimate",
            *_policies(cell),
        ),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "workload": content_hash(cell.experiment.workload),
    }
    return {
        name: _keys_of_design(common | {"record": _record_settings(cell, name)}, cell, design.kind)
        for name, design in cell.designs.items()
    }


def _keys_of_design(common, cell, kind):
    entries = applying(cell, kind)
    estimates = {
        entry.name: _digest(common, entry.name, fingerprint(None, entry.function.__module__))
        for entry in entries
    }
    compared = sorted(entry.name for entry in entries if entry.compared)
    diagnostics = _digest(common, [estimates[name] for name in compared])
    return {"estimates": estimates, "diagnostics": diagnostics}


def _digest(*parts):
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


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
    log : queuebench.study.settings.ExternalLog
    script : str or pathlib.Path
    """
    estimators = {entry.function.__module__ for entry in all_estimators()}
    return fingerprint(script, *estimators, *_described_policies(log.config))


def exact_params(cell, script):
    """Return settings and code of a job that solves a cell exactly."""
    values = cell.to_dict("system", "control", "treatment", "truth", "horizons")
    values = _with_horizons(values, cell)
    truth = values["experiment"]["truth"]
    values["experiment"]["truth"] = {name: truth[name] for name in _EXACT_ALONE}
    values["seed"] = 0  # No randomness enters: another seed solves nothing again.
    # How many queues an arm reads is said by its policy, whose rule the oracle does not run.
    return {"cell": values, "choices": choices(cell), "code": fingerprint(script)}


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
        structure = read_yaml(path)["structure"]
        names = {structure[arm]["policy"] for arm in ("control", "treatment")}
        return {policy(name).module for name in names}
    except (YamlError, KeyError, TypeError):
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
    return _with_horizons(values, cell)


def _with_horizons(values, cell):
    """Return the cell's values with its horizons in order, whichever key of the study gave them."""
    experiment = values["experiment"] | {"horizons": cell.experiment.all_horizons}
    # Snakemake compares params by their repr.
    return values | {"experiment": dict(sorted(experiment.items()))}
