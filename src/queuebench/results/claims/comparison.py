"""Two estimators compared by their replicates, with the error of the comparison itself.

Estimators of one design are applied to the same records and all are held against the same truth. What they
share must not count twice, nor count at all where it cancels: the error of a difference is taken over the
replicates' differences, and the truth's error by how much the difference depends on the truth.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from queuebench.results.tables.rows import CELL, ROW, mean_squared_error


@dataclass(frozen=True)
class Sample:
    """What one estimator said in one cell, at one horizon.

    Attributes
    ----------
    place : dict
        Scenario and load.
    design, estimator, role : str
    horizon : float
        NaN for estimators without one.
    main : bool
        Whether it is the horizon at which estimators are compared.
    estimates : pandas.Series
        By replicate.
    gte, gte_se : float
        The truth and its standard error.
    """

    place: dict
    design: str
    estimator: str
    role: str
    horizon: float
    main: bool
    estimates: pd.Series
    gte: float
    gte_se: float


class Statistic(NamedTuple):
    """A statistic of a sample, linearised.

    Attributes
    ----------
    value : float
    influence : pandas.Series
        By replicate: how much the statistic's error is due to it, times the number of replicates.
    slope : float
        Derivative with respect to the truth.
    """

    value: float
    influence: pd.Series
    slope: float


def samples(estimates, truth, roles) -> list[Sample]:
    """Return a `Sample` per cell, design, estimator and horizon.

    Parameters
    ----------
    estimates, truth : pandas.DataFrame
        Rows of `results/estimates.parquet` and `results/truth.parquet`.
    roles : dict of str to str
        Estimator by role.
    """
    effects = truth.set_index(CELL)[["gte", "gte_se"]]
    played = {name: role for role, name in roles.items()}
    found = []
    for key, group in estimates.groupby(ROW, sort=False, dropna=False):
        effect = effects.loc[key[:2]]
        found.append(
            Sample(
                dict(zip(CELL, key[:2], strict=True)), *key[2:4], played.get(key[3], ""), key[4],
                bool(group["main"].iloc[0]),
                group.set_index("replicate")["estimate"], effect["gte"], effect["gte_se"],
            )
        )  # fmt: skip
    return found


def relative_mean(sample):
    """Return the mean over the effect."""
    mean = sample.estimates.mean()
    return Statistic(
        mean / sample.gte, (sample.estimates - mean) / sample.gte, -mean / sample.gte**2
    )


def size_of_bias(sample):
    """Return the absolute value of the bias."""
    bias = sample.estimates.mean() - sample.gte
    sign = math.copysign(1.0, bias)
    return Statistic(abs(bias), sign * (sample.estimates - sample.estimates.mean()), -sign)


def log_sd(sample):
    """Return the logarithm of the standard deviation; NaN where there is none."""
    deviation = sample.estimates - sample.estimates.mean()
    sd = sample.estimates.std()
    if not sd > 0:
        return _undefined(sample)
    return Statistic(math.log(sd), (deviation**2 / sd**2 - 1) / 2, 0.0)


def log_mse(sample):
    """Return the logarithm of the mean squared error; NaN where it is zero."""
    mse = mean_squared_error(sample.estimates.to_numpy(), sample.gte, sample.gte_se)
    if not mse > 0:
        return _undefined(sample)
    squared_error = (sample.estimates - sample.gte) ** 2
    bias = sample.estimates.mean() - sample.gte
    return Statistic(math.log(mse), (squared_error - squared_error.mean()) / mse, -2 * bias / mse)


def with_error(statistic, sample):
    """Return a statistic of one sample and its standard error (NaN for a single replicate)."""
    value, influence, slope = statistic(sample)
    return value, math.hypot(_error(influence), slope * sample.gte_se)


def difference(statistic, above, below):
    """Return a statistic of one sample minus that of another of the cell, with its standard error.

    Parameters
    ----------
    statistic : Callable
        From a sample to a `Statistic`.
    above, below : Sample

    Returns
    -------
    value, error : float
        The error is NaN for fewer than two replicates.
    """
    one, other = statistic(above), statistic(below)
    if above.design == below.design:
        spread = _error((one.influence - other.influence).dropna())
    else:
        spread = math.hypot(_error(one.influence), _error(other.influence))
    return one.value - other.value, math.hypot(spread, (one.slope - other.slope) * above.gte_se)


def _error(influence):
    return influence.std(ddof=1) / math.sqrt(len(influence)) if len(influence) > 1 else math.nan


def _undefined(sample):
    return Statistic(math.nan, sample.estimates * math.nan, math.nan)
