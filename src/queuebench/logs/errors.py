"""What a log or its description is refused with."""

import contextlib

import pyarrow as pa


class LogError(ValueError):
    """A log that cannot be analysed; one sentence says what, where and what would be right.

    Rows are numbered from 1 for the first row of data: a header is not counted.
    """


@contextlib.contextmanager
def about(path):
    """Put the log's path in front of what it is refused with, unless it is there already."""
    try:
        yield
    except LogError as error:
        text = str(error)
        raise LogError(text if text.startswith(f"{path}: ") else f"{path}: {text}") from None


@contextlib.contextmanager
def readable(path):
    """Turn what pyarrow says about a damaged file into one sentence."""
    try:
        yield
    # Names that are no UTF-8 come as Python's own error.
    except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
        raise LogError(
            f"{path}: cannot be read, it is truncated or damaged ({first_line(error)})"
        ) from None


SHOWN = 5
"""Row numbers that a sentence lists."""


def rows_text(rows, count=None):
    """Return ``row 7`` or ``rows 7, 9 and 12`` or ``rows 3, 5, 6, 8, 9 and 20 others``.

    Parameters
    ----------
    rows : sequence of int
        The first row numbers, in increasing order.
    count : int, optional
        How many rows there are in all, by default as many as are given.
    """
    count = len(rows) if count is None else count
    shown = [f"{row}" for row in rows[:SHOWN]]
    if count == 1:
        return f"row {shown[0]}"
    if count > len(shown):
        others = count - len(shown)
        return (
            f"row{'s' if len(shown) > 1 else ''} {', '.join(shown)} and {others} "
            f"other{'s' if others > 1 else ''}"
        )
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def shorten(value, most=60):
    """Return a value as quoted text, cut where it is long."""
    text = str(value)
    return repr(text if len(text) <= most else text[:most] + "…")


def first_line(error, most=150):
    """Return what a library said about a failure, on one line and not too long."""
    return shorten(" ".join(str(error).split()), most)[1:-1]
