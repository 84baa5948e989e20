"""Bias and spread of the estimators of a cell, and how well they are known, for any length of experiment.

The variance of an estimate falls like 1/n and its bias stays, so with n0 arrivals measured the MSE of n
arrivals is modelled as ``b2 + sd^2 * n0 / n`` with ``b2 = max(0, bias^2 - bias_se^2)``, or the exact bias
squared where the oracle knows it.
"""

from typing import NamedTuple

import numpy as np

from queuebench.base.randomness import stream
from queuebench.results.tables.rows import CELL

DRAWS = 1000
FEWEST = 5
"""Replicates below which nothing is said: a bootstrap of so few has no spread to speak of."""
LEVEL = 0.95


class Moments(NamedTuple):
    """Of one estimator: as observed first, then `DRAWS` times bootstrapped over replicates.

    Attributes
    ----------
    mean : ndarray, shape (1 + DRAWS,)
    b2 : ndarray, shape (1 + DRAWS,)
        Squared bias.
    variance : ndarray, shape (1 + DRAWS,)
        Variance times arrivals, ``sd^2 * n0``.
    effect : ndarray, shape (1 + DRAWS,)
        The truth, within its own error.
    """

    mean: np.ndarray
    b2: np.ndarray
    variance: np.ndarray
    effect: np.ndarray


def moments_by_cell(estimates, truth, seed, decomposition=None):
    """Yield every cell with the moments of its estimators; designs of too few replicates are left out.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    seed : int
        Seed of the bootstrap.
    decomposition : pandas.DataFrame, optional
        Rows of `results/tables/bias_decomposition.csv`: exact biases.

    Yields
    ------
    key : tuple
        Scenario and load.
    moments : dict of (str, str, float) to Moments
        By design, estimator and horizon (NaN for those without).
    """
    gte = truth.set_index(CELL)
    for key, cell in estimates.groupby(CELL, sort=False):
        effect = gte.loc[key]
        exact = _exact_bias(decomposition, key)
        yield key, _cell_moments(key, cell, effect["gte"], effect["gte_se"], seed, exact)


def bootstrap_interval(values):
    """Return the 95 % interval of a statistic from its bootstrapped values, which may be infinite."""
    ends = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return np.quantile(values, ends, method="closest_observation")


def _exact_bias(decomposition, key):
    """Return the exact biases of a cell by design, estimator and horizon."""
    if decomposition is None:
        return {}
    rows = decomposition[(decomposition["scenario"] == key[0]) & (decomposition["load"] == key[1])]
    biases = rows["interference_bias"] + rows["truncation_bias"]
    # NaN is no key: it does not equal itself.
    horizons = rows["horizon"].fillna(0.0)
    return dict(
        zip(zip(rows["design"], rows["estimator"], horizons, strict=True), biases, strict=True)
    )


def _cell_moments(key, cell, gte, gte_se, seed, exact):
    moments = {}
    for design, group in cell.groupby("design", sort=False):
        if group["replicate"].nunique() < FEWEST:
            continue
        rng = stream(seed, f"{key[0]}-load{key[1]!r}", str(design), "crossover")
        noise = stream(seed, f"{key[0]}-load{key[1]!r}", "crossover truth").normal(
            0.0, gte_se, DRAWS
        )
        moments |= _design_moments(design, group, gte, gte_se, rng, noise, exact)
    return moments


def _design_moments(design, group, gte, gte_se, rng, noise, exact):
    """Return the moments of each estimator of a design.

    Replicates are drawn together for all estimators of a design, because they share traces.
    """
    wide = group.pivot(index="replicate", columns=["estimator", "horizon"], values="estimate")
    arrivals = group["arrivals"].mean()
    n = len(wide)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=DRAWS)
    weights = np.vstack([np.ones(n), drawn]) / n
    values = wide.to_numpy()
    mean = weights @ values
    variance = np.maximum(0.0, weights @ values**2 - mean**2) * n / (n - 1)
    effect = gte + np.concatenate([[0.0], noise])[:, None]
    b2 = np.maximum(0.0, (mean - effect) ** 2 - variance[0] / n - gte_se**2)
    for k, (estimator, horizon) in enumerate(wide.columns):
        known = exact.get((design, estimator, np.nan_to_num(horizon)))
        if known is not None:
            b2[:, k] = known**2
            mean[:, k] = effect[:, 0] + known
    return {
        (design, estimator, horizon): Moments(
            mean[:, k], b2[:, k], variance[:, k] * arrivals, effect[:, 0]
        )
        for k, (estimator, horizon) in enumerate(wide.columns)
    }
