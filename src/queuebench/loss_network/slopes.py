"""Growth with the number of servers: slopes against ``log N``."""

import math

import numpy as np

from queuebench.loss_network.regret import Ratio


def log_slope(servers, values, errors=None):
    """Fit ``value = a + slope*log N`` by least squares.

    Parameters
    ----------
    servers : array_like of int, shape (n,)
        At least two different numbers, three if there are no errors.
    values : array_like of float, shape (n,)
    errors : array_like of float, shape (n,), optional
        Independent standard errors of the values, all positive: they weight the fit and give the
        slope's standard error. Without them (exact values) the fit is unweighted and the standard
        error measures how far the values are from a straight line.

    Returns
    -------
    Ratio
        The slope, per unit of the natural logarithm, and its standard error.

    Raises
    ------
    ValueError
        If there are too few different numbers of servers or an error is not positive.
    """
    x = np.log(np.asarray(servers, float))
    y = np.asarray(values, float)
    needed = 3 if errors is None else 2
    if len(np.unique(x)) < needed:
        raise ValueError(
            f"a slope needs {needed} different numbers of servers, got {list(servers)}"
        )
    spread = np.ones_like(y) if errors is None else np.asarray(errors, float)
    if not np.all(spread > 0):
        raise ValueError(f"standard errors > 0 must hold, got {list(errors)}")
    weight = spread**-2.0
    centred = x - np.sum(weight * x) / np.sum(weight)
    curvature = np.sum(weight * centred**2)
    slope = np.sum(weight * centred * y) / curvature
    variance = 1 / curvature
    if errors is None:
        residuals = y - np.mean(y) - slope * centred
        variance *= np.sum(residuals**2) / (len(y) - 2)
    return Ratio(float(slope), math.sqrt(variance))
