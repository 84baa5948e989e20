"""How long an experiment must run: lengths for a precision, and a table of them as text."""

import math

import numpy as np
from scipy.special import ndtri

TWO_SIDED = ndtri(0.975)
"""Normal quantile of a 95 % interval."""

_MOST_IN_FULL = 1e12
"""Arrivals that are printed digit by digit."""

LENGTHS = ("for_width", "for_sign", "beats_naive_from")
"""Columns of a plan that are numbers of arrivals."""


def arrivals_for_width(sd, arrivals, width):
    """Return the arrivals at which a 95 % interval has a width: ``n0 (2 z sd / width)^2``.

    Infinite where that is beyond all numbers.
    """
    with np.errstate(over="ignore"):
        return arrivals * np.square(2 * TWO_SIDED * sd / width)


def table_text(rows, time):
    """Return rows of a plan as a table of text.

    Parameters
    ----------
    rows : iterable of dict
        ``estimator``, ``estimand`` (what it estimates), ``bias`` and ``spread`` (numbers, or text for what is
        not a number), and the arrivals `LENGTHS`: infinite for never, NaN for undetermined, None where there
        is nothing to compare with.
    time : Callable
        From a number of arrivals to the time they take, as text.

    Returns
    -------
    list of str
        Lines.
    """
    head = ("width", "time", "sign", "time", "beats naive", "time")
    lines = [_line("estimator", "estimates the", "bias", "std. error", *head)]
    for row in rows:
        cells = [cell for name in LENGTHS for cell in _cells(row[name], time)]
        lines.append(
            _line(
                row["estimator"],
                row["estimand"],
                _number(row["bias"]),
                _number(row["spread"]),
                *cells,
            )
        )
    return lines


def _number(value):
    return value if isinstance(value, str) else f"{value:.3g}"


def _cells(arrivals, time):
    if arrivals is None:
        return "", ""
    if math.isnan(arrivals):
        return "undetermined", ""
    if math.isinf(arrivals):
        return "never", ""
    count = f"{math.ceil(arrivals):,}" if arrivals < _MOST_IN_FULL else f"{arrivals:.3g}"
    return count, time(arrivals)


def _line(name, estimand, bias, spread, *cells):
    pairs = (f"{count:>18}{time:>13}" for count, time in zip(cells[::2], cells[1::2], strict=True))
    return f"{name:<31}{estimand:<16}{bias:>12}{spread:>12}{''.join(pairs)}".rstrip()
