"""How long an experiment must be for the sign of the effect to be right."""

import numpy as np
import pandas as pd

from queuebench.results.tables.moments import bootstrap_interval, moments_by_cell
from queuebench.results.tables.rows import ROW

_ONE_SIDED = 1.644854
"""Normal quantile of 95 %."""
COLUMNS = [*ROW, "gte", "arrivals", "lower", "upper"]


def arrivals_for_sign(mean, variance, effect):
    """Return the arrivals at which 95 % of experiments have the effect's sign.

    Parameters
    ----------
    mean : ndarray or float
        Of the estimates.
    variance : ndarray or float
        Their variance times the arrivals of an experiment.
    effect : ndarray or float

    Returns
    -------
    ndarray of float64
        ``(z / mean)^2 variance``; infinite where the mean has the wrong sign, or none, or
        is too small for numbers.
    """
    with np.errstate(divide="ignore", over="ignore"):
        needed = variance * (_ONE_SIDED / np.asarray(mean, float)) ** 2
    return np.where(np.sign(mean) == np.sign(effect), needed, np.inf)


def sign_table(estimates, truth, seed, decomposition=None):
    """Return the arrivals every estimator needs to get the sign right in 95 % of experiments.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    seed : int
        Seed of the bootstrap.
    decomposition : pandas.DataFrame, optional
        Rows of `results/tables/bias_decomposition.csv`: exact biases.

    Returns
    -------
    pandas.DataFrame
        One row per cell, design, estimator and horizon, but for cells whose effect is zero. ``lower``
        and ``upper`` are a 95 % bootstrap interval; infinite: at no length.
    """
    rows = []
    for key, moments in moments_by_cell(estimates, truth, seed, decomposition):
        for row, own in moments.items():
            if own.effect[0] == 0.0:
                continue
            needed = arrivals_for_sign(own.mean, own.variance, own.effect)
            lower, upper = bootstrap_interval(needed[1:])
            values = (*key, *row, own.effect[0], needed[0], lower, upper)
            rows.append(dict(zip(COLUMNS, values, strict=True)))
    return pd.DataFrame(rows, columns=COLUMNS)
