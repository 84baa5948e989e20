"""How long an experiment must run, for each estimator, from a simulated pilot.

The spread of an estimate falls like the square root of the length and its bias stays, so a pilot of some
replicates and the true effect say for any length how wide an interval is, how often the sign is right,
and which estimator errs least.
"""

import math

import numpy as np
import pandas as pd

from queuebench.batches import simulate_and_estimate
from queuebench.files import scratch_folder
from queuebench.tables.crossover import crossing
from queuebench.tables.mse import ROW, summarise
from queuebench.tables.sign import arrivals_for_sign
from queuebench.truth import simulate_truth

_TWO_SIDED = 1.959964
"""Normal quantile of a 95 % interval."""

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
