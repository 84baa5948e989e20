"""Columns of moments: which clock a log uses, and its arrivals and departures read by that clock."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queuebench.base.arrow import as_numpy, column
from queuebench.logs.errors import LogError, rows_text, shorten
from queuebench.logs.read.clock import (
    Clock,
    factor,
    looks_like_date,
    origin_of,
    parse_dates,
    zone_of,
)
from queuebench.logs.read.values import filled, first_unparsed, missing, to_floats

_EXACT = 2**52
"""Whole numbers beyond this are subtracted from an origin before they become floats."""


def read_clock(values, name) -> Clock:
    """Return the clock by which a column of moments is written.

    Parameters
    ----------
    values : pyarrow.Array
        The first batch, with at least one value.
    name : str
        Of the column.

    Raises
    ------
    LogError
        If the column is of a type that tells no time.
    """
    first = values[int(np.argmin(missing(values)))]
    kind = values.type
    if pa.types.is_timestamp(kind):
        return Clock(True, True, kind.tz, origin_of(_nanoseconds(values, name, 0)[0], True, True))
    if pa.types.is_temporal(kind):
        raise LogError(f"{name}: must be a number or a date and time, the column's type is {kind}")
    if isinstance(first.as_py(), str):
        return _clock_of_text(first.as_py().strip())
    number = first.as_py()
    whole = pa.types.is_integer(kind) and abs(number) > _EXACT
    return Clock(False, whole, None, origin_of(int(number) if whole else 0, False, whole))


def read_moments(values, clock, name, before, unit, into):
    """Return moments in the wanted unit since the clock's origin, NaN where empty.

    Parameters
    ----------
    values : pyarrow.Array
    clock : Clock
    name : str
    before : int
        Rows before this batch.
    unit, into : str
        Unit of the column if its moments are numbers, and the unit wanted.

    Returns
    -------
    ndarray of float64

    Raises
    ------
    LogError
        If the column is written by another clock, or a value cannot be read.
    """
    if not clock.dates:
        since = _whole_numbers(values, clock, name, before)
        return since if unit == into else since * factor(unit, into)
    empty = missing(values)
    nanoseconds = _nanoseconds(values, name, before, clock)
    since = (nanoseconds - np.int64(clock.origin)) * factor("ns", into)
    since[empty] = np.nan
    return since


def _clock_of_text(first):
    if looks_like_date(first):
        (nanoseconds,) = _first_date(first)
        return Clock(True, True, zone_of(first), origin_of(int(nanoseconds), True, True))
    whole = bool(re.fullmatch(r"-?\d{16,18}", first))
    return Clock(False, whole, None, origin_of(int(first) if whole else 0, False, whole))


def _first_date(text):
    try:
        return parse_dates(column([text], pa.string()), zone_of(text))
    except pa.ArrowInvalid:
        return (0,)  # refused with its row number when the batch is read


def _whole_numbers(values, clock, name, before):
    """Return numbers since the origin, subtracted as integers where the clock asks for it."""
    if not clock.whole:
        return to_floats(values, name, before)
    try:
        whole = pc.cast(values, pa.int64())
    except pa.ArrowInvalid:
        return to_floats(values, name, before) - clock.origin
    since = (filled(whole, clock.origin) - np.int64(clock.origin)).astype(float)
    since[missing(values)] = np.nan
    return since


def _nanoseconds(values, name, before, clock=None):
    kind = values.type
    if pa.types.is_timestamp(kind):
        if clock is not None and kind.tz != clock.zone:
            raise LogError(
                f"{name}: mixed time zones: it is {_zone_text(kind.tz)} while arrivals are "
                f"{_zone_text(clock.zone)}; write all times in UTC"
            )
        try:
            values = pc.cast(values, pa.timestamp("ns", kind.tz))
        except pa.ArrowInvalid:
            raise LogError(f"{name}: has dates outside the years 1678 to 2262") from None
        return _integers(values)
    if pa.types.is_null(kind):
        return np.zeros(len(values), np.int64)
    if not pa.types.is_string(kind):
        raise LogError(f"{name}: must be {clock.describe()}, the column's type is {kind}")
    return _parse_text(pc.utf8_trim_whitespace(values), clock, name, before)


def _parse_text(values, clock, name, before):
    if clock.zone is not None:
        same = as_numpy(pc.ends_with(values, clock.zone)) | missing(values)
        if not same.all():
            place = int(np.argmin(same))
            _refuse(values[place].as_py(), clock, name, before + place + 1)
    kind = pa.timestamp("ns", "UTC" if clock.zone else None)
    try:
        return _integers(pc.cast(values, kind))
    except pa.ArrowInvalid:
        place = first_unparsed(values, kind)
    return _refuse(values[place].as_py(), clock, name, before + place + 1)


def _refuse(text, clock, name, row):
    found = zone_of(text)
    if looks_like_date(text) and found != clock.zone:
        raise LogError(
            f"{rows_text([row])}: {name}: mixed time zones: {shorten(text)} is {_zone_text(found)} "
            f"while the first arrival is {_zone_text(clock.zone)}; write all times in UTC"
        )
    raise LogError(f"{rows_text([row])}: {name}: {shorten(text)} is not {clock.describe()}")


def _integers(stamps):
    return filled(stamps.view(pa.int64()), 0)


def _zone_text(zone):
    return f"in zone {zone}" if zone else "without a zone"
