"""Treated shares of an experiment of several, and the weights that add slopes up to the effect.

The effect is the integral of the slope T'(p) over the shares p from 0 to 1. Weights w_k at shares p_k with
``sum_k w_k f(p_k) = int_0^1 f`` for every polynomial f of degree K - 1 exist for any K shares; at the points
of Gauss and Legendre they are exact up to degree 2 K - 1, that is for a T of degree 2 K. Sources: Golub and
Welsch, Calculation of Gauss quadrature rules (1969); Davis and Rabinowitz, Methods of numerical integration
(1984), chapter 2.
"""

import numpy as np
from numpy.polynomial import legendre

MOST_SHARES = 20


def gauss_shares(number: int) -> np.ndarray:
    """Return as many shares, increasing, at the points of Gauss-Legendre quadrature on [0, 1]."""
    return (legendre.leggauss(number)[0] + 1.0) / 2.0


def quadrature_weights(shares) -> np.ndarray:
    """Return the weights of the slopes at some shares.

    Parameters
    ----------
    shares : sequence of float
        Different ones from 0 to 1, at least one of them in between.

    Returns
    -------
    ndarray of float64, shape (K,)
        Exact for polynomials as high as they allow, which sum to one; 0 at the shares 0 and 1, where only
        one arm is run and there is no slope.
    """
    shares = np.asarray(shares, float)
    inside = (shares > 0.0) & (shares < 1.0)
    basis = legendre.legvander(2.0 * shares[inside] - 1.0, np.count_nonzero(inside) - 1)
    weights = np.zeros(len(shares))
    # The mean over [0, 1] of every Legendre polynomial but the first is zero.
    weights[inside] = np.linalg.solve(basis.T, np.eye(len(basis))[0])
    return weights


def fault_of(shares, weights=None) -> str:
    """Return what is wrong with shares and weights in increasing order of the shares, or nothing.

    Parameters
    ----------
    shares : sequence of float
    weights : sequence of float, optional
    """
    if not 2 <= len(shares) <= MOST_SHARES or len(set(shares)) < len(shares):
        return f"shares must be 2 to {MOST_SHARES} different numbers"
    if not any(0.0 < share < 1.0 for share in shares):
        return (
            "one of the shares must be between 0 and 1; for blocks of one arm alone use the design "
            "switchback"
        )
    if weights is None:
        return ""
    if len(weights) != len(shares):
        return f"weights must be one for each of the {len(shares)} shares, in increasing order of these"
    if abs(sum(weights) - 1.0) > 1e-6:
        return f"weights must sum to 1, not to {sum(weights):.6g}"
    if any(weight and share in (0.0, 1.0) for share, weight in zip(shares, weights, strict=True)):
        return (
            "weights must be 0 at the shares 0 and 1: where one arm alone is run there is no slope"
        )
    return ""
