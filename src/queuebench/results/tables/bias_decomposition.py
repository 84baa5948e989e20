"""Bias taken apart: what interference leaves, what truncation adds, and what nobody explains.

The residual, an estimator's mean minus its own estimand, must be zero within its error in every cell: it
runs from the oracle through simulator, trace and estimator.
"""

import numpy as np
import pandas as pd

from queuebench.results.tables.rows import CELL


def bias_decomposition(estimates, solved, exact):
    """Return one row per estimator and horizon of the cells the oracle solved.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Rows of `results/estimates.parquet`.
    solved : list of dict
        What the oracle said.
    exact : dict of str to str
        What it knows of each estimator, see `queuebench.estimators.common.registry.EXACT`.

    Returns
    -------
    pandas.DataFrame
        ``gte``, ``estimand`` (a mixture's at each replicate's own alpha and, if it chooses one, at its
        own horizon, averaged), ``interference_bias`` (what the estimator would have at an infinite
        horizon), ``order_bias`` (the part of it that is due to the number of shares: what the weighted sum
        of the exact slopes at the shares run misses of the effect), ``truncation_bias``, and ``residual``
        with its Monte Carlo standard error `residual_se` and `residual_error`, the bound on the oracle's
        own error.
    """
    rows = []
    for found in solved:
        if not found["solved"]:
            continue
        cell = estimates[
            (estimates["scenario"] == found["scenario"]) & (estimates["load"] == found["load"])
        ]
        truncated = {item["horizon"]: item for item in found["truncated"]}
        for (design, name, horizon), group in cell.groupby(
            ["design", "estimator", "horizon"], sort=False, dropna=False
        ):
            kind = exact.get(name)
            # A mixture without a horizon chose one of the grid on every record.
            chose = kind == "mixture" and np.isnan(horizon)
            item = _chosen(found, group) if chose else truncated.get(horizon)
            shares = found.get("designs", {}).get(design)
            if shares:
                parts = _over_shares(kind, horizon, shares)
            else:
                parts = _estimand(kind, group["alpha"].to_numpy(), found, item)
            if parts is None:
                continue
            estimand, limit, error = parts
            slope = sum(at["weight"] * at["dq"] for at in shares) if shares else found["dq"]
            residual = group["estimate"].to_numpy() - estimand
            several = len(residual) > 1
            rows.append(
                {key: found[key] for key in CELL}
                | {
                    "design": design,
                    "estimator": name,
                    "horizon": horizon,
                    "main": group["main"].iloc[0],
                    "gte": found["gte"],
                    "estimand": np.mean(estimand),
                    "interference_bias": limit - found["gte"],
                    "order_bias": slope - found["gte"],
                    "truncation_bias": np.mean(estimand) - limit,
                    "residual": residual.mean(),
                    "residual_se": residual.std(ddof=1) / np.sqrt(len(residual))
                    if several
                    else np.nan,
                    "residual_error": error,
                    "sd": residual.std(ddof=1) if several else np.nan,
                }
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


_COLUMNS = [
    *CELL, "design", "estimator", "horizon", "main", "gte", "estimand", "interference_bias",
    "order_bias", "truncation_bias", "residual", "residual_se", "residual_error", "sd",
]  # fmt: skip


def _over_shares(kind, horizon, shares):
    """Return estimand, limit and error of a quadrature; None for a mixture, whose weights by share vary."""
    if kind not in ("arm difference", "response", "queue"):
        return None
    estimand = limit = error = 0.0
    for at in shares:
        item = next((one for one in at["truncated"] if one["horizon"] == horizon), None)
        if kind != "arm difference" and item is None:
            return None
        own = at["naive"], at["naive"], at["naive_error"]
        if kind != "arm difference":
            own = item[kind], at["dq"], item[f"{kind}_error"]
        estimand, limit = estimand + at["weight"] * own[0], limit + at["weight"] * own[1]
        error += abs(at["weight"]) * own[2]
    return estimand, limit, error


def _chosen(found, group):
    """Return the truncated estimands at the horizon that each replicate chose."""
    by_length = pd.DataFrame(found["truncated"]).set_index("horizon_arrivals")
    chosen = by_length.loc[group["horizon_arrivals"]]
    return {name: chosen[name].to_numpy() for name in chosen}


def _estimand(kind, alpha, found, truncated):
    """Return estimand (of each replicate for a mixture), its limit, and the oracle's error bound."""
    if kind == "arm difference":
        return found["naive"], found["naive"], found["naive_error"]
    if kind is None or truncated is None:
        return None
    response, queue = truncated["response"], truncated["queue"]
    if kind == "response":
        return response, found["dq"], truncated["response_error"]
    if kind == "queue":
        return queue, found["dq"], truncated["queue_error"]
    error = np.mean(
        np.abs(alpha) * truncated["response_error"] + np.abs(1 - alpha) * truncated["queue_error"]
    )
    return alpha * response + (1 - alpha) * queue, found["dq"], error
