"""How often confidence intervals cover: their own estimand, and the effect somebody wants to know."""

import numpy as np
import pandas as pd
from scipy import stats

from queuebench.results.tables.rows import CELL, ROW

LEVELS = (90, 95)
COLUMNS = [
    *ROW, "main", "level", "target", "estimand_source", "coverage", "lower", "upper", "replicates",
    "note",
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
        Records too short for an interval are left out of `replicates`; with fewer than two the coverage
        is missing and ``note`` says why. The effect is judged within its own error: an interval counts
        as containing it where the two differ by no more than half the interval and the truth's own,
        added in quadrature. In A/A cells the coverage of the effect zero is one minus the
        false-positive rate.
    """
    effects = truth.set_index(CELL)[["gte", "gte_se"]]
    known = _exact_estimands(decomposition)
    rows = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        same = dict(zip(ROW, key, strict=True)) | {"main": group["main"].iloc[0]}
        said = "; ".join(sorted(set(group["note"].dropna()) - {""}))
        group = group[group["lower_95"].notna()]
        if len(group) < 2:
            rows += [
                same | missing | {"note": said or _NO_INTERVAL} for missing in _missing(len(group))
            ]
            continue
        exact = known.get((*key[:4], np.nan_to_num(key[4])))
        estimand = group["estimate"].mean() if exact is None else exact
        targets = {
            "estimand": (estimand, 0.0, "mean" if exact is None else "exact"),
            "gte": (*effects.loc[key[:2]], "truth"),
        }
        for target, (value, error, source) in targets.items():
            for level in LEVELS:
                covered = _covers(group, level, value, error)
                found = share(int(covered.sum()), len(covered))
                rows.append(
                    same
                    | {"level": level, "target": target, "estimand_source": source}
                    | {"coverage": found["share"], "lower": found["lower"]}
                    | {"upper": found["upper"], "replicates": len(covered), "note": ""}
                )
    return pd.DataFrame(rows, columns=COLUMNS)


_NO_INTERVAL = "no confidence intervals, or of one replicate only"


def _missing(replicates):
    """Yield what is known of the coverage of an estimator without intervals."""
    for target in ("estimand", "gte"):
        for level in LEVELS:
            yield {
                "level": level,
                "target": target,
                "estimand_source": "",
                "replicates": replicates,
            }


def _covers(group, level, value, error):
    """Return for each replicate whether its interval contains a value that has an error of its own."""
    lower, upper = group[f"lower_{level}"], group[f"upper_{level}"]
    own = error * stats.norm.ppf(0.5 + level / 200)
    if own == 0.0:
        return lower.le(value) & upper.ge(value)
    return ((lower + upper) / 2 - value).abs() <= np.hypot((upper - lower) / 2, own)


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
