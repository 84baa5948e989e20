"""How long an experiment must run, for each estimator, from a simulated pilot.

The spread of an estimate falls like the square root of the length and its bias stays, so a pilot of some
replicates and the true effect say for any length how wide an interval is, how often the sign is right,
and which estimator errs least.
"""

import math

import numpy as np
import pandas as pd

from queuebench.batches import simulate_and_estimate
from queuebench.estimators import all_estimators
from queuebench.files import scratch_folder
from queuebench.tables.crossover import crossing
from queuebench.tables.mse import ROW, summarise
from queuebench.tables.sign import arrivals_for_sign
from queuebench.truth import simulate_truth

_TWO_SIDED = 1.959964
"""Normal quantile of a 95 % interval."""

_MOST_IN_FULL = 1e12
"""Arrivals that are printed digit by digit."""

LENGTHS = ("for_width", "for_sign", "beats_naive_from")
"""Columns of a plan that are numbers of arrivals."""


def plan_cell(cell, replicates, width, progress=lambda message: None):
    """Return the arrivals each estimator needs in a cell.

    Parameters
    ----------
    cell : queuebench.config.Cell
    replicates : int
        Replicates of the pilot, of the cell's length each.
    width : float or None
        Wanted width of a 95 % interval, in mean service times; by default the size of the effect.
    progress : Callable
        Called with a line of text now and then.

    Returns
    -------
    gte : float
        The effect, simulated.
    rows : pandas.DataFrame
        Per design, estimator and horizon: ``bias``, ``sd`` at the pilot's length, and the arrivals
        ``for_width``, for an interval of the width, ``for_sign``, for the right sign in 95 % of
        experiments (infinite if the mean has the wrong sign), and ``beats_naive_from``, from which the
        MSE is below naive's (infinite if never); ``time_`` before these names is the same in mean
        service times.
    """
    progress("simulating the effect")
    gte = simulate_truth(cell).gte
    progress(f"simulating a pilot of {replicates} replicates")
    with scratch_folder() as folder:
        outputs = [folder / name for name in ("estimates", "diagnostics")]
        simulate_and_estimate(cell, range(replicates), outputs, folder / "log")
        estimates = pd.read_parquet(outputs[0])
    rows = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        found = summarise(group["estimate"].to_numpy(), gte, 0.0)
        rows.append(
            dict(zip(ROW, key, strict=True))
            | {name: found[name] for name in ("mean", "bias", "bias_se", "sd")}
            | {"arrivals": group["arrivals"].mean()}
        )
    table = pd.DataFrame(rows)
    table["for_width"] = arrivals_for_width(table["sd"], table["arrivals"], width or abs(gte))
    variance = table["sd"] ** 2 * table["arrivals"]
    table["for_sign"] = arrivals_for_sign(table["mean"], variance, gte)
    table["beats_naive_from"] = _beats_naive(table)
    for name in LENGTHS:
        table[f"time_{name}"] = table[name] / cell.rate
    return gte, table


def arrivals_for_width(sd, arrivals, width):
    """Return the arrivals at which a 95 % interval has a width: ``n0 (2 z sd / width)^2``.

    Infinite where that is beyond all numbers.
    """
    with np.errstate(over="ignore"):
        return arrivals * np.square(2 * _TWO_SIDED * sd / width)


def _beats_naive(table):
    naive = table[table["estimator"] == "naive"]
    if len(naive) == 0:
        return math.nan
    b2 = np.maximum(0.0, table["bias"] ** 2 - table["bias_se"] ** 2)
    scaled = table["sd"] ** 2 * table["arrivals"]
    row = naive.index[0]
    found = crossing(b2, scaled, b2[row], scaled[row])
    return np.where(table.index == row, math.nan, found)


def plan_text(cell, gte, table, width):
    """Return a plan from a study as text.

    Parameters
    ----------
    cell : queuebench.config.Cell
    gte : float
    table : pandas.DataFrame
        See `plan_cell`.
    width : float
        In mean service times.

    Returns
    -------
    str
    """
    estimands = {entry.name: entry.estimand for entry in all_estimators()}
    rows = [
        row | {
            "estimator": _name(row),
            "estimand": estimands[row["estimator"]],
            "bias": f"{row['bias']:+.3g}" if abs(row["bias"]) > _TWO_SIDED * row["bias_se"] else "",
            "spread": row["sd"],
            "beats_naive_from": (
                None if row["estimator"] == "naive" else row["beats_naive_from"]
            ),
        }
        for row in table.to_dict("records")
    ]  # fmt: skip
    lines = [
        f"{cell.name}: the effect is {gte:.4g}; {cell.rate:g} jobs arrive per mean service time",
        f"arrivals, and time in mean service times, for a 95 % interval of width {width:.3g}, for the right",
        "sign in 95 % of experiments, and from which the mean squared error is below naive's; bias is the",
        "mean estimate minus the effect, where clear of the pilot's noise:",
        *table_text(rows, lambda count: f"{count / cell.rate:.3g}"),
    ]
    return "\n".join(lines)


def _name(row):
    """Return an estimator's name, with the horizon if it has one."""
    horizon = row["horizon"]
    return row["estimator"] + ("" if pd.isna(horizon) else f" at {horizon:g}")


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
