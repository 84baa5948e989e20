"""Bias, standard deviation and mean squared error of every estimator in every cell."""

import pandas as pd

from queuebench.results.tables.checks import checks_table, warnings
from queuebench.results.tables.output import Markdown
from queuebench.results.tables.rows import CELL, ROW, summarise

NOTES = [
    "Estimates, bias and standard deviation are in mean service times; `horizon` too. `bias` is "
    "against `gte`, the difference of mean response times over jobs when every job is treated and "
    "when none is. `*_se` are Monte Carlo standard errors; those of bias, MSE and relative RMSE "
    "contain `gte_se`, and `mse` is free of it.",
]


def mse_table(estimates, truth, notes=None):
    """Return one row per cell, design, estimator and horizon.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Rows of `results/estimates.parquet`.
    truth : pandas.DataFrame
        Rows of `results/truth.parquet`.
    notes : dict of str to str, optional
        What a reader must know about a scenario.

    Returns
    -------
    pandas.DataFrame
        Estimates are in mean service times. ``bias`` is against the global treatment effect `gte`;
        ``bias_se``, ``mse_se`` and ``relative_rmse_se`` contain the uncertainty of `gte`, ``mse`` does
        not, see `mean_squared_error`. ``rank`` orders all rows of a
        cell by MSE, 1 the lowest.
    """
    gte = truth.set_index(CELL)[["gte", "gte_se"]]
    rows = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        effect = gte.loc[key[:2]]
        summary = summarise(group["estimate"].to_numpy(), effect["gte"], effect["gte_se"])
        rows.append(
            dict(zip(ROW, key, strict=True))
            | {"main": group["main"].iloc[0]}
            | {"replicates": len(group), "arrivals": group["arrivals"].mean()}
            | summary
        )
    table = pd.DataFrame(rows)
    table["rank"] = table.groupby(CELL, sort=False)["mse"].rank(method="min").astype("Int64")
    # What a check says of single replicates is in a table of its own.
    said = estimates["note"].where(estimates["check"].isna(), "")
    said = said.groupby([estimates[name] for name in ROW], sort=False, dropna=False).max()
    table["note"] = [
        "; ".join(filter(None, [(notes or {}).get(scenario, ""), standard_error]))
        for scenario, standard_error in zip(table["scenario"], said, strict=True)
    ]
    return table


def mse_files(estimates, truth, notes):
    """Return the table, and a page that begins with what the checks of the estimators say."""
    table = mse_table(estimates, truth, notes)
    first = warnings(checks_table(estimates, truth))
    title = "Mean squared error of every estimator"
    return {"csv": table, "md": Markdown(table, title, NOTES, first)}
