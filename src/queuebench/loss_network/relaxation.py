"""An upper bound on what a lookahead window can be worth: a penalised information relaxation.

Let ``h`` be the relative values and ``g`` the reward rate of the online optimum, and let ``Phi(b)``
be the reward of following it from ``b`` busy through the events known within the window, plus ``h``
of the state at the window's end. When one more event is revealed there, ``Phi`` grows by ``g`` per
unit time on average, from every state: that is the Poisson equation of ``h``. When an event is
acted on, ``Phi`` of the state before equals the reward and ``Phi`` of the state after if the policy
acts like the online optimum. So any policy that sees the window earns in the long run

``g + mean rate of advantages``,

where the advantage of a deviation, taken over an ``L`` arrival, is known at that moment: with
``M_j`` the increment of ``Phi`` from ``j - 1`` to ``j`` servers idle it is ``r_L - M_j`` for
accepting where the online optimum refuses, and ``M_j - r_L`` for refusing where it accepts.
(Refusing an ``H`` job never helps, whatever is known: the server it would save is worth at most
``r_H``.)

The greatest sum of advantages over *all* sequences of decisions, chosen knowing the whole list and
from whichever state is best, bounds that of every policy. It is zero without a window and tends to
the worth of full foresight as the window grows; in between it may exceed that, so it serves for
small windows. Every number idle ``0..N`` is kept, so the bound holds without an assumption.
"""

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, LOW, TICK
from queuebench.loss_network.marginal import ring
from queuebench.loss_network.online import online_marginals, online_optimum


def lookahead_gain_bound(network, events, window, start, stop):
    """Bound what a lookahead window adds to the online optimum's reward, on a part of a list.

    Parameters
    ----------
    network : LossNetwork
    events : Events
        The list should go on for the window's length after the part ends.
    window : float
        Length of the window; an event at exactly ``t + window`` is inside.
    start, stop : int
        The decisions at the events ``start <= e < stop`` are bounded.

    Returns
    -------
    float
        At least 0. Its mean, divided by the duration, is at least ``R_W - R_on``.

    Raises
    ------
    ValueError
        If ``window <= 0``.
    """
    if not window > 0:
        raise ValueError(f"window > 0 must hold, got {window}")
    return _greatest_advantage(
        *events,
        start,
        stop,
        window,
        network.servers,
        online_optimum(network).threshold,
        network.high_reward,
        network.low_reward,
        online_marginals(network),
        ring(network.servers),
        np.zeros(network.servers + 1),
    )


@njit
def _greatest_advantage(
    time,
    kind,
    mark,
    start,
    stop,
    window,
    servers,
    threshold,
    r_high,
    r_low,
    marginals,
    values,
    best,
):
    """Maximise the sum of advantages backward; `best` is indexed by the number idle."""
    end = stop
    while end < kind.size and time[end] <= time[stop - 1] + window:
        end += 1
    mask = values.size - 1
    for e in range(stop - 1, start - 1, -1):
        if kind[e] == HIGH:
            for j in range(servers, 0, -1):
                best[j] = best[j - 1]
        elif kind[e] == TICK:
            for j in range(servers - mark[e] + 1):
                best[j] = best[j + 1]
        else:
            while end > e + 1 and time[end - 1] > time[e] + window:
                end -= 1
            top = _follow_online(
                kind, mark, e + 1, end, servers, threshold, r_high, r_low, marginals, values
            )
            for j in range(servers, 0, -1):
                accept = r_low - values[(top - j) & mask]
                if j <= threshold:
                    best[j] = max(best[j], accept + best[j - 1])
                else:
                    best[j] = max(best[j] - accept, best[j - 1])
    return best.max()


@njit
def _follow_online(kind, mark, start, stop, servers, threshold, r_high, r_low, marginals, values):
    """Fill the ring with the increments of ``Phi`` before the events ``start..stop - 1``.

    Following a fixed policy moves increments and puts in rewards: an ``H`` arrival pushes ``r_H``,
    an ``L`` arrival puts ``r_L`` in just beyond the threshold, a tick takes the top off and puts a
    zero in at the depth from which it is wasted. Returns the position of the top.
    """
    mask = values.size - 1
    for j in range(1, servers + 1):
        values[-j & mask] = marginals[j - 1]
    top = 0
    for e in range(stop - 1, start - 1, -1):
        if kind[e] == HIGH:
            values[top & mask] = r_high
            top += 1
        elif kind[e] == LOW:
            top += 1
            for j in range(1, threshold + 1):
                values[(top - j) & mask] = values[(top - j - 1) & mask]
            values[(top - threshold - 1) & mask] = r_low
        else:
            cap = servers - mark[e]
            # Either the levels above the zero move up, or those below it move down: the fewer.
            if cap <= servers // 2:
                for j in range(1, cap + 1):
                    values[(top - j) & mask] = values[(top - j - 1) & mask]
            else:
                top -= 1
                for j in range(servers, cap + 1, -1):
                    values[(top - j) & mask] = values[(top - j + 1) & mask]
            values[(top - cap - 1) & mask] = 0.0
    return top
