"""Shares of treated arrivals, and the weights that add up slopes at them to the effect.

With T(p) the mean response at the share p, the effect ``T(1) - T(0)`` is the integral of the slope T' over
[0, 1]: a weighted sum of slopes at some shares. Source: Davis and Rabinowitz, Methods of Numerical
Integration (1984), chapter 2.
"""

import numpy as np


def gauss_shares(number):
    """Return the nodes of Gauss and Legendre on [0, 1].

    With their weights (`quadrature_weights`) the effect is exact where T is a polynomial of degree twice
    their number or less.

    Parameters
    ----------
    number : int
        Shares K, 1 or more.

    Returns
    -------
    ndarray of float64, shape (K,)
        Increasing, symmetric about one half.
    """
    return (1.0 + np.polynomial.legendre.leggauss(number)[0]) / 2.0


def quadrature_weights(shares):
    """Return the weights of the quadrature on [0, 1] that interpolates at some shares.

    They solve ``sum_k w_k P_j(2 p_k - 1) = 1 if j = 0 else 0`` for the Legendre polynomials of degree
    j < K, whose integrals these are, and so are exact for polynomials of degree K - 1; at `gauss_shares`
    they are Gauss's and exact up to degree 2 K - 1. At the shares 0 and 1, where one arm is empty and no
    slope is seen, the weight is 0, and K counts the other shares only.

    Parameters
    ----------
    shares : array_like of float, shape (m,)
        Different shares between 0 and 1, at least one strictly so.

    Returns
    -------
    ndarray of float64, shape (m,)
        They sum to 1. Some may be negative: they grow without bound where many shares are not close to
        Gauss's.

    Raises
    ------
    ValueError
        If no share is strictly between 0 and 1, or two are equal.
    """
    shares = np.asarray(shares, float)
    inner = (shares > 0.0) & (shares < 1.0)
    count = np.count_nonzero(inner)
    if not count:
        raise ValueError("no share is strictly between 0 and 1")
    if len(np.unique(shares)) < len(shares):
        raise ValueError("two shares are equal")
    polynomials = np.polynomial.legendre.legvander(2.0 * shares[inner] - 1.0, count - 1)
    weights = np.zeros(len(shares))
    weights[inner] = np.linalg.solve(polynomials.T, np.eye(count)[0])
    return weights
