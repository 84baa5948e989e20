"""Off-policy LSTD: each arm's own average cost, learned from the one experiment that mixes both.

For the policy of arm a let ``eta_a`` be the long-run mean of ``c = in_system / Lambda_hat`` and ``V_a`` its
relative value of the state after an arrival has joined, ``V_a(x_i) = E_a[c_{i+1} - eta_a + V_a(x_{i+1})]``.
From ``x_i`` to the next arrival no policy decides anything, so only the decision at i + 1 has to be made
the arm's own. With ``V_a = theta_a' phi``, instruments ``z_i = (1, phi_i)`` and weights ``w``,

    sum_i w_{i+1} z_i (eta_a + theta_a' (phi_i - phi_{i+1}) - c_{i+1}) = 0

is solved for ``eta_a`` and ``theta_a``; the estimate is ``eta_1 - eta_0``. Two ways to make the decision
the arm's:

* `lstd_off_policy`: importance weights ``w_i = 1[A_i = a] / P(A_i = a)``, of which the constant cancels;
* `lstd_off_policy_coupled`: weights 1, and ``phi_{i+1}`` the features after the choice that arm a would
  have made, which the trace holds.

Sources: Bradtke and Barto (1996) for LSTD; Bertsekas and Yu, Projected equation methods for approximate
solution of large linear systems (2009), and Farias, Li, Peng and Zheng (arXiv 2206.02371), for the off-policy
form with a ratio per decision; that both choices replace the ratio is this project's. The transitions are
weighted by how often the mixed system, not the arm's own, is in a state.

Assumptions: those of `queuebench.estimators.lstd`, for both arms' value functions. Unlike Differences in Q
nothing is left out at second order in the policies' difference: what is estimated is the global treatment
effect, as far as the features reach.

Standard error: delete-a-batch jackknife of the whole solution.
"""

import numpy as np

from queuebench.estimators.common.batch_means import batch_count
from queuebench.estimators.common.inference import TOO_SHORT, jackknife_estimate
from queuebench.estimators.common.registry import (
    RANDOMISED,
    Estimate,
    EstimationError,
    register,
    require_both_arms,
)
from queuebench.estimators.lstd import (
    LENGTHS_ARE_THE_STATE,
    RARE,
    Features,
    least_squares,
    transitions,
)


@register(
    "lstd_off_policy",
    design="bernoulli",
    needs_choices=True,
    needs_constant_rate=True,
    nanoseconds=450.0,
    estimand="effect",
    assumes=[*RANDOMISED, *LENGTHS_ARE_THE_STATE],
)
def lstd_off_policy(record, horizon=None):
    """Difference of the arms' average costs, by importance weights; it reads only the choices made."""
    return _estimate(record, _weighted)


@register(
    "lstd_off_policy_coupled",
    design="bernoulli",
    needs_choices=True,
    needs_constant_rate=True,
    nanoseconds=450.0,
    estimand="effect",
    assumes=LENGTHS_ARE_THE_STATE,
)
def lstd_off_policy_coupled(record, horizon=None):
    """Difference of the arms' average costs, by the choices that each arm would have made."""
    return _estimate(record, _as_chosen)


def _estimate(record, equations):
    """Estimate from the equations of every batch, with the jackknife's standard error."""
    if record.arrivals < 2:
        raise EstimationError("LSTD needs at least two arrivals")
    correlated = record.setting.horizon_arrivals(record.setting.batch_horizon)
    batches = batch_count(record.arrivals, correlated)
    features = Features(record)
    size = features.number
    parts = np.zeros((max(1, batches), 2, size + 1, size + 2))
    for number, moves in transitions(features, len(parts)):
        for arm in (0, 1):
            parts[number, arm] += equations(moves, arm)
    whole = parts.sum(axis=0)
    require_both_arms(*whole[:, 0, -2])
    value = solve(whole)
    if not batches:
        return Estimate(value, note=TOO_SHORT)
    return jackknife_estimate(value, [solve(whole - part) for part in parts])


def _weighted(moves, arm):
    """Return the sums over the transitions to arrivals of an arm."""
    own = moves.treated == bool(arm)
    return _equations(moves.instruments[own], moves.joined[own], moves.cost[own])


def _as_chosen(moves, arm):
    """Return the sums over all transitions, each to the state after the arm's choice."""
    return _equations(moves.instruments, moves.after[arm], moves.cost)


def _equations(instruments, following, cost):
    """Return the sum of ``z_i (phi_i - phi_{i+1}, 1, c_{i+1})'``, shape (F + 1, F + 2)."""
    right = np.column_stack([instruments[:, 1:] - following, np.ones(len(cost)), cost])
    return instruments.T @ right


def solve(sums) -> float:
    """Return ``eta_1 - eta_0``.

    Parameters
    ----------
    sums : ndarray, shape (2, F + 1, F + 2)
        By arm, those of ``z_i (phi_i - phi_{i+1}, 1, c_{i+1})'``.
    """
    # Subtracting the first row makes the column of ones zero: eta is eliminated.
    centred = [one[1:] - np.outer(one[1:, -2] / one[0, -2], one[0]) for one in sums]
    # Both arms use the same features, those that move enough under the mixture of the arms.
    moves = sum(np.diag(one) for one in centred)
    used = np.flatnonzero(moves > RARE * moves.max())
    effects = []
    for one, whole in zip(centred, sums, strict=True):
        theta = least_squares(one[np.ix_(used, used)], one[used, -1], moves[used])
        effects.append((whole[0, -1] - whole[0, used] @ theta) / whole[0, -2])
    return float(effects[1] - effects[0])
