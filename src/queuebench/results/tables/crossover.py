"""From which length of experiment one estimator beats another on mean squared error."""

import numpy as np
import pandas as pd

from queuebench.results.tables.moments import bootstrap_interval, moments_by_cell
from queuebench.results.tables.rows import CELL

COLUMNS = [
    *CELL, "design", "estimator", "horizon", "rival_design", "rival", "rival_horizon", "crossover",
    "lower", "upper", "verdict",
]  # fmt: skip


def crossover_table(estimates, truth, seed, decomposition=None):
    """Return one row per ordered pair of estimators of a cell, at the same horizon if both have one.

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
        ``crossover`` is the number of arrivals from which the estimator has the lower MSE than the
        rival (0: at every length; infinite: at no length), `lower` and `upper` its 95 % bootstrap
        interval over replicates, and the verdict one of always, from, never, undetermined.
    """
    rows = []
    for key, moments in moments_by_cell(estimates, truth, seed, decomposition):
        rows += _cell_rows(key, moments)
    return pd.DataFrame(rows, columns=COLUMNS)


def _cell_rows(key, moments):
    rows = []
    for (design, estimator, horizon), own in moments.items():
        for (rival_design, rival, rival_horizon), other in moments.items():
            same = (design, estimator) == (rival_design, rival)
            comparable = horizon == rival_horizon or np.isnan([horizon, rival_horizon]).any()
            if same or not comparable:
                continue
            crossings = crossing(own.b2, own.variance, other.b2, other.variance)
            lower, upper = bootstrap_interval(crossings[1:])
            rows.append(
                dict(zip(CELL, key, strict=True))
                | {
                    "design": design,
                    "estimator": estimator,
                    "horizon": horizon,
                    "rival_design": rival_design,
                    "rival": rival,
                    "rival_horizon": rival_horizon,
                    "crossover": crossings[0],
                    "lower": lower,
                    "upper": upper,
                    "verdict": verdict(lower, upper),
                }
            )
    return rows


def crossing(b2, scaled_variance, rival_b2, rival_scaled_variance):
    """Return from how many arrivals on ``b2 + v / n`` is below the rival's, elementwise.

    Returns
    -------
    ndarray of float64
        0 where it is below at every length, infinite where it is above from some length on.
    """
    more_variance = scaled_variance - rival_scaled_variance
    less_bias = rival_b2 - b2
    with np.errstate(divide="ignore", invalid="ignore"):
        length = more_variance / less_bias
    length = np.where(more_variance <= 0, 0.0, length)
    at_last = (less_bias > 0) | ((less_bias == 0) & (more_variance < 0))
    return np.where(at_last, length, np.inf)


def verdict(lower, upper):
    """Return in a word what an interval of crossover lengths says."""
    if upper == 0:
        return "always"
    if np.isinf(lower):
        return "never"
    if np.isinf(upper):
        return "undetermined"
    return "from"
