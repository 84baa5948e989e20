"""What a study may say of the system: servers, policies, designs, speeds, arrivals, information, service."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from queuebench.study.shares import MOST_SHARES, fault_of, gauss_shares, quadrature_weights
from queuebench.study.types import (
    AnyShare,
    Cycle,
    Load,
    NotNegative,
    Positive,
    Ratio,
    Servers,
    Strict,
    Time,
    TreatedShare,
    Weight,
    Whole,
    because,
    whole,
)


class System(Strict):
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
        return {key: whole(value) for key, value in values.items()}

    @property
    def parameters(self):
        """The policy's own parameters as a mapping."""
        return dict(self.model_extra or {})


class _Design(Strict):
    @property
    def schedule(self):
        """What the assignment of arms takes, by the names of `queuebench.queueing.designs`."""
        return {}


class Bernoulli(_Design):
    """Every arrival is treated independently with the treated share."""

    kind: Literal["bernoulli"] = "bernoulli"


class Group(_Design):
    """The servers are split into two halves, one per arm."""

    kind: Literal["group"] = "group"


class _Blocks(_Design):
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

    @property
    def schedule(self):
        """What the assignment of arms takes."""
        return {"period": self.period}


class Switchback(_Blocks):
    """The whole system alternates between the arms in blocks of time."""

    kind: Literal["switchback"] = "switchback"


class Shares(_Blocks):
    """Blocks of time, each with its own share of treated arrivals."""

    kind: Literal["shares"] = "shares"
    shares: (
        Annotated[Whole, because("more blocks than that say nothing more", ge=2, le=MOST_SHARES)]
        | list[AnyShare]
    ) = Field(
        3,
        description="How many shares, at the points of Gauss-Legendre quadrature, or the share of each "
        "block of a cycle; one that is given twice has two blocks.",
    )
    weights: Literal["gauss"] | list[float] = Field(
        "gauss",
        description="What the slope at each share counts for in the effect, by share; gauss: what is "
        "exact for a response that is a polynomial in the share, of the highest degree.",
    )
    burn_in: NotNegative = Field(
        0.0, description="First part of each block that is left out, in mean service times."
    )
    order: Literal["cycles", "ramp"] = Field(
        "cycles",
        description="cycles: every share once, in random order, again and again; ramp: one rise.",
    )

    @model_validator(mode="after")
    def _usable(self):
        if fault := fault_of(self.distinct, self.weights if self.weights != "gauss" else None):
            raise ValueError(fault)
        if isinstance(self.shares, list) and len(self.shares) > MOST_SHARES:
            raise ValueError(f"shares are more than {MOST_SHARES} blocks of a cycle")
        return self

    @property
    def distinct(self):
        """The shares in increasing order."""
        if isinstance(self.shares, int):
            return tuple(gauss_shares(self.shares).tolist())
        return tuple(sorted(set(self.shares)))

    @property
    def quadrature(self):
        """The weights of `distinct`."""
        if self.weights == "gauss":
            return tuple(quadrature_weights(self.distinct).tolist())
        return tuple(self.weights)

    @property
    def schedule(self):
        """What the assignment of arms takes."""
        every = self.distinct if isinstance(self.shares, int) else tuple(sorted(self.shares))
        return {"shares": every, "period": self.period, "order": self.order}


Design = Annotated[Bernoulli | Group | Switchback | Shares, Field(discriminator="kind")]


class EqualSpeeds(Strict):
    """Every server works at rate 1."""

    kind: Literal["equal"] = "equal"


class TwoSpeed(Strict):
    """Half of the servers (rounded down) are slow, the others fast."""

    kind: Literal["two_speed"] = "two_speed"
    ratio: Ratio = Field(description="Fast speed over slow speed.")


class LinearSpeeds(Strict):
    """Speeds equally spaced from the slowest server to the fastest."""

    kind: Literal["linear"] = "linear"
    ratio: Ratio = Field(description="Fastest speed over slowest speed.")


class ListedSpeeds(Strict):
    """Speeds given one by one; they are scaled so that they sum to N."""

    kind: Literal["list"] = "list"
    values: list[Weight] = Field(min_length=1, description="One relative speed per server.")


Speeds = Annotated[
    EqualSpeeds | TwoSpeed | LinearSpeeds | ListedSpeeds, Field(discriminator="kind")
]


class Poisson(Strict):
    """Arrivals at a constant rate."""

    kind: Literal["poisson"] = "poisson"


class Sinusoidal(Strict):
    """Poisson arrivals at rate ``Lambda * (1 + amplitude * sin(2 pi t / period))``."""

    kind: Literal["sinusoidal"] = "sinusoidal"
    amplitude: float = Field(ge=0, lt=1, description="Relative amplitude, at least 0 and below 1.")
    period: Cycle = Field(description="Length of a cycle, in mean service times.")


ArrivalProcess = Annotated[Poisson | Sinusoidal, Field(discriminator="kind")]


class Fresh(Strict):
    """The dispatcher sees the true queue lengths."""

    kind: Literal["fresh"] = "fresh"


class ConstantAge(Strict):
    """The dispatcher sees the lengths of a fixed time ago."""

    kind: Literal["constant_age"] = "constant_age"
    age: NotNegative = Field(description="Age of what the dispatcher sees, in mean service times.")


class BulletinBoard(Strict):
    """The dispatcher sees a board that is refreshed periodically."""

    kind: Literal["bulletin_board"] = "bulletin_board"
    period: Positive = Field(description="Time between refreshes, in mean service times.")


Information = Annotated[Fresh | ConstantAge | BulletinBoard, Field(discriminator="kind")]


class Exponential(Strict):
    """Exponential service requirements."""

    distribution: Literal["exponential"] = "exponential"


class Constant(Strict):
    """Every job needs the same service."""

    distribution: Literal["constant"] = "constant"


class Pareto(Strict):
    """Pareto service requirements (heavy-tailed)."""

    distribution: Literal["pareto"] = "pareto"
    shape: Annotated[
        float, because("next to 1 almost all work is in a job that no record holds", gt=1, le=1e6)
    ] = Field(
        ge=1.05, description="Tail index, at least 1.05; the mean is infinite at 1 and below."
    )


class Erlang(Strict):
    """Sums of exponential stages (less variable than exponential)."""

    distribution: Literal["erlang"] = "erlang"
    stages: Annotated[
        Whole, because("more are constant service; use distribution: constant", ge=1, le=1000)
    ] = Field(description="Number of stages; the squared variation is 1/stages.")


class Hyperexponential(Strict):
    """A mixture of two exponentials with balanced means (more variable than exponential)."""

    distribution: Literal["hyperexponential"] = "hyperexponential"
    scv: Annotated[
        float, because("beyond it almost all work is in a job that no record holds", ge=1, le=1e4)
    ] = Field(description="Squared coefficient of variation, at least 1.")


Service = Annotated[
    Exponential | Constant | Pareto | Erlang | Hyperexponential,
    Field(discriminator="distribution"),
]


class WorkloadFile(Strict):
    """A recorded workload whose arrivals and job sizes are replayed (scenario kind replay)."""

    path: str = Field(description="CSV or JSON lines, one job per row, in the order of arrival.")
    time: str = Field(description="Column of the arrival times, numbers or dates.")
    size: dict[str, Weight] = Field(
        min_length=1, description="Columns whose weighted sum is a job's size, with the weights."
    )
