"""Moments and durations: from numbers, dates and times to seconds, or whatever the log's unit is.

A moment is kept as the time since an origin. Dates and whole numbers are subtracted from the origin as
integers, so that nanoseconds since 1970 lose nothing; numbers with a fraction have the origin 0.
"""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queuebench.base.arrow import as_numpy, column
from queuebench.logs.errors import LogError, shorten

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
"""Units of time in seconds."""

_STEPS = {"y": 365 * 86_400.0, "w": 7 * 86_400.0, "d": 86_400.0, "h": 3600.0, "min": 60.0, "s": 1.0}
_LONG = 100 * _STEPS["y"]

_ZONE = re.compile(r"(Z|z|[+-]\d\d:?\d\d|[+-]\d\d)$")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DAY = 86_400 * 10**9


def factor(unit, into):
    """Return what a number in one unit is multiplied by to be in another."""
    return 1.0 if unit == into else UNITS[unit] / UNITS[into]


def spoken(duration, unit):
    """Return a duration as people say it: its largest unit, from weeks to milliseconds, and the next one.

    Parameters
    ----------
    duration : float
        Not negative.
    unit : str
        One of `UNITS`.

    Returns
    -------
    str
        For example ``3 d 4 h``, ``25 min``, ``1.2e+04 y`` where years are beyond counting.
    """
    seconds = duration * UNITS[unit]
    if seconds >= _LONG:
        return f"{seconds / _STEPS['y']:.3g} y"
    if seconds < _STEPS["s"]:
        return f"{seconds * 1e3:.3g} ms"
    names = list(_STEPS)
    first = next(k for k, name in enumerate(names) if seconds >= _STEPS[name])
    if names[first] == "s":
        return f"{seconds:.0f} s"
    large, small = names[first : first + 2]
    count, rest = divmod(round(seconds / _STEPS[small]), round(_STEPS[large] / _STEPS[small]))
    return f"{count} {large}" + (f" {rest} {small}" if rest else "")


@dataclass(frozen=True)
class Clock:
    """How the moments of a log are written.

    Attributes
    ----------
    dates : bool
        Whether they are dates and times rather than numbers.
    whole : bool
        Whether the origin is subtracted as an integer.
    zone : str or None
        Time zone of the dates, None where they have none.
    origin : int
        In the moments' own unit; nanoseconds since 1970 for dates.
    """

    dates: bool
    whole: bool
    zone: str | None
    origin: int

    def describe(self):
        """Return what a moment of this clock looks like, for a sentence."""
        if not self.dates:
            return "a number"
        return f"a date and time in {self.zone}" if self.zone else "a date and time without a zone"


def looks_like_date(text):
    """Return whether text starts like a date."""
    return bool(_DATE.match(text.strip()))


def zone_of(text):
    """Return the zone written at the end of a date and time, None if there is none."""
    found = _ZONE.search(text.strip()[10:])
    return found.group(0) if found else None


def origin_of(first, dates, whole):
    """Return the origin for a log whose first moment is given in its own unit."""
    if dates:
        return first // _DAY * _DAY
    return first if whole else 0


def parse_dates(values, zone):
    """Return a string column of dates, all in one zone, as nanoseconds since 1970.

    Raises
    ------
    pyarrow.ArrowInvalid
        If a value is no date, or has a zone where the others have none, or the reverse.
    """
    kind = pa.timestamp("ns", "UTC" if zone else None)
    return as_numpy(pc.cast(values, kind).view(pa.int64()))


def moment(value, clock, unit, into, key):
    """Return a moment of the description, in the log's unit since the clock's origin.

    Parameters
    ----------
    value : float or str
    clock : Clock
    unit, into : str
        Unit of the log's arrival times if they are numbers, and the unit wanted.
    key : str
        For the message.

    Raises
    ------
    LogError
        If it is written differently from the log's arrival times.
    """
    if isinstance(value, str) != clock.dates:
        raise LogError(
            f"{key}: must be {clock.describe()}, like the log's arrival times, not {shorten(value)}"
        )
    if not clock.dates:
        return (value - clock.origin) * factor(unit, into)
    if (zone_of(value) is None) != (clock.zone is None):
        raise LogError(f"{key}: must be {clock.describe()}, like the log's arrival times")
    try:
        (nanoseconds,) = parse_dates(column([value.strip()], pa.string()), clock.zone)
    except pa.ArrowInvalid:
        raise LogError(
            f"{key}: {shorten(value)} is not a date and time such as 2026-01-31T12:00:00Z"
        ) from None
    return float(np.int64(nanoseconds) - clock.origin) * factor("ns", into)
