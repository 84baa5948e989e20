"""Bias, standard deviation and mean squared error of every estimator in every cell."""

import numpy as np
import pandas as pd

CELL = ["scenario", "load"]
NOTES = [
    "Estimates, bias and standard deviation are in mean service times; `horizon` too. `bias` is "
    "against `gte`, the difference of mean response times over jobs when every job is treated and "
    "when none is. `*_se` are Monte Carlo standard errors; those of bias and MSE contain `gte_se`.",
]
ROW = [*CELL, "design", "estimator", "horizon"]


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
        ``bias_se`` and ``mse_se`` contain the uncertainty of `gte`. ``rank`` orders all rows of a
        cell by MSE, 1 the lowest.
    """
    gte = truth.set_index(CELL)[["gte", "gte_se"]]
    rows = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        effect = gte.loc[key[:2]]
        summary = summarise(group["estimate"].to_numpy(), effect["gte"], effect["gte_se"])
        rows.append(
            dict(zip(ROW, key, strict=True))
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


def summarise(values, gte, gte_se):
    """Return mean, bias, standard deviation and MSE of replicates with their standard errors.

    Parameters
    ----------
    values : ndarray, shape (R,)
        Independent estimates.
    gte, gte_se : float
        The truth and its standard error, which is independent of the estimates.

    Returns
    -------
    dict
        Standard errors: of the mean ``sd / sqrt(R)``; of the standard deviation and of the MSE by
        the delta method from the fourth and second moments; NaN for a single replicate.
    """
    n = len(values)
    several = n > 1
    mean = values.mean()
    sd = values.std(ddof=1) if several else np.nan
    squared_error = (values - gte) ** 2
    fourth = np.mean((values - mean) ** 4)
    sd_se = np.sqrt(max(0.0, fourth - sd**4) / n) / (2 * sd) if several and sd > 0 else np.nan
    mse_spread = squared_error.std(ddof=1) / np.sqrt(n) if several else np.nan
    mse = squared_error.mean()
    return {
        "gte": gte,
        "gte_se": gte_se,
        "mean": mean,
        "mean_se": sd / np.sqrt(n),
        "bias": mean - gte,
        "bias_se": np.hypot(sd / np.sqrt(n), gte_se),
        "sd": sd,
        "sd_se": sd_se,
        "mse": mse,
        "mse_se": np.hypot(mse_spread, 2 * abs(mean - gte) * gte_se),
        "relative_rmse": np.sqrt(mse) / abs(gte) if gte else np.nan,
    }
