"""The kinds of value a study is made of, with their bounds and the reasons for them."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


class Strict(BaseModel):
    """Settings that refuse unknown keys and values of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def whole(value):
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


def because(reason, **bounds):
    """Return bounds with a reason, told with those that are no matter of course (0 and 1 are)."""
    chosen = {name: reason for name, bound in bounds.items() if bound not in (0, 1)}
    return Field(**bounds, json_schema_extra={"reasons": chosen})


_PRECISION = "beyond this, rounding decides the results"
_LENGTH = "no record is long enough to show more"

Whole = Annotated[int, BeforeValidator(whole)]
Count = Annotated[Whole, Field(ge=1, le=10**12)]
Servers = Annotated[Whole, because("every arrival would search through more", ge=1, le=100_000)]
Name = Annotated[str, AfterValidator(_as_name)]
Share = Annotated[float, Field(gt=0, lt=1)]
AnyShare = Annotated[float, Field(ge=0, le=1)]
Load = Annotated[
    float,
    because("below it servers idle and nothing is compared", ge=1e-4, lt=1),
]
TreatedShare = Annotated[
    float, because("a record has too few jobs of one arm", ge=1e-4, le=1 - 1e-4)
]
Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Time = Annotated[float, because(_LENGTH, gt=0, le=1e6)]
ShortTime = Annotated[float, because("jobs under way are kept in memory", ge=0, le=1e4)]
Cycle = Annotated[float, because("within a service time nothing shows of it", ge=1e-3, le=1e6)]
Ratio = Annotated[float, because(_PRECISION, ge=1e-6, le=1e6)]
Weight = Annotated[float, because(_PRECISION, ge=1e-12, le=1e12)]
Multiplier = Annotated[float, because(_LENGTH, ge=1e-6, le=1e6)]
Precision = Annotated[float, because("no run is long enough for less", ge=1e-6, le=1e6)]
