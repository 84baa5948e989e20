"""Which estimator has the lowest mean squared error, by load and length of the experiment."""

import numpy as np
import pandas as pd

from queuebench.results.tables.moments import LEVEL, moments_by_cell
from queuebench.results.tables.rows import CELL
from queuebench.results.tables.sign import sign_table

LENGTHS = np.logspace(4, 8, 9)
"""Arrivals per experiment."""

AMONG = ("model-free", "all")
COLUMNS = [
    *CELL, "arrivals", "among", "design", "estimator", "horizon", "rmse", "rmse_se",
    "relative_rmse", "relative_rmse_se", "runner_up_design", "runner_up", "runner_up_horizon",
    "runner_up_rmse", "runner_up_rmse_se", "share", "clear",
]  # fmt: skip


def winners_table(estimates, truth, seed, structural, decomposition=None):
    """Return the estimator with the lowest MSE in every cell at every length.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    seed : int
        Seed of the bootstrap.
    structural : list of str
        Estimators that are told the structure of the system.
    decomposition : pandas.DataFrame, optional
        Rows of `results/tables/bias_decomposition.csv`: exact biases.

    Returns
    -------
    pandas.DataFrame
        One row per cell, length and ``among`` (all estimators, or those that are not structural); an
        estimator competes at each of its horizons.
        ``rmse`` is ``sqrt(b2 + sd^2 n0 / n)`` in mean service times, ``relative_rmse`` over the size of
        the effect; their standard errors are bootstrapped, the truth's error included. ``share`` is in
        how many bootstrap samples of the replicates the winner beats all others, ``clear`` whether that
        is at least 95 %; else the difference is within noise. Estimators that say the same on every
        record compete as one, by the name of the first.
    """
    rows = []
    for key, moments in moments_by_cell(estimates, truth, seed, decomposition):
        for among in AMONG:
            chosen = _distinct(
                {
                    row: own
                    for row, own in moments.items()
                    if among == "all" or row[1] not in structural
                }
            )
            if len(chosen) > 1:
                rows += [_winner(key, among, chosen, arrivals) for arrivals in LENGTHS]
    return pd.DataFrame(rows, columns=COLUMNS)


def _distinct(moments):
    """Leave out estimators that say the same as an earlier one, and those that say nothing."""
    kept = {}
    for row, own in moments.items():
        same = any(
            np.array_equal(own.mean, other.mean) and np.array_equal(own.variance, other.variance)
            for other in kept.values()
        )
        if not same and not np.isnan(own.mean[0]):
            kept[row] = own
    return kept


def _winner(key, among, moments, arrivals):
    names = list(moments)
    mse = np.array([own.b2 + own.variance / arrivals for own in moments.values()])
    first, second = np.argsort(mse[:, 0], kind="stable")[:2]
    others = np.nanmin(np.delete(mse[:, 1:], first, axis=0), axis=0)
    share = np.mean(mse[first, 1:] < others)
    effect = moments[names[first]].effect
    rmse = np.sqrt(mse)
    rmse_se = rmse[:, 1:].std(axis=1)
    relative = rmse[first] / np.abs(effect) if effect[0] else np.full(len(effect), np.nan)
    return dict(zip(CELL, key, strict=True)) | {
        "arrivals": arrivals,
        "among": among,
        "design": names[first][0],
        "estimator": names[first][1],
        "horizon": names[first][2],
        "rmse": rmse[first, 0],
        "rmse_se": rmse_se[first],
        "relative_rmse": relative[0],
        "relative_rmse_se": relative[1:].std(),
        "runner_up_design": names[second][0],
        "runner_up": names[second][1],
        "runner_up_horizon": names[second][2],
        "runner_up_rmse": rmse[second, 0],
        "runner_up_rmse_se": rmse_se[second],
        "share": share,
        "clear": share >= LEVEL,
    }


def winners_files(estimates, truth, seed, structural, decomposition=None):
    """Return who wins where, and the arrivals that the right sign takes."""
    return {
        "winners": winners_table(estimates, truth, seed, structural, decomposition),
        "sign": sign_table(estimates, truth, seed, decomposition),
    }
