"""The rows that tables are made of, and what replicates say of an estimator in one."""

import numpy as np

CELL = ["scenario", "load"]
ROW = [*CELL, "design", "estimator", "horizon"]


def summarise(values, gte, gte_se):
    """Return mean, bias, standard deviation and MSE of replicates with their standard errors.

    Parameters
    ----------
    values : ndarray, shape (R,)
        Independent estimates.
    gte, gte_se : float
        The truth and its standard error, which is independent of the estimates.

    Returns
    -------
    dict
        Standard errors: of the mean ``sd / sqrt(R)``; of the standard deviation and of the MSE by
        the delta method from the fourth and second moments; NaN for a single replicate. The truth's
        error is in those of bias, MSE and relative RMSE, and taken off the MSE itself.
    """
    n = len(values)
    several = n > 1
    mean = values.mean()
    sd = values.std(ddof=1) if several else np.nan
    bias = mean - gte
    mse = mean_squared_error(values, gte, gte_se)
    mse_spread = ((values - gte) ** 2).std(ddof=1) / np.sqrt(n) if several else np.nan
    rmse = np.sqrt(mse)
    # The truth's error moves the MSE by way of the bias; at no bias its square still varies.
    bias_squared = max(bias**2 - gte_se**2, gte_se**2 / 2)
    return {
        "gte": gte,
        "gte_se": gte_se,
        "mean": mean,
        "mean_se": sd / np.sqrt(n),
        "bias": bias,
        "bias_se": np.hypot(sd / np.sqrt(n), gte_se),
        "sd": sd,
        "sd_se": sd_error(values),
        "mse": mse,
        "mse_se": np.hypot(mse_spread, 2 * np.sqrt(bias_squared) * gte_se),
        "relative_rmse": rmse / abs(gte) if gte else np.nan,
        "relative_rmse_se": _relative_rmse_error(rmse, mse_spread, bias, gte, gte_se),
    }


def mean_squared_error(values, gte, gte_se):
    """Return the mean squared error of replicates against a truth that is itself uncertain.

    The mean of ``(value - gte)^2`` is on average ``gte_se^2`` too large; that is taken off, but no more
    than the squared bias that was seen.
    """
    bias = values.mean() - gte
    return np.maximum(0.0, np.mean((values - gte) ** 2) - np.minimum(bias**2, gte_se**2))


def sd_error(values):
    """Return the standard error of the standard deviation of replicates; NaN where there is none."""
    n = len(values)
    sd = values.std(ddof=1) if n > 1 else np.nan
    if not sd > 0:
        return np.nan
    fourth = np.mean((values - values.mean()) ** 4)
    return np.sqrt(max(0.0, fourth - sd**4) / n) / (2 * sd)


def _relative_rmse_error(rmse, mse_spread, bias, gte, gte_se):
    """Return the standard error of ``rmse / |gte|`` by the delta method: both depend on the truth."""
    if not gte or not rmse > 0:
        return np.nan
    of_logarithm = np.hypot(mse_spread / (2 * rmse**2), (bias / rmse**2 + 1 / gte) * gte_se)
    return rmse / abs(gte) * of_logarithm
