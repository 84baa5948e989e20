"""The description of a log: which column is what, which arm is treated, which horizon."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from queuebench.base.errors import StudyError
from queuebench.base.yaml_text import YamlError, read_yaml
from queuebench.estimators import all_estimators, known_estimators
from queuebench.logs.errors import LogError, about
from queuebench.logs.read.clock import UNITS
from queuebench.queueing.policies.arguments import find_fault
from queuebench.study.explain import nearest, validate
from queuebench.study.plugins import load_installed, load_plugins
from queuebench.study.system import Fresh, Information, Policy
from queuebench.study.types import NotNegative, Positive, Share

ARMS = ("control", "treatment")
DRAWN = ("bernoulli", "shares")
"""Kinds of designs that draw the arm of every arrival by itself."""
Unit = Literal[tuple(UNITS)]
Label = str | bool | int | float
Moment = Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | str

_MOST_TIMES_FASTER = 1e6
"""Bound on the ratio of two speeds, beyond which rounding would decide."""


_ROUNDED = 1e-6
"""By how much the sum of weights written in decimals may miss 1."""

_LONGEST_MESSAGE = 350
"""Characters of a sentence about the description, which may hold what was written there."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class Columns(_Strict):
    """Names of the log's columns."""

    arrival_time: str = Field(description="When a job was dispatched: a number or a date and time.")
    arm: str = Field(description="Which arm the job was assigned to; two different values.")
    response_time: str | None = Field(
        None, description="Time from arrival to completion; empty for an unfinished job."
    )
    departure_time: str | None = Field(
        None, description="When the job was completed, instead of response_time."
    )
    server: str | None = Field(
        None, description="Which server worked on the job; without it only observed costs are used."
    )
    queue_length: str | None = Field(
        None, description="Jobs at the server just before this one landed; reconstructed if absent."
    )
    in_system: str | None = Field(
        None, description="Jobs in the system just before the arrival; reconstructed if absent."
    )
    server_if_control: str | None = Field(
        None, description="Server that the control's policy chose, whoever was assigned the job."
    )
    server_if_treated: str | None = Field(
        None, description="Server that the treatment's policy chose; both or neither."
    )
    queue_if_control: str | None = Field(
        None,
        description="Jobs at the control's choice just before the decision; reconstructed if absent.",
    )
    queue_if_treated: str | None = Field(
        None, description="Jobs at the treatment's choice just before the decision."
    )
    block: str | None = Field(
        None, description="Block of a switchback design; computed from the period if absent."
    )
    share: str | None = Field(
        None, description="Probability with which this arrival was treated, in a design of shares."
    )
    status: str | None = Field(
        None, description="How the job ended; the key status says which values mean success."
    )
    user: str | None = Field(
        None, description="Who sent the job; used only to see whether users keep their arm."
    )
    size: str | None = Field(
        None, description="How large the job was known to be at arrival; a number."
    )
    job_class: str | None = Field(
        None, alias="class", description="Kind of job, known at arrival; a label."
    )

    @model_validator(mode="after")
    def _one_end(self):
        if (self.response_time is None) == (self.departure_time is None):
            raise ValueError("exactly one of response_time and departure_time is needed")
        return self

    @model_validator(mode="after")
    def _both_choices(self):
        for what in ("server", "queue"):
            pair = [f"{what}_if_{arm}" for arm in ("control", "treated")]
            if len({getattr(self, name) is None for name in pair}) > 1:
                raise ValueError(f"{' and '.join(pair)} are needed both or not at all")
        if self.queue_if_control is not None and not self.choices:
            raise ValueError("queue_if_control and queue_if_treated need server_if_control too")
        if self.choices and self.server is None:
            raise ValueError("server_if_control and server_if_treated need server too")
        return self

    @property
    def choices(self):
        """Whether the log holds the choices of both arms."""
        return self.server_if_control is not None


class Status(_Strict):
    """Which values of the status column mean success, or failure, or both."""

    success: list[Label] | None = Field(
        None, min_length=1, description="Values of jobs that succeeded; all others failed."
    )
    failure: list[Label] | None = Field(
        None, min_length=1, description="Values of jobs that failed; all others succeeded."
    )

    @model_validator(mode="after")
    def _said(self):
        if self.success is None and self.failure is None:
            raise ValueError("give success, failure or both, each a list of values")
        return self


class Bernoulli(_Strict):
    """Every arrival was assigned independently."""

    kind: Literal["bernoulli"] = "bernoulli"
    treated_share: Share | None = Field(
        None,
        description="Intended share of treated arrivals; the log's share is tested against it.",
    )


class Switchback(_Strict):
    """The whole system alternated between the arms in blocks of equal length."""

    kind: Literal["switchback"] = "switchback"
    period: Positive = Field(description="Length of a block, in the log's time unit.")
    burn_in: NotNegative = Field(
        0.0, description="First part of each block that switchback_burn_in leaves out."
    )

    @model_validator(mode="after")
    def _burn_in_shorter_than_period(self):
        if self.burn_in >= self.period:
            raise ValueError(f"burn_in must be shorter than the period {self.period:g}")
        return self


class Step(_Strict):
    """The share of arrivals that was treated from a moment on."""

    start: Moment = Field(description="A moment, written as the log's arrival times are.")
    share: Annotated[float, Field(ge=0, le=1)] = Field(description="From 0 to 1.")


class Shares(_Strict):
    """Blocks of time, each with its own share of arrivals that were treated at random."""

    kind: Literal["shares"] = "shares"
    period: Positive | None = Field(
        None,
        description="Length of a block, in the time_unit; by default one is a run of one share.",
    )
    burn_in: NotNegative = Field(0.0, description="First part of each block that is left out.")
    weights: list[float] | None = Field(
        None,
        min_length=1,
        description="What the slope at each share counts, by increasing share; they sum to 1.",
    )
    schedule: list[Step] | None = Field(
        None, min_length=1, description="The shares over time, if no column of the log has them."
    )

    @model_validator(mode="after")
    def _burn_in_shorter_than_period(self):
        if self.period is not None and self.burn_in >= self.period:
            raise ValueError(f"burn_in must be shorter than the period {self.period:g}")
        return self

    @field_validator("weights")
    @classmethod
    def _whole(cls, weights):
        if weights is not None and abs(sum(weights) - 1.0) > _ROUNDED:
            raise ValueError(f"must sum to 1, not {sum(weights):.7g}")
        return weights


class Group(_Strict):
    """Each arm had its own half of the servers."""

    kind: Literal["group"] = "group"


Design = Annotated[Bernoulli | Switchback | Group | Shares, Field(discriminator="kind")]


class KnownStructure(_Strict):
    """How jobs are dispatched and served; what `replay` needs to know besides the log."""

    control: Policy = Field(description="Policy of the control arm.")
    treatment: Policy = Field(description="Policy of the treatment arm.")
    speeds: dict[Label, Positive] = Field(
        {},
        description="Relative speeds by server class or server; all or none. Equal by default.",
    )
    information: Information = Field(
        Fresh(), description="How old the lengths are that are seen, times in the time_unit."
    )

    @field_validator("speeds")
    @classmethod
    def _comparable(cls, speeds):
        ratio = max(speeds.values(), default=1.0) / min(speeds.values(), default=1.0)
        if ratio > _MOST_TIMES_FASTER:
            raise ValueError(
                f"the largest is {ratio:.3g} times the smallest; at most {_MOST_TIMES_FASTER:,.0f} times "
                "is taken for servers of one system"
            )
        return speeds


class LogConfig(_Strict):
    """Everything `queuebench analyze` is told about a log."""

    columns: Columns = Field(description="Which column of the log is what.")
    treatment: Label = Field(description="Value of the arm column that means treatment.")
    control: Label | None = Field(
        None, description="Value that means control; by default the other one in the record."
    )
    status: Status | None = Field(
        None, description="Values of the status column that mean success or failure."
    )
    without_arm: Literal["refuse", "present"] = Field(
        "refuse",
        description="Rows of the record without an arm: refused, or jobs that are only present.",
    )
    design: Design = Field(Bernoulli(), description="How arms were assigned.")
    time_unit: Unit = Field(
        "s",
        description="Unit of the times in this file, of the log's numbers, and of the results.",
    )
    units: dict[str, Unit] = Field(
        {}, description="Units of numeric time columns that differ from time_unit, by role."
    )
    horizon: Positive = Field(30.0, description="Truncation horizon of the main estimates.")
    horizons: list[Positive] | None = Field(
        None, min_length=1, description="Horizons of the sensitivity curve."
    )
    horizon_unit: Literal["mean_service_times", "time"] = Field(
        "mean_service_times", description="What horizons are counted in; time is the time_unit."
    )
    mean_service_time: Positive | None = Field(
        None,
        description="In the time_unit; by default the mean of the completed service times.",
    )
    arrival_rate: Positive | None = Field(
        None,
        description="Arrivals per time_unit that convert horizons to arrivals; by default estimated.",
    )
    cost_rate: Literal["auto", "constant", "local"] = Field(
        "auto",
        description="Rate that divides in_system in the queue-length cost; auto is local if it varies.",
    )
    rate_window: Positive | None = Field(
        None, description="Window of the local rate, in the time_unit, centred on each arrival."
    )
    travel_time: NotNegative = Field(0.0, description="Constant time from dispatch to the server.")
    server_classes: dict[str, list[Label]] = Field(
        {}, description="Servers of equal speed, by a name for the class; one class by default."
    )
    structure: KnownStructure | None = Field(
        None, description="How jobs are dispatched and served; with it the record is replayed."
    )
    estimators: list[str] | Literal["all"] = Field(
        default_factory=lambda: [entry.name for entry in all_estimators() if entry.usual],
        min_length=1,
        description="Estimators by name, or all; those of them that the log allows are applied.",
    )
    start: Moment | None = Field(
        None, description="Where the record starts; earlier rows only say who was present then."
    )
    end: Moment | None = Field(None, description="Where the record ends; later rows are left out.")
    lead_in: NotNegative = Field(
        0.0, description="Time after the first arrival that is not part of the record."
    )
    plugins: list[str] = Field(
        [],
        description=(
            "Code of your own to run: paths of Python files, relative to the working directory, and names of "
            "modules (docs/plug-ins.md)."
        ),
    )
    delimiter: str = Field(
        ",", min_length=1, max_length=1, description="Between fields of a CSV log."
    )

    @model_validator(mode="after")
    def _consistent(self):
        if self.start is not None and self.lead_in:
            raise ValueError("start and lead_in say the same thing; give one of them")
        if (self.columns.status is None) != (self.status is None):
            raise ValueError("columns.status and status are needed both or not at all")
        if self.columns.server is None and (self.server_classes or self.structure):
            named = "server_classes" if self.server_classes else "structure"
            raise ValueError(
                f"{named} needs columns.server: a log without it says nothing of servers"
            )
        if self.rate_window is not None and self.cost_rate == "constant":
            raise ValueError("rate_window has no use with `cost_rate: constant`; leave one out")
        self._check_shares()
        for role in self.units:
            if role not in ("arrival_time", "response_time", "departure_time"):
                known = "arrival_time, response_time and departure_time"
                raise ValueError(f"units may name {known}, not {role}")
        return self

    def _check_shares(self):
        """Refuse a design of shares that are told twice or not at all, and shares of another design."""
        kind, by_column = self.design.kind, self.columns.share is not None
        if kind != "shares" and by_column:
            raise ValueError(f"columns.share is for a design of kind shares, not {kind}")
        if kind == "shares" and by_column == (self.design.schedule is not None):
            raise ValueError(
                "a design of kind shares needs exactly one of columns.share and design.schedule"
            )

    @field_validator("server_classes")
    @classmethod
    def _not_empty(cls, classes):
        for name, servers in classes.items():
            if not servers:
                raise ValueError(f"class {name} has no server; name some or leave it out")
        return classes

    @field_validator("delimiter")
    @classmethod
    def _separates(cls, delimiter):
        if (
            not (delimiter == "\t" or (delimiter.isascii() and delimiter.isprintable()))
            or delimiter in '"'
        ):
            raise ValueError("must be a printable ASCII character other than a quote, or a tab")
        return delimiter

    @field_validator("estimators")
    @classmethod
    def _known(cls, names):
        for name in names if names != "all" else ():
            if name not in known_estimators():
                near = nearest(name, known_estimators())
                raise ValueError(f"no estimator is named {name}{near}")
        return names

    def unit(self, role):
        """Return the unit of a numeric time column."""
        return self.units.get(role, self.time_unit)

    @property
    def curve_horizons(self):
        """Horizons of the sensitivity curve, increasing, the main one among them."""
        wanted = self.horizons or [self.horizon * factor for factor in (1 / 30, 0.1, 1 / 3, 1, 2)]
        return sorted({*wanted, self.horizon})


def load_config(path: str | Path) -> LogConfig:
    """Read the description of a log from a YAML file.

    Raises
    ------
    LogError
        If the file cannot be read, is not YAML, or says something that is not allowed.
    """
    try:
        values = read_yaml(path)
        load_installed()
    except (YamlError, StudyError) as error:
        raise LogError(f"{path}: {error}") from None
    return parse_config(values, name=path)


def parse_config(values, name="the description of the log"):
    """Check the description of a log given as plain mappings and lists.

    Raises
    ------
    LogError
        Naming the first key that is wrong and what is allowed there.
    """
    if not isinstance(values, dict):
        raise LogError(f"{name}: must be a mapping of keys, at least columns and treatment")
    if isinstance(values.get("design"), str):
        values = values | {"design": {"kind": values["design"]}}
    try:
        load_plugins(values.get("plugins"))
        config = validate(LogConfig, values, lambda key: key)
    except StudyError as error:
        text = str(error).lstrip(": ")
        text = text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + "…"
        raise LogError(f"{name}: {text}") from None
    with about(name):
        check_policies(config.structure)
    return config


def check_policies(structure, servers=None):
    """Refuse policies that are not known, or not given as they take it.

    Parameters
    ----------
    structure : KnownStructure or None
    servers : int, optional
        The number of servers, once it is known.

    Raises
    ------
    LogError
        Naming the key and what is allowed there.
    """
    for arm in ARMS if structure else ():
        given = getattr(structure, arm)
        fault = find_fault(given.policy, given.parameters, servers)
        if fault:
            key, message = fault
            raise LogError(f"structure.{arm}.{key}: {message}")
