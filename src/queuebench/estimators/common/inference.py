"""Estimates with their standard errors, and confidence intervals, from one experiment alone.

Two estimates of the long-run variance of the influence sequence: batch means with Student's quantiles, which
the intervals use, and Newey and West's kernel estimate over finer blocks with Andrews' automatic bandwidth,
no shorter than the horizon, beside it.
"""

import math

import numpy as np
from scipy.special import stdtrit

from queuebench.estimators.common.batch_means import ArmSums, difference, influence
from queuebench.estimators.common.registry import Estimate

LEVELS = (0.90, 0.95)


TOO_SHORT = "record too short for batch means"
"""Note of an estimate without a standard error."""


def difference_estimate(sums: ArmSums, units, lags, **others) -> Estimate:
    """Return the difference of two arms' means with its errors.

    Parameters
    ----------
    sums : ArmSums
        Over blocks.
    units : float
        Number n of units in all blocks.
    lags : int
        Fewest lags of the kernel estimate, in blocks.
    **others
        Further fields of the estimate.
    """
    kernel = newey_west_error(influence(sums), units, lags)
    return batch_means_estimate(
        difference(sums), influence(sums.batches()), units, kernel, **others
    )


def batch_means_estimate(value, influences, units, kernel, **others) -> Estimate:
    """Return an estimate with its batch-means error.

    Parameters
    ----------
    value : float
    influences : ndarray, shape (B,)
        Summed over batches.
    units : float
        Number n of units in all batches.
    kernel : float
        Its kernel standard error.
    **others
        Further fields of the estimate.
    """
    pseudo = value + influences * (len(influences) / units)
    error = batch_means_error(influences, units)
    return Estimate(value, error, len(influences) - 1, kernel, parts=pseudo, **others)


def jackknife_estimate(value, left_out, **others) -> Estimate:
    """Return an estimate with its delete-a-batch jackknife error.

    Pseudo-values are ``B value - (B - 1) value_(-b)``; the error is that of their mean.

    Parameters
    ----------
    value : float
    left_out : sequence of float, length B
        Estimates that leave out a batch each.
    **others
        Further fields of the estimate.
    """
    left_out = np.asarray(left_out)
    batches = len(left_out)
    error = float(np.sqrt((batches - 1) * np.var(left_out)))
    pseudo = batches * value - (batches - 1) * left_out
    return Estimate(value, error, batches - 1, parts=pseudo, **others)


def batch_means_error(influences, units):
    """Return ``sqrt(B / (B - 1) * sum_b (S_b - mean S)**2) / n`` from influences summed over batches.

    Parameters
    ----------
    influences : ndarray, shape (B,)
    units : float
        Number n of units in all batches.

    Returns
    -------
    float
        NaN for fewer than two batches.
    """
    batches = len(influences)
    if batches < 2:
        return math.nan
    return float(np.sqrt(batches * np.var(influences, ddof=1)) / units)


def totals_left_out(parts):
    """Yield, for every batch, the sums over all others of arrays with a leading axis of batches."""
    totals = [part.sum(axis=0) for part in parts]
    for batch in zip(*parts, strict=True):
        yield [total - one for total, one in zip(totals, batch, strict=True)]


def newey_west_error(influences, units, fewest_lags):
    """Return the kernel standard error from influences summed over blocks.

    Bartlett weights (Newey and West 1987); the number of lags is Andrews' (1991) for an
    autoregression of order one, and at least `fewest_lags`.

    Parameters
    ----------
    influences : ndarray, shape (blocks,)
    units : float
        Number n of units in all blocks.
    fewest_lags : int
        The horizon in blocks, rounded up.

    Returns
    -------
    float
        NaN if there are not more blocks than lags.
    """
    blocks = len(influences)
    centred = influences - influences.mean()
    lags = max(fewest_lags, andrews_lags(centred))
    if blocks <= lags + 1:
        return math.nan
    total = centred @ centred
    for lag in range(1, lags + 1):
        total += 2 * (1 - lag / (lags + 1)) * (centred[lag:] @ centred[:-lag])
    return math.sqrt(max(0.0, total)) / units


def andrews_lags(series):
    """Return Andrews' plug-in number of lags for Bartlett weights, from the lag-one correlation.

    ``1.1447 * (a * n)**(1/3)`` with ``a = 4 r^2 / ((1 - r)^2 (1 + r)^2)`` (Andrews 1991, equations 6.2
    and 6.4), rounded down.
    """
    variance = series @ series
    if variance == 0.0:
        return 0
    r = min(0.97, max(-0.97, float(series[1:] @ series[:-1] / variance)))
    a = 4 * r**2 / ((1 - r) ** 2 * (1 + r) ** 2)
    return int(1.1447 * (a * len(series)) ** (1 / 3))


def intervals(value, error, freedom):
    """Return the confidence intervals of an estimate.

    Parameters
    ----------
    value, error : float
    freedom : int
        Degrees of freedom of the standard error: batches minus one.

    Returns
    -------
    dict of str to float
        ``lower_90``, ``upper_90``, ``lower_95``, ``upper_95``; NaN without a standard error.
    """
    found = {}
    for level in LEVELS:
        reach = error * stdtrit(freedom, (1 + level) / 2) if error == error else math.nan
        name = round(100 * level)
        found[f"lower_{name}"] = value - reach
        found[f"upper_{name}"] = value + reach
    return found
