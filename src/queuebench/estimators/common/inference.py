"""Standard errors and confidence intervals from one experiment alone.

Two estimates of the long-run variance of the influence sequence: batch means with Student's quantiles, which
the intervals use, and Newey and West's kernel estimate over finer blocks with Andrews' automatic bandwidth,
no shorter than the horizon, beside it.
"""

import math

import numpy as np
from scipy.special import stdtrit

LEVELS = (0.90, 0.95)


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


def jackknife_error(left_out):
    """Return the delete-a-batch jackknife standard error from estimates that leave out a batch each."""
    batches = len(left_out)
    return float(np.sqrt((batches - 1) * np.var(left_out)))


def influence_parts(value, influences, units):
    """Return the batches' pseudo-values ``value + B S_b / n`` from influences summed over batches."""
    return value + influences * (len(influences) / units)


def jackknife_parts(value, left_out):
    """Return the batches' pseudo-values ``B value - (B - 1) value_(-b)``."""
    batches = len(left_out)
    return batches * value - (batches - 1) * np.asarray(left_out)


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
