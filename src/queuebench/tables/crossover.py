"""From which length of experiment one estimator beats another on mean squared error.

The variance of an estimate falls like 1/n and its bias stays, so with n0 arrivals measured the MSE of n
arrivals is modelled as ``b2 + sd^2 * n0 / n`` with ``b2 = max(0, bias^2 - bias_se^2)``, or the exact bias
squared where the oracle knows it.
"""

import numpy as np
import pandas as pd

from queuebench.randomness import stream
from queuebench.tables.mse import CELL

COLUMNS = [
    *CELL, "design", "estimator", "horizon", "rival_design", "rival", "rival_horizon", "crossover",
    "lower", "upper", "verdict",
]  # fmt: skip
_DRAWS = 1000
_LEVEL = 0.95


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
    gte = truth.set_index(CELL)
    rows = []
    for key, cell in estimates.groupby(CELL, sort=False):
        effect = gte.loc[key]
        exact = _exact_bias(decomposition, key)
        rows += _cell_rows(key, cell, effect["gte"], effect["gte_se"], seed, exact)
    return pd.DataFrame(rows, columns=COLUMNS)


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


def _cell_rows(key, cell, gte, gte_se, seed, exact):
    moments = {}
    for design, group in cell.groupby("design", sort=False):
        rng = stream(seed, f"{key[0]}-load{key[1]!r}", str(design), "crossover")
        noise = stream(seed, f"{key[0]}-load{key[1]!r}", "crossover truth").normal(
            0.0, gte_se, _DRAWS
        )
        moments |= _design_moments(design, group, gte, gte_se, rng, noise, exact)
    rows = []
    for (design, estimator, horizon), own in moments.items():
        for (rival_design, rival, rival_horizon), other in moments.items():
            same = (design, estimator) == (rival_design, rival)
            comparable = horizon == rival_horizon or np.isnan([horizon, rival_horizon]).any()
            if same or not comparable:
                continue
            crossings = crossing(*own, *other)
            lower, upper = np.quantile(
                crossings[1:], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2], method="closest_observation"
            )
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


def _design_moments(design, group, gte, gte_se, rng, noise, exact):
    """Return ``b2`` and ``sd^2 * n0`` of each estimator, observed first and then bootstrapped.

    Replicates are drawn together for all estimators of a design, because they share traces.
    """
    wide = group.pivot(index="replicate", columns=["estimator", "horizon"], values="estimate")
    arrivals = group["arrivals"].mean()
    n = len(wide)
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=_DRAWS)
    weights = np.vstack([np.ones(n), drawn]) / n
    values = wide.to_numpy()
    mean = weights @ values
    variance = np.maximum(0.0, weights @ values**2 - mean**2) * n / max(1, n - 1)
    effect = gte + np.concatenate([[0.0], noise])[:, None]
    b2 = np.maximum(0.0, (mean - effect) ** 2 - variance[0] / n - gte_se**2)
    for k, (estimator, horizon) in enumerate(wide.columns):
        known = exact.get((design, estimator, np.nan_to_num(horizon)))
        if known is not None:
            b2[:, k] = known**2
    return {
        (design, estimator, horizon): (b2[:, k], variance[:, k] * arrivals)
        for k, (estimator, horizon) in enumerate(wide.columns)
    }


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
