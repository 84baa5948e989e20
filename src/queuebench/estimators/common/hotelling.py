"""Hotelling's test that a vector of means is zero."""

import numpy as np
from scipy.special import fdtrc


def hotelling(values):
    """Return the p-value of Hotelling's test that independent vectors have mean zero.

    ``T2 = B m' S^-1 m`` with ``(B - k) / (k (B - 1)) T2 ~ F(k, B - k)`` for B normal vectors of length k.
    Components without any spread are left out if they are zero throughout.

    Parameters
    ----------
    values : ndarray, shape (B, k)

    Returns
    -------
    float
        1 if all components are zero throughout, NaN where there are not more vectors than components.
    """
    values = values[:, np.any(values != 0.0, axis=0)]
    batches, parts = values.shape
    if parts == 0:
        return 1.0
    if batches <= parts:
        return np.nan
    scaled = values / np.abs(values).max(axis=0)
    mean = scaled.mean(axis=0)
    covariance = np.atleast_2d(np.cov(scaled, rowvar=False))
    squared = batches * float(mean @ np.linalg.pinv(covariance, hermitian=True) @ mean)
    return float(
        fdtrc(parts, batches - parts, (batches - parts) / (parts * (batches - 1)) * squared)
    )
