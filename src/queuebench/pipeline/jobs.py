"""What a rule's job depends on: exactly the settings it uses, and the code it runs.

Rules pass these as params, so that a change reruns the jobs it concerns and no others. A `script` is the path
of the rule's script, whose imports say what code it runs.
"""

import hashlib
import json
from importlib.metadata import version

import queuebench.estimators  # noqa: F401 (importing registers)
from queuebench.base.errors import StudyError
from queuebench.base.outside import is_outside
from queuebench.base.yaml_text import YamlError, read_yaml
from queuebench.estimators.common.registry import all_estimators
from queuebench.estimators.common.setting import applying, truth_arrivals
from queuebench.pipeline.fingerprint import fingerprint
from queuebench.queueing.outside_arrivals import outside_arrivals
from queuebench.queueing.policies import policy
from queuebench.queueing.service import law_module
from queuebench.queueing.workload import content_hash
from queuebench.study.plugins import load_installed, load_plugins, providers

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
    return _job(_record_settings(cell, design), script, _simulated(cell))


def _record_settings(cell, design):
    values = cell.to_dict(*_SYSTEM, "arrivals", "designs")
    values["experiment"]["designs"] = {design: values["experiment"]["designs"][design]}
    return values


def estimation_params(cell, script):
    """Return settings and code of a job that estimates from kept traces."""
    # What is simulated too, for estimators that replay the record, and as the cell names it.
    return _job(_with_estimators(cell), script, _simulated(cell) | _estimators(cell))


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
            *_simulated(cell),
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
    values = _without_exact(cell.to_dict(*_SYSTEM, "truth"))
    return {"least_arrivals": truth_arrivals(cell)} | _job(values, script, _simulated(cell))


def external_code(log, script):
    """Return the code of a job that analyses a log: estimators, and what else its description names.

    Parameters
    ----------
    log : queuebench.study.settings.ExternalLog
    script : str or pathlib.Path
    """
    modules = load_installed() | _described(log.config)
    named = providers(modules)
    for entry in all_estimators():
        if set(providers([entry.function.__module__])) <= set(named):
            modules.add(entry.function.__module__)
    return fingerprint(script, *modules)


def exact_params(cell, reads, script):
    """Return settings and code of a job that solves a cell exactly.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    reads : list of int
        How many queues either arm reads: the oracle runs no policy's rule.
    script : str or pathlib.Path
    """
    values = cell.to_dict("system", "control", "treatment", "truth", "horizons")
    values = _with_horizons(values, cell)
    truth = values["experiment"]["truth"]
    values["experiment"]["truth"] = {name: truth[name] for name in _EXACT_ALONE}
    values["seed"] = 0  # No randomness enters: another seed solves nothing again.
    designs = cell.to_dict("designs")["experiment"]["designs"]
    # Of designs, the shares and their weights alone: blocks of another length solve nothing again.
    of_shares = {
        name: design | {"period": 1.0, "burn_in": 0.0, "order": "cycles"}
        for name, design in designs.items()
        if design["kind"] == "shares"
    }
    if of_shares:
        values["experiment"]["designs"] = of_shares
    return {"cell": values, "reads": reads, "code": fingerprint(script)}


def loss_settings(study):
    """Return the settings of the loss network as plain values, empty without one."""
    return study.loss_network.model_dump(mode="json") if study.loss_network else {}


def _without_exact(values):
    """Leave out what only the exact oracle uses."""
    for name in _EXACT_ALONE:
        del values["experiment"]["truth"][name]
    return values


def _job(values, script, modules):
    """Return a cell's values, with the plug-ins that some modules came with, and the code of a job."""
    if plugins := providers(modules):
        values |= {"plugins": plugins}
    return {"cell": values, "code": fingerprint(script, *modules)}


def _described(path):
    """Return the modules of a description's plug-ins and policies; its job says what is wrong in it."""
    modules = set()
    try:
        described = read_yaml(path)
        modules |= load_plugins(described.get("plugins"))
        names = {described["structure"][arm]["policy"] for arm in ("control", "treatment")}
        return modules | {policy(name).module for name in names}
    except (YamlError, StudyError, KeyError, TypeError, AttributeError):
        return modules


def _simulated(cell):
    """Return the modules of a cell's policies, and of its laws of service and arrivals from outside."""
    experiment = cell.experiment
    arrivals = outside_arrivals(experiment.arrival_process.kind)
    laws = [
        law_module(experiment.service.distribution),
        *([arrivals.__module__] if arrivals else []),
    ]
    arms = (experiment.control, experiment.treatment)
    return {policy(arm.policy).module for arm in arms} | set(filter(is_outside, laws))


def _applying(cell):
    kinds = dict.fromkeys(design.kind for design in cell.designs.values())
    return [entry for kind in kinds for entry in applying(cell, kind)]


def _estimators(cell):
    return {entry.function.__module__ for entry in _applying(cell)}


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
