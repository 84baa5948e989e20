"""Bias, standard deviation and mean squared error of every estimator in every cell."""

import numpy as np
import pandas as pd

CELL = ["scenario", "load"]
NOTES = [
    "Estimates, bias and standard deviation are in mean service times; `horizon` too. `bias` is "
    "against `gte`, the difference of mean response times over jobs when every job is treated and "
    "when none is. `*_se` are Monte Carlo standard errors; those of bias, MSE and relative RMSE "
    "contain `gte_se`, and `mse` is free of it.",
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
        the delta method from the fourth and second moments; NaN for a single replicate. The truth's
        error is in those of bias, MSE and relative RMSE, and taken off the MSE itself.
    """
    n = len(values)
    several = n > 1
    mean = values.mean()
    sd = values.std(ddof=1) if several else np.nan
    bias = mean - gte
    mse = mean_squared_error(values, gte, gte_se)
    mse_spread = ((values - gte) ** 2).std(ddof=1) / np.sqrt(n) if several else np.nan
    rmse = np.sqrt(mse)
    # The truth's error moves the MSE by way of the bias; at no bias its square still varies.
    bias_squared = max(bias**2 - gte_se**2, gte_se**2 / 2)
    return {
        "gte": gte,
        "gte_se": gte_se,
        "mean": mean,
        "mean_se": sd / np.sqrt(n),
        "bias": bias,
        "bias_se": np.hypot(sd / np.sqrt(n), gte_se),
        "sd": sd,
        "sd_se": sd_error(values),
        "mse": mse,
        "mse_se": np.hypot(mse_spread, 2 * np.sqrt(bias_squared) * gte_se),
        "relative_rmse": rmse / abs(gte) if gte else np.nan,
        "relative_rmse_se": _relative_rmse_error(rmse, mse_spread, bias, gte, gte_se),
    }


def mean_squared_error(values, gte, gte_se):
    """Return the mean squared error of replicates against a truth that is itself uncertain.

    The mean of ``(value - gte)^2`` is on average ``gte_se^2`` too large; that is taken off, but no more
    than the squared bias that was seen.
    """
    bias = values.mean() - gte
    return np.maximum(0.0, np.mean((values - gte) ** 2) - np.minimum(bias**2, gte_se**2))


def sd_error(values):
    """Return the standard error of the standard deviation of replicates; NaN where there is none."""
    n = len(values)
    sd = values.std(ddof=1) if n > 1 else np.nan
    if not sd > 0:
        return np.nan
    fourth = np.mean((values - values.mean()) ** 4)
    return np.sqrt(max(0.0, fourth - sd**4) / n) / (2 * sd)


def _relative_rmse_error(rmse, mse_spread, bias, gte, gte_se):
    """Return the standard error of ``rmse / |gte|`` by the delta method: both depend on the truth."""
    if not gte or not rmse > 0:
        return np.nan
    of_logarithm = np.hypot(mse_spread / (2 * rmse**2), (bias / rmse**2 + 1 / gte) * gte_se)
    return rmse / abs(gte) * of_logarithm
