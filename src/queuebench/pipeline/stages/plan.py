"""How long an experiment must run, for each estimator, from a simulated pilot.

The spread of an estimate falls like the square root of the length and its bias stays, so a pilot of some
replicates and the true effect say for any length how wide an interval is, how often the sign is right,
and which estimator errs least.
"""

import math

import numpy as np
import pandas as pd

from queuebench.base.files import scratch_folder
from queuebench.estimators import all_estimators
from queuebench.estimators.common.registry import in_role
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.pipeline.stages.truth import simulate_truth
from queuebench.results.lengths import LENGTHS, TWO_SIDED, arrivals_for_width, table_text
from queuebench.results.tables.crossover import crossing
from queuebench.results.tables.rows import ROW, summarise
from queuebench.results.tables.sign import arrivals_for_sign


def plan_cell(cell, replicates, width, progress=lambda message: None):
    """Return the arrivals each estimator needs in a cell.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
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


def _beats_naive(table):
    naive = table[table["estimator"] == in_role("baseline").name]
    if len(naive) == 0:
        return math.nan
    b2 = np.maximum(0.0, table["bias"] ** 2 - table["bias_se"] ** 2)
    scaled = table["sd"] ** 2 * table["arrivals"]
    row = naive.index[0]
    found = crossing(b2, scaled, b2[row], scaled[row])
    return np.where(table.index == row, math.nan, found)


def plan_text(cell, gte, table, width) -> str:
    """Return a plan from a study as text.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    gte : float
    table : pandas.DataFrame
        See `plan_cell`.
    width : float
        In mean service times.
    """
    estimands = {entry.name: entry.estimand for entry in all_estimators()}
    rows = [
        row | {
            "estimator": _name(row),
            "estimand": estimands[row["estimator"]],
            "bias": f"{row['bias']:+.3g}" if abs(row["bias"]) > TWO_SIDED * row["bias_se"] else "",
            "spread": row["sd"],
            "beats_naive_from": (
                None if row["estimator"] == in_role("baseline").name else row["beats_naive_from"]
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
