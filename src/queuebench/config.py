"""The study as typed objects: what a YAML file may say, and what a wrong one is told.

A study holds defaults and named scenarios; a scenario overrides defaults. `resolve` turns it into cells,
one per scenario and load, each complete in itself. Nothing here knows how anything is simulated: names
of policies and estimators are checked against their registries in `queuebench.checks`.
"""

import difflib
import json
import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from queuebench.errors import StudyError
from queuebench.study_file import read_study_file, refuse_code


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _whole(value):
    """Take 1000.0 for 1000: YAML reads 1.0e3 as a number with a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _as_name(name):
    """Refuse what cannot be part of a file's name."""
    if not is_name(name):
        raise ValueError("a design's " + NAME_RULE)
    return name


NAME_RULE = "name must consist of letters, digits and underscores, 60 at most"
_LONGEST_NAME = 60


def is_name(name):
    """Return whether a name of the study may become part of a file's name."""
    plain = all(character.isalnum() or character == "_" for character in name)
    return plain and len(name) > 0 and len(name.encode()) <= _LONGEST_NAME


def _because(reason, **bounds):
    """Return bounds with a reason, told with those that are no matter of course (0 and 1 are)."""
    chosen = {name: reason for name, bound in bounds.items() if bound not in (0, 1)}
    return Field(**bounds, json_schema_extra={"reasons": chosen})


_BOUNDS = {
    "greater_than": "gt",
    "greater_than_equal": "ge",
    "less_than": "lt",
    "less_than_equal": "le",
}
"""What pydantic calls a value that is beyond a bound."""


_PRECISION = "beyond this, rounding decides the results"
_LENGTH = "no record is long enough to show more"

Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[Whole, Field(ge=1, le=10**12)]
Servers = Annotated[Whole, _because("every arrival would search through more", ge=1, le=100_000)]
Name = Annotated[str, AfterValidator(_as_name)]
Share = Annotated[float, Field(gt=0, lt=1)]
Load = Annotated[
    float,
    _because("below it servers idle and nothing is compared", ge=1e-4, lt=1),
]
TreatedShare = Annotated[
    float, _because("a record has too few jobs of one arm", ge=1e-4, le=1 - 1e-4)
]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Time = Annotated[float, _because(_LENGTH, gt=0, le=1e6)]
ShortTime = Annotated[float, _because("jobs under way are kept in memory", ge=0, le=1e4)]
Cycle = Annotated[float, _because("within a service time nothing shows of it", ge=1e-3, le=1e6)]
Ratio = Annotated[float, _because(_PRECISION, ge=1e-6, le=1e6)]
Weight = Annotated[float, _because(_PRECISION, ge=1e-12, le=1e12)]
Multiplier = Annotated[float, _because(_LENGTH, ge=1e-6, le=1e6)]
Precision = Annotated[float, _because("no run is long enough for less", ge=1e-6, le=1e6)]


class System(_Strict):
    """The servers and how busy they are."""

    servers: Servers = Field(20, description="Number of parallel servers N.")
    loads: list[Load] = Field(
        [0.5, 0.7, 0.9], min_length=1, description="Loads, one cell each; strictly between 0 and 1."
    )
    treated_share: TreatedShare = Field(
        0.5, description="Share of arrivals treated (Bernoulli design)."
    )


class Policy(BaseModel):
    """A dispatch policy by its registered name, with the parameters that policy takes."""

    model_config = ConfigDict(extra="allow", frozen=True)
    policy: str = Field(description="Registered name, for example power_of_d.")

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, values):
        """Read 2.0 as 2, as everywhere in a study: which parameters are whole the policies know."""
        if not isinstance(values, dict):
            return values
        return {key: _whole(value) for key, value in values.items()}

    @property
    def parameters(self):
        """The policy's own parameters as a mapping."""
        return dict(self.model_extra or {})


class Bernoulli(_Strict):
    """Every arrival is treated independently with the treated share."""

    kind: Literal["bernoulli"] = "bernoulli"


class Group(_Strict):
    """The servers are split into two halves, one per arm."""

    kind: Literal["group"] = "group"


class Switchback(_Strict):
    """The whole system alternates between the arms in blocks of time."""

    kind: Literal["switchback"] = "switchback"
    period: Time = Field(description="Length of a block, in mean service times.")
    burn_in: NotNegative = Field(
        0.0,
        description="First part of each block that switchback_burn_in leaves out, in mean service times.",
    )

    @model_validator(mode="after")
    def _burn_in_shorter_than_period(self):
        if self.burn_in >= self.period:
            raise ValueError(f"burn_in must be shorter than the period {self.period:g}")
        return self


Design = Annotated[Bernoulli | Group | Switchback, Field(discriminator="kind")]


class EqualSpeeds(_Strict):
    """Every server works at rate 1."""

    kind: Literal["equal"] = "equal"


class TwoSpeed(_Strict):
    """Half of the servers (rounded down) are slow, the others fast."""

    kind: Literal["two_speed"] = "two_speed"
    ratio: Ratio = Field(description="Fast speed over slow speed.")


class LinearSpeeds(_Strict):
    """Speeds equally spaced from the slowest server to the fastest."""

    kind: Literal["linear"] = "linear"
    ratio: Ratio = Field(description="Fastest speed over slowest speed.")


class ListedSpeeds(_Strict):
    """Speeds given one by one; they are scaled so that they sum to N."""

    kind: Literal["list"] = "list"
    values: list[Weight] = Field(min_length=1, description="One relative speed per server.")


Speeds = Annotated[
    EqualSpeeds | TwoSpeed | LinearSpeeds | ListedSpeeds, Field(discriminator="kind")
]


class Poisson(_Strict):
    """Arrivals at a constant rate."""

    kind: Literal["poisson"] = "poisson"


class Sinusoidal(_Strict):
    """Poisson arrivals at rate ``Lambda * (1 + amplitude * sin(2 pi t / period))``."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    amplitude: float = Field(ge=0, lt=1, description="Relative amplitude, at least 0 and below 1.")
    period: Cycle = Field(description="Length of a cycle, in mean service times.")


ArrivalProcess = Annotated[Poisson | Sinusoidal, Field(discriminator="kind")]


class Fresh(_Strict):
    """The dispatcher sees the true queue lengths."""

    kind: Literal["fresh"] = "fresh"


class ConstantAge(_Strict):
    """The dispatcher sees the lengths of a fixed time ago."""

    kind: Literal["constant_age"] = "constant_age"
    age: NotNegative = Field(description="Age of what the dispatcher sees, in mean service times.")


class BulletinBoard(_Strict):
    """The dispatcher sees a board that is refreshed periodically."""

    kind: Literal["bulletin_board"] = "bulletin_board"
    period: Positive = Field(description="Time between refreshes, in mean service times.")


Information = Annotated[Fresh | ConstantAge | BulletinBoard, Field(discriminator="kind")]


class Exponential(_Strict):
    """Exponential service requirements."""

    distribution: Literal["exponential"] = "exponential"


class Constant(_Strict):
    """Every job needs the same service."""

    distribution: Literal["constant"] = "constant"


class Pareto(_Strict):
    """Pareto service requirements (heavy-tailed)."""

    distribution: Literal["pareto"] = "pareto"
    shape: Annotated[
        float, _because("next to 1 almost all work is in a job that no record holds", gt=1, le=1e6)
    ] = Field(
        ge=1.05, description="Tail index, at least 1.05; the mean is infinite at 1 and below."
    )


class Erlang(_Strict):
    """Sums of exponential stages (less variable than exponential)."""

    distribution: Literal["erlang"] = "erlang"
    stages: Annotated[
        Whole, _because("more are constant service; use distribution: constant", ge=1, le=1000)
    ] = Field(description="Number of stages; the squared variation is 1/stages.")


class Hyperexponential(_Strict):
    """A mixture of two exponentials with balanced means (more variable than exponential)."""

    distribution: Literal["hyperexponential"] = "hyperexponential"
    scv: Annotated[
        float, _because("beyond it almost all work is in a job that no record holds", ge=1, le=1e4)
    ] = Field(description="Squared coefficient of variation, at least 1.")


Service = Annotated[
    Exponential | Constant | Pareto | Erlang | Hyperexponential,
    Field(discriminator="distribution"),
]


class WorkloadFile(_Strict):
    """A recorded workload whose arrivals and job sizes are replayed (scenario kind replay)."""

    path: str = Field(description="CSV or JSON lines, one job per row, in the order of arrival.")
    time: str = Field(description="Column of the arrival times, numbers or dates.")
    size: dict[str, Weight] = Field(
        min_length=1, description="Columns whose weighted sum is a job's size, with the weights."
    )


class Truth(_Strict):
    """How precisely the global treatment effect is found by simulation."""

    relative: Precision = Field(0.02, description="Wanted standard error as a share of |GTE|.")
    of_response: Precision = Field(
        0.002,
        description="Where the effect is small: as a share of the control's mean response.",
    )
    records: Whole = Field(
        400,
        ge=0,
        le=10**9,
        description=(
            "Least length of the two pure runs, in records of one replicate, where an estimator replays "
            "records; a sixteenth of it elsewhere."
        ),
    )
    max_arrivals: Whole = Field(
        100_000_000,
        ge=1000,
        le=10**12,
        description="Cap on the arrivals of each of the two pure runs.",
    )
    exact_states: Annotated[Whole, _because("more do not fit into memory", ge=0, le=50_000_000)] = (
        Field(
            400_000,
            description="Most states of the exact oracle; cells that need more keep the simulated truth.",
        )
    )
    exact_tolerance: Annotated[
        float, _because("the solution itself is not more precise", ge=1e-10, le=1e6)
    ] = Field(1e-4, description="Error bound of the exact effect that is asked for.")


class Assumed(_Strict):
    """What estimators that are told the system are told wrongly; replay is the first of them."""

    speeds: Speeds | None = Field(None, description="Server speeds, if not the true ones.")
    information: Information | None = Field(
        None, description="What the dispatcher is taken to see, if not what it sees."
    )
    travel_time: ShortTime | None = Field(
        None, description="Time from dispatch to the server, if not the true one."
    )


class Experiment(_Strict):
    """Everything a scenario may set; at the top level of a study these are the defaults."""

    replicates: Count = Field(100, description="Replicates per cell and design.")
    batch_size: Count = Field(
        100, description="Replicates per job; changes no result, only the number of jobs."
    )
    arrivals: Annotated[Whole, _because("fewer have no spread to estimate", ge=100, le=10**12)] = (
        Field(40_000, description="Recorded arrivals per replicate.")
    )
    warmup: Literal["auto"] | Annotated[float, Field(ge=0, le=1e12)] = Field(
        "auto", description="Mean service times simulated first and not recorded."
    )
    keep_traces: bool = Field(False, description="Keep the Arrow traces under results/traces.")
    system: System = Field(System(), description="Servers, loads and treated share.")
    control: Policy = Field(
        Policy(policy="power_of_d", d=2), description="Policy of the control arm."
    )
    treatment: Policy = Field(
        Policy(policy="power_of_d", d=3), description="Policy of the treatment arm."
    )
    speeds: Speeds = Field(EqualSpeeds(), description="Server speeds, scaled to sum to N.")
    arrival_process: ArrivalProcess = Field(Poisson(), description="How the rate varies in time.")
    information: Information = Field(Fresh(), description="How old the lengths are that are seen.")
    travel_time: ShortTime = Field(
        0.0, description="Time from dispatch to the server, in mean service times."
    )
    service: Service = Field(Exponential(), description="Service requirements, mean 1.")
    workload: WorkloadFile | None = Field(
        None, description="Recorded workload of a scenario of kind replay, rescaled to the load."
    )
    horizon: Time = Field(
        30.0,
        description="Truncation horizon, in mean service times: the main one where there are several.",
    )
    horizons: list[Time] | None = Field(
        None,
        min_length=1,
        description="Several horizons at once; the main one is `horizon`, or else the one nearest to it.",
    )
    designs: dict[Name, Design | None] = Field(
        {"bernoulli": Bernoulli()}, description="Experimental designs by name; null drops one."
    )
    estimators: list[str] | Literal["all"] = Field(
        "all", description="Estimators by registered name; all means every one that applies."
    )
    assumed: Assumed = Field(
        Assumed(),
        description="What estimators told the system are told wrongly, to study what checks notice.",
    )
    truth: Truth = Field(Truth(), description="Precision of the simulated truth.")

    @property
    def all_horizons(self):
        """The horizons in increasing order, whichever of the two keys was given."""
        return sorted(set(self.horizons or [self.horizon]))

    @property
    def main_horizon(self):
        """The horizon at which estimators are compared and drawn.

        It is `horizon` where that is among the horizons, else the nearest one, the shorter of two.
        """
        return min(self.all_horizons, key=lambda horizon: abs(horizon - self.horizon))


class JobClass(_Strict):
    """A class of jobs of the loss network."""

    rate: Ratio = Field(description="Arrivals per server and unit of time.")
    reward: Ratio = Field(description="Reward of an accepted job.")


class LossNetworkStudy(_Strict):
    """The overloaded loss network over a grid of numbers of servers."""

    servers: list[
        Annotated[Whole, _because("a path of it has more events than memory", ge=1, le=10_000_000)]
    ] = Field([16, 64, 256, 1024, 4096], min_length=1, description="Grid of numbers of servers N.")
    high: JobClass = Field(JobClass(rate=0.7, reward=2.0), description="The class always accepted.")
    low: JobClass = Field(JobClass(rate=0.6, reward=1.0), description="The class under control.")
    service_rate: Ratio = Field(1.0, description="Service rate mu of a server.")
    window_multipliers: list[Multiplier] = Field(
        [1.0, 4.0, 8.0, 16.0, 32.0],
        min_length=1,
        description="Grid of c in the lookahead window c log(N) / N.",
    )
    events: Count = Field(
        200_000, description="Events per sample path, or more where `duration` asks for it."
    )
    duration: Time = Field(
        200.0, description="Least length of a sample path, in mean service times."
    )
    replicates: Whole = Field(5, ge=2, le=10**12, description="Sample paths per number of servers.")
    offline_servers: Whole = Field(
        1024, ge=0, le=10_000_000, description="Most servers the offline optimum is computed for."
    )
    rolling_horizon_servers: Whole = Field(
        256, ge=0, le=10_000_000, description="Most servers the rolling horizon is run for."
    )
    rolling_horizon_multiplier: Multiplier = Field(
        8.0, description="Largest c the rolling horizon is run for."
    )


class ExternalLog(_Strict):
    """A scenario that is the log of somebody's experiment."""

    kind: Literal["external"] = "external"
    log: str = Field(description="The log: Parquet, Arrow or CSV.")
    config: str = Field(description="YAML file that says what the log's columns mean.")


class Limits(_Strict):
    """What a study may cost; one that is announced to cost more is not started."""

    cpu_hours: Positive = Field(24.0, description="Most CPU hours of all jobs together.")
    memory_gb: Positive = Field(8.0, description="Most memory of a single job, in GB.")
    disk_gb: Positive = Field(100.0, description="Most disk for traces, in GB.")
    jobs: Count = Field(20_000, description="Most simulation jobs; larger batches make fewer.")


class Study(Experiment):
    """A whole study: seed, defaults, scenarios of queueing experiments, and the loss network."""

    seed: Whole = Field(ge=0, lt=2**63, description="Seed of every random stream.")
    scenarios: dict[str, dict[str, Any] | None] = Field(
        {}, description="Scenarios by name; each overrides any default but the seed."
    )
    loss_network: LossNetworkStudy | None = Field(
        None, description="The overloaded loss network; left out, only queues are studied."
    )
    limits: Limits = Field(Limits(), description="What the study may cost; more is refused.")


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
        return getattr(self.experiment.arrival_process, "amplitude", 0.0) > 0.0

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
        """Rebuild a cell from what `to_dict` returned."""
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


def load_study(path):
    """Read a study from a YAML file.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    Study

    Raises
    ------
    StudyError
        If the file cannot be read, is not YAML, or says something that is not allowed.
    """
    return parse_study(read_study_file(path))


def parse_study(values):
    """Check a study given as plain mappings and lists.

    Raises
    ------
    StudyError
        Naming the first key that is wrong and what is allowed there.
    """
    if not isinstance(values, dict):
        raise StudyError("a study must be a mapping of keys, see config/README.md")
    refuse_code(values)
    study = validate(Study, values, lambda key: key)
    for name in study.scenarios:
        if not is_name(name):
            raise StudyError(f"scenarios.{_plainly(name)}: a scenario's {NAME_RULE}")
    for name, override in study.scenarios.items():
        kind = (override or {}).get("kind", "simulated")
        if kind not in ("simulated", "external", "replay"):
            raise StudyError(
                f"scenarios.{name}.kind: must be simulated, replay or external, got {_plainly(kind)}"
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
    base = study.model_dump(
        mode="json", exclude={"seed", "scenarios", "loss_network", "limits"}, exclude_none=True
    )
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


def validate(model, values, locate):
    """Check plain values against a model.

    Parameters
    ----------
    model : type
        A pydantic model.
    values : dict
    locate : Callable
        From a key's path in the model to how the user knows it.

    Raises
    ------
    StudyError
        Naming the first key that is wrong and what is allowed there.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise StudyError(_explain(model, values, error.errors(), locate)) from None


_NO_MAPPING = ("model_type", "model_attributes_type", "dict_type")
"""What pydantic calls a value that should be a mapping."""


def _explain(model, values, problems, locate):
    """Put what pydantic found into one sentence about one key; a misspelt key comes first."""
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    problem = (unknown or problems)[0]
    kind, context = problem["type"], problem.get("ctx", {})
    location = _keys_of_the_study(values, problem)
    key = locate(".".join(map(_plainly, location)))
    if kind == "extra_forbidden":
        return f"{key}: unknown key{nearest(str(location[-1]), _known_keys(model, location))}"
    if kind == "missing":
        return f"{key}: this key is required"
    if kind == "value_error":
        return f"{key}: {context['error']}"
    if kind == "union_tag_invalid":
        discriminator = context["discriminator"].strip("'")
        return f"{key}.{discriminator}: must be one of {context['expected_tags']}"
    if kind == "union_tag_not_found":
        discriminator = context["discriminator"].strip("'")
        kinds = ", ".join(map(repr, _tags(model, location).get(discriminator, [])))
        return f"{key}.{discriminator}: this key is required, one of {kinds}"
    alternatives = [
        _requirement(model, location, other)
        for other in problems
        if _keys_of_the_study(values, other) == location
    ]
    return f"{key}: {', or '.join(alternatives)}, got {_shown(problem['input'])}{_hint(problem)}"


def _plainly(part):
    """Return a key on one line and short, in quotes where it is no plain word."""
    text = str(part)
    plain = text.isprintable() and text and len(text) <= _LONGEST_SHOWN
    return text if plain else _shown(text)


_LONGEST_SHOWN = 80


def _shown(value):
    """Return a value as the study has it, cut where it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _hint(problem):
    """Say what to write for a text that looks like a number: YAML reads 5e-1 as text."""
    value = problem["input"]
    if problem["type"] not in ("float_type", "int_type") or not isinstance(value, str):
        return ""
    try:
        number = _whole(float(value))
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    point = (
        "" if "." in value or "e" not in value.lower() else " (numbers like 5.0e-1 need the point)"
    )
    return f", which YAML reads as text; write {number!r}{point}"


def _requirement(model, location, problem):
    """Say what would be right, without the names of classes that pydantic gives."""
    if problem["type"] not in _NO_MAPPING:
        return problem["msg"].removeprefix("Input ") + _reason(model, location, problem)
    for key, kinds in _tags(model, location).items():
        close = difflib.get_close_matches(str(problem["input"]), kinds, n=1)
        return f"must be a mapping of keys like {{{key}: {(close or kinds)[0]}}}"
    return "must be a mapping of keys"


def _reason(model, location, problem):
    """Return why a bound is where it is, if a number is beyond one that has a reason."""
    if problem["type"] not in _BOUNDS:
        return ""
    schema = model.model_json_schema()
    node = schema
    for part in location:
        node = _step(schema, node, part)
    for option in _options(schema, node):
        reason = option.get("reasons", {}).get(_BOUNDS[problem["type"]])
        if reason:
            return f" ({reason})"
    return ""


def _keys_of_the_study(values, problem):
    """Drop what pydantic adds to a location for the alternatives of a union: no key of the study."""
    kept, node = [], values
    for part in problem["loc"]:
        if (isinstance(node, dict) and part in node) or (
            isinstance(node, list) and isinstance(part, int)
        ):
            node = node[part]
            kept.append(part)
    if problem["type"] == "missing":
        kept.append(problem["loc"][-1])
    return kept


def _known_keys(model, location):
    """Return the keys allowed where an unknown one was found, by walking the JSON schema."""
    schema = model.model_json_schema()
    node = schema
    for part in location[:-1]:
        node = _step(schema, node, part)
    return sorted(
        {key for option in _options(schema, node) for key in option.get("properties", {})}
    )


def _tags(model, location):
    """Return what each key that tells alternatives apart may be at a place of the study."""
    schema = model.model_json_schema()
    node = schema
    for part in location:
        node = _step(schema, node, part)
    tags = {}
    for option in _options(schema, node):
        for key, value in option.get("properties", {}).items():
            if "const" in value:
                tags.setdefault(key, []).append(value["const"])
    return tags


def _options(schema, node):
    """Yield the alternatives of a schema node with references resolved."""
    if "$ref" in node:
        yield from _options(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
    elif "anyOf" in node or "oneOf" in node:
        for option in node.get("anyOf", node.get("oneOf")):
            yield from _options(schema, option)
    else:
        yield node


def _step(schema, node, part):
    for option in _options(schema, node):
        if part in option.get("properties", {}):
            return option["properties"][part]
        if isinstance(option.get("additionalProperties"), dict):
            return option["additionalProperties"]
        if isinstance(part, int) and "items" in option:
            return option["items"]
    return {}


def nearest(word, known):
    """Return a suggestion for an unknown word: the nearest known one, or all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f", did you mean {close[0]}?"
    return f"; known here: {', '.join(known)}" if known else ""
