"""What a study may say: everything a scenario may set, the loss network, and the study around them."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from queuebench.study.system import (
    ArrivalProcess,
    Bernoulli,
    Design,
    EqualSpeeds,
    Exponential,
    Fresh,
    Information,
    Poisson,
    Policy,
    Service,
    Speeds,
    System,
    WorkloadFile,
)
from queuebench.study.types import (
    Count,
    Multiplier,
    Name,
    Positive,
    Precision,
    Ratio,
    ShortTime,
    Strict,
    Time,
    Whole,
    because,
)


class Truth(Strict):
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
    exact_states: Annotated[Whole, because("more do not fit into memory", ge=0, le=50_000_000)] = (
        Field(
            400_000,
            description="Most states of the exact oracle; cells that need more keep the simulated truth.",
        )
    )
    exact_tolerance: Annotated[
        float, because("the solution itself is not more precise", ge=1e-10, le=1e6)
    ] = Field(1e-4, description="Error bound of the exact effect that is asked for.")


class Assumed(Strict):
    """What estimators that are told the system are told wrongly; replay is the first of them."""

    speeds: Speeds | None = Field(None, description="Server speeds, if not the true ones.")
    information: Information | None = Field(
        None, description="What the dispatcher is taken to see, if not what it sees."
    )
    travel_time: ShortTime | None = Field(
        None, description="Time from dispatch to the server, if not the true one."
    )


class Experiment(Strict):
    """Everything a scenario may set; at the top level of a study these are the defaults."""

    replicates: Count = Field(100, description="Replicates per cell and design.")
    batch_size: Count = Field(
        100, description="Replicates per job; changes no result, only the number of jobs."
    )
    arrivals: Annotated[Whole, because("fewer have no spread to estimate", ge=100, le=10**12)] = (
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


class JobClass(Strict):
    """A class of jobs of the loss network."""

    rate: Ratio = Field(description="Arrivals per server and unit of time.")
    reward: Ratio = Field(description="Reward of an accepted job.")


class LossNetworkStudy(Strict):
    """The overloaded loss network over a grid of numbers of servers."""

    servers: list[
        Annotated[Whole, because("a path of it has more events than memory", ge=1, le=10_000_000)]
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


class ExternalLog(Strict):
    """A scenario that is the log of somebody's experiment."""

    kind: Literal["external"] = "external"
    log: str = Field(description="The log: Parquet, Arrow or CSV.")
    config: str = Field(description="YAML file that says what the log's columns mean.")


class Limits(Strict):
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
    plugins: list[str] = Field(
        [],
        description=(
            "Code of your own to run: paths of Python files, relative to where the study is run, and names "
            "of modules (docs/plug-ins.md)."
        ),
    )


def admit(key: str, model: type[Strict]) -> str:
    """Let a key of a study hold a model from outside too, checked as those that come with the package.

    Parameters
    ----------
    key : {"service", "arrival_process"}
    model : type
        A subclass of `Strict` whose ``distribution`` or ``kind`` is one word, its default.

    Returns
    -------
    str
        That word.

    Raises
    ------
    ValueError
        If the model has none, or another model has the same.
    """
    field = Experiment.model_fields[key]
    word, others = field.discriminator, get_args(field.annotation)
    name = getattr(model.model_fields.get(word), "default", None)
    if not isinstance(name, str):
        raise ValueError(
            f"{model.__name__}: {word} must have a default, the word that a study gives"
        )
    if name in {other.model_fields[word].default for other in others}:
        raise ValueError(f"{key}: {word} {name} is there already")
    for settings in (Experiment, Study):
        settings.model_fields[key].annotation |= model
        settings.model_rebuild(force=True)
    return name
