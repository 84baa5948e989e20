"""Columns of a log as NumPy arrays; what cannot be one is refused with its row numbers."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queuebench.base.arrow import as_numpy
from queuebench.logs.errors import SHOWN, LogError, first_line, rows_text, shorten

MISSING = ("", "NULL", "null", "NA", "N/A", "None")
"""Text that stands for an empty field."""

_LONGEST = 1000
"""Bytes beyond which a field is no number, date or name."""


def plain(values, name, before):
    """Return a column with dictionaries unpacked and all kinds of text as one, its length checked.

    Parameters
    ----------
    values : pyarrow.Array
    name : str
        Of the column, for messages.
    before : int
        Rows before this batch.

    Raises
    ------
    LogError
        If a field of text is longer than any number, date or name, or the column is damaged.
    """
    try:
        # A damaged Arrow file may point outside its buffers or hold text that is not UTF-8.
        values.validate(full=True)
    except pa.ArrowInvalid as error:
        raise LogError(
            f"rows {before + 1} to {before + len(values)}: {name}: is damaged ({first_line(error)})"
        ) from None
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.dictionary_decode()
        kind = values.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        values = _as_text(values, name, before)  # some writers of Parquet do not mark text as such
        kind = values.type
    if kind == pa.string_view():
        values = values.cast(pa.large_string())  # pyarrow measures no views
    elif not _is_text(kind):
        return values
    size = filled(pc.binary_length(values), 0)
    if len(size) and size.max() > _LONGEST:
        raise LogError(
            f"{rows_text([before + 1 + int(size.argmax())])}: {name}: a field of {size.max():,} bytes; "
            f"at most {_LONGEST:,} are accepted in a number, date or name"
        )
    return values if values.type == pa.string() else values.cast(pa.string())


def _as_text(values, name, before):
    kind = pa.string() if pa.types.is_binary(values.type) else pa.large_string()
    try:
        return values.cast(kind)
    except pa.ArrowInvalid:
        raise LogError(
            f"rows {before + 1} to {before + len(values)}: {name}: is not text in UTF-8"
        ) from None


def missing(values):
    """Return where a column is empty, as a bool array."""
    if not values.null_count:
        return np.zeros(len(values), bool)
    return as_numpy(pc.is_null(values))


def filled(values, default):
    """Return a column of numbers as an array, with a default where it is empty.

    ``pyarrow.compute.fill_null`` would import pandas.
    """
    array = as_numpy(values)
    if values.null_count:
        array = array.copy()
        array[missing(values)] = default
    return array


def to_floats(values, name, before):
    """Return a column of numbers as float64, NaN where it is empty.

    Raises
    ------
    LogError
        If it holds text that is not a number, or is not of a numeric type.
    """
    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if _is_text(kind):
        values = _parse(values, pa.float64(), name, before, "is not a number")
    elif not _is_number(kind):
        raise LogError(f"{name}: must be numbers, the column's type is {kind}")
    elif kind != pa.float64():
        values = pc.cast(values, pa.float64(), safe=False)
    return filled(values, np.nan)


def to_counts(values, name, before):
    """Return a column of whole numbers, 0 or more, as int32.

    Raises
    ------
    LogError
        If one is missing, negative, too large or has a fraction.
    """
    numbers = to_floats(values, name, before)
    wrong = ~((numbers >= 0) & (numbers < 2**31) & (numbers == np.floor(numbers)))
    if wrong.any():
        refuse(wrong, name, before, "must be a whole number, 0 or more", numbers)
    return numbers.astype(np.int32)


def refuse(wrong, name, before, what, values=None):
    """Raise a `LogError` about the rows of a batch that are wrong.

    Parameters
    ----------
    wrong : ndarray of bool
    name : str
        Of the column.
    before : int
        Rows before this batch.
    what : str
        What is wrong.
    values : ndarray, optional
        To show the first wrong one.
    """
    rows = np.flatnonzero(wrong)
    shown = "" if values is None else f", got {values[rows[0]]}"
    where = rows_text((rows[:SHOWN] + before + 1).tolist(), len(rows))
    raise LogError(f"{where}: {name}: {what}{shown}")


def first_unparsed(values, kind):
    """Return the place of the first text that cannot be cast to a type; there must be one."""
    begin, end = 0, len(values)
    while end - begin > 1:
        middle = (begin + end) // 2
        if _parses(values.slice(begin, middle - begin), kind):
            begin = middle
        else:
            end = middle
    return begin


def _parse(values, kind, name, before, what):
    try:
        return pc.cast(values, kind)
    except pa.ArrowInvalid:
        pass
    trimmed = pc.utf8_trim_whitespace(values)
    if _parses(trimmed, kind):
        return pc.cast(trimmed, kind)
    place = first_unparsed(trimmed, kind)
    raise LogError(
        f"{rows_text([before + place + 1])}: {name}: {shorten(values[place].as_py())} {what}"
    )


def _parses(values, kind):
    try:
        pc.cast(values, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _is_text(kind):
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _is_number(kind):
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
