"""Backward dynamic programme over an event list, in the marginal values of idle servers.

Let ``V(i)`` be the best reward from the rest of the list with ``i`` servers idle, and
``E_j = V(j) - V(j - 1)``, ``j = 1..N``, the value of the j-th idle server. Going backward over the
list, with ``E_0`` infinite and old values on the right:

* ``H`` arrival: ``E'_1 = r_H`` and ``E'_j = E_{j-1}``, because ``E_j <= r_H`` always: a push.
* tick that ends a job iff at most ``c = N - mark`` servers are idle: ``E'_j = E_{j+1}`` for
  ``j <= c``, ``E'_{c+1} = 0``, the deeper ones stay: a pop, with a zero put in at depth ``c + 1``.
* ``L`` arrival: ``E'_j = max(E_j, r_L) + min(E_{j-1}, r_L) - r_L``.

An arrival that pays ``r`` is worth accepting with ``j`` idle iff ``E_j <= r``. All values are in
``[0, r_H]`` and most are copies, so rounding does not build up as it would in ``V``.

Let ``depth`` be a number with ``E_j <= r_L`` for every ``j > depth``. By induction it may grow by
one with an ``H`` arrival, falls by one with a tick of ``c >= depth``, and needs no change
otherwise; it is also how many servers idle are too few if all ``L`` jobs are refused, so it stays
small: ``mu > lam_H``. Below it an ``L`` arrival is a push too. A step thus costs ``O(1 + depth)``,
not ``O(N)``.

Only ``width`` levels are kept. A level is *exact* if it cannot depend on those cut off; `front`
counts the exact ones from the top. A pop loses one, a push gains one (an ``L`` arrival once
``front >= depth``); as ``lam_H + lam_L > mu`` the front drifts back to the full width.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK


def ring(width):
    """Return a zeroed ring buffer for `width` levels; its size is a power of two."""
    return np.zeros(1 << (width + 2).bit_length())


@njit
def step_back(values, top, depth, width, kind, cap, r_high, r_low):
    """Take one event backward; level ``j`` is ``values[(top - j) & (values.size - 1)]``.

    Parameters
    ----------
    values : ndarray of float64
        The ring of marginal values, overwritten.
    top, depth, width : int
        Position of the top, bound on the levels above ``r_L``, levels kept.
    kind, cap : int
        The event's kind, and for a tick the largest number idle at which it ends a job.
    r_high, r_low : float
        Rewards.

    Returns
    -------
    top, depth : int
    """
    mask = values.size - 1
    if kind == HIGH:
        values[top & mask] = r_high
        return top + 1, depth + 1
    if kind == TICK:
        if cap >= width:
            # The bottom level becomes unknown; zero is a value like any other within the bounds.
            values[(top - 1 - width) & mask] = 0.0
            return top - 1, max(depth - 1, 0)
        for j in range(1, cap + 1):
            values[(top - j) & mask] = values[(top - j - 1) & mask]
        values[(top - cap - 1) & mask] = 0.0
        return top, depth - 1 if 0 < depth <= cap else depth
    top += 1
    # After the push, level j + 1 holds the old E_j; `carried` is min(E_{j-1}, r_L).
    carried = r_low
    for j in range(1, depth + 1):
        old = values[(top - j - 1) & mask]
        values[(top - j) & mask] = old + (carried - r_low) if old > r_low else carried
        carried = min(old, r_low)
    values[(top - depth - 1) & mask] = carried
    return top, depth


@njit
def front_back(front, depth, width, servers, kind, cap):
    """Return the number of exact levels before an event, given that after it."""
    if kind == TICK:
        return front - 1 if cap >= front and front < servers else front
    if kind == HIGH or front >= depth:
        return min(front + 1, width)
    return front
