"""From a study to its cells, one per scenario and load, each complete in itself.

A study holds defaults and named scenarios; a scenario overrides defaults. Nothing here knows how anything is
simulated: names of policies and estimators are checked against their registries in
`queuebench.pipeline.checks`.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from queuebench.base.errors import StudyError
from queuebench.study.explain import plainly, validate
from queuebench.study.file import read_study_file, refuse_code
from queuebench.study.plugins import load_installed, load_plugins
from queuebench.study.settings import Experiment, ExternalLog, Study
from queuebench.study.types import NAME_RULE, is_name


@dataclass(frozen=True)
class Cell:
    """One scenario at one load, complete in itself.

    Attributes
    ----------
    scenario : str
        Name of the scenario.
    load : float
        Arrival rate over total service rate.
    seed : int
        The study's seed.
    experiment : Experiment
        The scenario's settings after merging with the study's defaults.
    """

    scenario: str
    load: float
    seed: int
    experiment: Experiment

    @property
    def name(self):
        """``{scenario}-load{load}`` with the load's shortest decimal form."""
        return f"{self.scenario}-load{self.load!r}"

    @property
    def rate(self):
        """Average arrival rate ``Lambda = load * N`` (speeds sum to N), per mean service time."""
        return self.load * self.experiment.system.servers

    @property
    def designs(self):
        """The designs that are switched on, by name and in its order."""
        return {name: d for name, d in sorted(self.experiment.designs.items()) if d is not None}

    @property
    def periodic(self):
        """Whether the arrival rate varies periodically."""
        return self.amplitude > 0.0

    @property
    def amplitude(self):
        """Relative amplitude of a sinusoidal arrival rate, else 0."""
        process = self.experiment.arrival_process
        return process.amplitude if process.kind == "sinusoidal" else 0.0

    @property
    def cycle(self):
        """Period of a sinusoidal arrival rate in mean service times, else 1."""
        process = self.experiment.arrival_process
        return process.period if process.kind == "sinusoidal" else 1.0

    def horizon_arrivals(self, horizon):
        """Return a horizon in mean service times as a number of arrivals, ``floor(h*Lambda + 1e-9)``."""
        return int(horizon * self.rate + 1e-9)

    def to_dict(self, *keys):
        """Return the cell as plain values, the inverse of `from_dict`.

        Parameters
        ----------
        *keys : str
            Keys of the experiment to keep, all by default; the others take their defaults again.
            The list of loads is always left out: a cell has one.
        """
        experiment = self.experiment.model_dump(
            mode="json", exclude_none=True, include=set(keys) or None
        )
        if "system" in experiment:
            del experiment["system"]["loads"]
        # Neither the order of designs nor that of a policy's parameters means anything.
        experiment = json.loads(json.dumps(experiment, sort_keys=True))
        return {
            "scenario": self.scenario,
            "load": self.load,
            "seed": self.seed,
            "experiment": experiment,
        }

    @classmethod
    def from_dict(cls, values):
        """Rebuild a cell from what `to_dict` returned, with the plug-ins that a job was told to load."""
        load_plugins(values.get("plugins"))
        experiment = Experiment.model_validate(values["experiment"])
        return cls(values["scenario"], values["load"], values["seed"], experiment)


_REPLACED_WHOLE = {
    "control",
    "treatment",
    "speeds",
    "arrival_process",
    "information",
    "service",
}


def load_study(path: str | Path) -> Study:
    """Read a study from a YAML file.

    Raises
    ------
    StudyError
        If the file cannot be read, is not YAML, or says something that is not allowed.
    """
    values = read_study_file(path)
    load_installed()
    return parse_study(values)


def parse_study(values):
    """Check a study given as plain mappings and lists.

    Its plug-ins are loaded first: the code of files and modules that it names runs.

    Raises
    ------
    StudyError
        Naming the first key that is wrong and what is allowed there.
    """
    if not isinstance(values, dict):
        raise StudyError("a study must be a mapping of keys, see config/README.md")
    refuse_code(values)
    load_plugins(values.get("plugins"))
    study = validate(Study, values, lambda key: key)
    for name in study.scenarios:
        if not is_name(name):
            raise StudyError(f"scenarios.{plainly(name)}: a scenario's {NAME_RULE}")
    for name, override in study.scenarios.items():
        kind = (override or {}).get("kind", "simulated")
        if kind not in ("simulated", "external", "replay"):
            raise StudyError(
                f"scenarios.{name}.kind: must be simulated, replay or external, got {plainly(kind)}"
            )
        if kind == "replay" and "workload" not in override:
            raise StudyError(f"scenarios.{name}.workload: this key is required")
    if not study.scenarios and study.loss_network is None:
        raise StudyError("scenarios: at least one is needed, or a loss_network")
    external_logs(study)
    return study


def external_logs(study):
    """Return the scenarios of kind external by name.

    Raises
    ------
    StudyError
        If one lacks its log or config, or says more.
    """
    return {
        name: validate(ExternalLog, override, f"scenarios.{name}.{{}}".format)
        for name, override in study.scenarios.items()
        if (override or {}).get("kind") == "external"
    }


def resolve(study):
    """Return the cells of a study's simulated scenarios, in the order of scenarios and loads.

    Raises
    ------
    StudyError
        If a scenario's override is wrong.
    """
    base = study.model_dump(mode="json", include=set(Experiment.model_fields), exclude_none=True)
    cells = []
    for name, override in study.scenarios.items():
        override = dict(override or {})
        if override.pop("kind", "simulated") == "external":
            continue
        merged = _merge(base, override)
        experiment = validate(Experiment, merged, _locator(f"scenarios.{name}", override))
        for load in experiment.system.loads:
            cells.append(Cell(name, load, study.seed, experiment))
    return cells


def _merge(base, override, path=()):
    """Merge mappings key by key; a few keys are replaced whole, and null drops an entry."""
    merged = dict(base)
    for key, value in override.items():
        whole = not path and key in _REPLACED_WHOLE
        if isinstance(value, dict) and isinstance(merged.get(key), dict) and not whole:
            same_kind = value.get("kind", merged[key].get("kind")) == merged[key].get("kind")
            merged[key] = _merge(merged[key], value, (*path, key)) if same_kind else value
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def _locator(prefix, override):
    """Return a function that says whether a key came from the override or from the defaults."""

    def locate(key):
        head = key.split(".")[0]
        return f"{prefix}.{key}" if head in override else key

    return locate
