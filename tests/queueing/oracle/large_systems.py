"""Power of d with infinitely many servers, in closed form: what the oracle must tend to."""

import numpy as np

from queuebench.queueing.oracle import mm1_response


def large_system_tail(load, d, longest):
    """Return the share of servers with at least ``j`` jobs as the number of servers grows.

    The fixed point of the supermarket model: ``load ** ((d**j - 1) / (d - 1))`` (Vvedenskaya,
    Dobrushin and Karpelevich 1996; Mitzenmacher 1996).

    Parameters
    ----------
    load : float
        ``0 <= load < 1``.
    d : int
        Sampled servers, at least 1.
    longest : int
        Largest ``j``.

    Returns
    -------
    ndarray of float64, shape (longest + 1,)
        For ``j = 0, 1, ..., longest``.

    Raises
    ------
    ValueError
        If the load is not in [0, 1) or ``d`` is below 1.
    """
    _check_load(load)
    if d < 1:
        raise ValueError(f"d is {d}; it must be at least 1")
    exponent = np.concatenate(([0.0], np.cumsum(float(d) ** np.arange(longest))))
    return load**exponent


def large_system_response(load, d):
    """Return the mean response time under power-of-d as the number of servers grows.

    Little's law on `large_system_tail`: the mean number of jobs per server over the load.

    Parameters
    ----------
    load : float
        ``0 < load < 1``.
    d : int
        Sampled servers, at least 1.

    Returns
    -------
    float
        In mean service times.

    Raises
    ------
    ValueError
        If the load is not in [0, 1) or ``d`` is below 1.
    """
    if d == 1:
        return mm1_response(load)
    _check_load(load)
    total, power, exponent = 0.0, 1.0, 0.0
    while (share := load**exponent) > 0:  # at the exponents (d**j - d) / (d - 1): tail over load
        total += share
        power *= d
        exponent += power
    return total


def _check_load(load):
    if not 0 <= load < 1:
        raise ValueError(f"load is {load}; the system is stable for loads from 0 up to below 1")
