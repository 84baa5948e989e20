"""How often confidence intervals cover: their own estimand, and the effect somebody wants to know."""

import numpy as np
import pandas as pd
from scipy import stats

from queuebench.tables.mse import CELL, ROW

LEVELS = (90, 95)
COLUMNS = [
    *ROW, "level", "target", "estimand_source", "coverage", "lower", "upper", "replicates",
]  # fmt: skip


def coverage_table(estimates, truth, decomposition=None):
    """Return the share of replicates whose intervals contain a target.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    decomposition : pandas.DataFrame, optional
        Rows of `results/tables/bias_decomposition.csv`, for exact estimands.

    Returns
    -------
    pandas.DataFrame
        One row per cell, design, estimator, horizon, level and target: ``gte``, or ``estimand``, which
        is exact where the oracle knows it and else the mean of all replicates (`estimand_source`
        says which). `lower` and `upper` are Clopper and Pearson's 95 % interval of the coverage.
        Records too short for an interval are left out of `replicates`, and a row needs two. In A/A
        cells the coverage of the effect zero is one minus the false-positive rate.
    """
    effects = truth.set_index(CELL)["gte"]
    known = _exact_estimands(decomposition)
    rows = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        group = group[group["lower_95"].notna()]
        if len(group) < 2:
            continue
        exact = known.get((*key[:4], np.nan_to_num(key[4])))
        estimand = group["estimate"].mean() if exact is None else exact
        targets = {
            "estimand": (estimand, "mean" if exact is None else "exact"),
            "gte": (effects.loc[key[:2]], "truth"),
        }
        for target, (value, source) in targets.items():
            for level in LEVELS:
                covered = group[f"lower_{level}"].le(value) & group[f"upper_{level}"].ge(value)
                found = share(int(covered.sum()), len(covered))
                rows.append(
                    dict(zip(ROW, key, strict=True))
                    | {"level": level, "target": target, "estimand_source": source}
                    | {"coverage": found["share"], "lower": found["lower"]}
                    | {"upper": found["upper"], "replicates": len(covered)}
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _exact_estimands(decomposition):
    if decomposition is None:
        return {}
    keys = [*ROW[:-1], "horizon"]
    rows = decomposition.fillna({"horizon": 0.0})
    return dict(zip(rows[keys].itertuples(index=False, name=None), rows["estimand"], strict=True))


def share(number, replicates):
    """Return a share of replicates with its 95 % Clopper-Pearson interval."""
    interval = stats.binomtest(number, replicates).proportion_ci(0.95)
    return {"share": number / replicates, "lower": interval.low, "upper": interval.high}
