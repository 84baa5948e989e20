"""What estimators that check their own assumptions say, and whether they are to be believed."""

import numpy as np
import pandas as pd

from queuebench.results.tables.coverage import share
from queuebench.results.tables.disagreement import disagreement_table
from queuebench.results.tables.rows import CELL, ROW, sd_error

LEVEL = 0.05
_UNBELIEVED = 0.1
"""A check that surely rejects more often than this does not do so by chance alone."""
_COLUMNS = [
    *ROW, "replicates", "rejected", "lower", "upper", "believed", "gte", "bias", "bias_se", "sd",
    "sd_se", "right_sign", "right_sign_se", "note",
]  # fmt: skip


def checks_table(estimates, truth, notes=None):
    """Return how often each check rejects at 5 %, and what the estimates beside it are worth.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    notes : dict of str to str, optional
        What a reader must know about a scenario.

    Returns
    -------
    pandas.DataFrame
        One row per cell, design, estimator and horizon that has a check. ``rejected`` is a share of
        the replicates, `lower` and `upper` its 95 % Clopper-Pearson interval; ``believed`` is false
        where the interval lies above 10 %. ``right_sign`` is a share of the replicates, missing where
        the effect is zero; its standard error is that of a share with one more of either kind, so that
        it is not zero where all agree. The truth's error is in that of the bias.
    """
    effects = truth.set_index(CELL)[["gte", "gte_se"]]
    rows = []
    checked = estimates[estimates["check"].notna()]
    for key, group in checked.groupby(ROW, sort=False, dropna=False):
        gte, gte_se = effects.loc[key[:2]]
        found = share(int((group["check"] < LEVEL).sum()), len(group))
        rows.append(
            dict(zip(ROW, key, strict=True))
            | {
                "replicates": len(group),
                "rejected": found["share"],
                "lower": found["lower"],
                "upper": found["upper"],
                "believed": found["lower"] <= _UNBELIEVED,
                "gte": gte,
                "bias": group["estimate"].mean() - gte,
                "bias_se": np.hypot(group["estimate"].sem(), gte_se),
                "sd": group["estimate"].std(),
                "sd_se": sd_error(group["estimate"].to_numpy()),
                **_right_sign(group["estimate"], gte),
                "note": (notes or {}).get(key[0], ""),
            }
        )
    return pd.DataFrame(rows, columns=_COLUMNS)


def _right_sign(estimates, gte):
    if not gte:
        return {"right_sign": np.nan, "right_sign_se": np.nan}
    right, n = (np.sign(estimates) == np.sign(gte)).sum(), len(estimates)
    near = (right + 1) / (n + 2)
    return {"right_sign": right / n, "right_sign_se": np.sqrt(near * (1 - near) / n)}


def warnings(checks) -> list[str]:
    """Return a sentence for each estimator that fails its check, for the head of a report.

    Parameters
    ----------
    checks : pandas.DataFrame
        What `checks_table` returned.
    """
    return [
        f"**`{row.estimator}` fails to reproduce the experiments of {row.scenario} at load {row.load:g}: "
        f"its check rejects {row.rejected:.0%} of {row.replicates} replicates, and its estimates there "
        "are not to be believed.**"
        for row in checks[~checks["believed"].astype(bool)].itertuples()
    ]


def checks_files(estimates, truth, diagnostics, notes):
    """Return what the checks of estimators say, and how often estimators disagree."""
    return {
        "checks": checks_table(estimates, truth, notes),
        "disagreement": disagreement_table(diagnostics, notes),
    }
