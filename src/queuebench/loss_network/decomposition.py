"""Decomposition of regret into variability, long-term and short-term uncertainty, as brackets.

``C_vol = R_fluid - R_off``, ``C_long = R_off - R_W`` and ``C_short = R_W - R_on``, where ``R_W`` is
the best reward rate with a lookahead window ``W``. It is not computable, so it is bracketed. From
below: the best policy at any window up to ``W`` (a policy may ignore what it sees) or without any.
From above: the offline optimum, or the relaxation's bound at any window from ``W`` on. The best of
noisy means looks better than it is, so for each replicate the policy, and the bound, is chosen on
the *other* replicates.
"""

import math

from queuebench.loss_network.fluid import fluid_reward
from queuebench.loss_network.online import online_optimum
from queuebench.loss_network.policies import policies
from queuebench.loss_network.regret import ratio_estimate


def decompose(network, rows, multipliers, bounds=()):
    """Bracket the parts of regret at every window multiplier.

    Parameters
    ----------
    network : LossNetwork
    rows : iterable of dict
        Regret rows of this network, at least two replicates; others are left aside.
    multipliers : iterable of float
        The grid of window multipliers.
    bounds : iterable of dict, optional
        Rows of upper bounds on a window's worth, as `run_path` returns them.

    Returns
    -------
    list of dict
        Keys `servers`, `window_multiplier`. Reward rates `fluid`, `offline`, `lookahead_lower`,
        `lookahead_upper`, `online`; regret rates `c_vol`, `c_vol_bound` (the regret of PFI, an
        upper bound on ``C_vol``), `c_long_low`, `c_long_high`, `c_short_low`, `c_short_high`; each
        with its standard error (`*_se`) across replicates, differences taken path by path. `chosen`
        is the policy with the least regret over all replicates, and its multiplier
        `chosen_multiplier`. What needs an offline optimum (or PFI) that is not there is None.

    Raises
    ------
    ValueError
        If there are fewer than two replicates.
    """
    rows = [row for row in rows if row["servers"] == network.servers]
    durations = {row["replicate"]: row["duration"] for row in rows}
    if len(durations) < 2:
        raise ValueError(
            f"replicates >= 2 must hold to choose a policy on other replicates, got "
            f"{len(durations)} at {network.servers} servers"
        )
    online = online_optimum(network).regret
    regrets = {}
    for row in rows:
        key = (row["policy"], row["window_multiplier"])
        regrets.setdefault(key, {})[row["replicate"]] = row["regret"] * row["duration"]
    relaxed = {}
    for row in bounds:
        if row["servers"] == network.servers:
            total = (online - row["gain_bound"]) * row["duration"]
            relaxed.setdefault(row["window_multiplier"], {})[row["replicate"]] = total
    regrets, relaxed = (
        {key: totals for key, totals in group.items() if totals.keys() == durations.keys()}
        for group in (regrets, relaxed)
    )
    return [_decompose_at(network, regrets, relaxed, durations, c) for c in multipliers]


def _decompose_at(network, regrets, relaxed, durations, multiplier):
    online = online_optimum(network).regret
    # The online optimum stands for all policies without lookahead, with its exact regret.
    candidates = {("online", None): {r: online * span for r, span in durations.items()}}
    known = policies()
    for (name, c), totals in regrets.items():
        if known[name].lookahead == "window" and c <= multiplier:
            candidates[name, c] = totals
    ceilings = {c: totals for c, totals in relaxed.items() if c >= multiplier}
    if ("offline", None) in regrets:
        ceilings[None] = regrets["offline", None]
    best = _cross_fit(candidates, durations, min)
    ceiling = _cross_fit(ceilings, durations, max) if ceilings else None
    chosen = _choose(candidates, durations, min)

    def estimate(*terms):
        """Return the rate of a signed sum of totals, and its standard error."""
        totals = [sum(sign * values[r] for sign, values in terms) for r in durations]
        return ratio_estimate(totals, [durations[r] for r in durations])

    fluid = fluid_reward(network)
    exact = candidates["online", None]
    offline = regrets.get(("offline", None))
    promise = regrets.get(("pfi", None))
    none = (None, None)
    volume = estimate((1, offline)) if offline else none
    lower = estimate((1, best))
    upper = estimate((1, ceiling)) if ceiling else none
    parts = {
        "fluid": (fluid, 0.0),
        "offline": (fluid - volume[0], volume[1]) if offline else none,
        "lookahead_lower": (fluid - lower[0], lower[1]),
        "lookahead_upper": (fluid - upper[0], upper[1]) if ceiling else none,
        "online": (fluid - online, 0.0),
        "c_vol": volume,
        "c_vol_bound": estimate((1, promise)) if promise else none,
        "c_long_low": estimate((1, ceiling), (-1, offline)) if offline else (0.0, 0.0),
        "c_long_high": estimate((1, best), (-1, offline)) if offline else none,
        "c_short_low": estimate((1, exact), (-1, best)),
        "c_short_high": estimate((1, exact), (-1, ceiling)) if ceiling else none,
    }
    row = {"servers": network.servers, "window_multiplier": multiplier}
    for name, (value, error) in parts.items():
        row |= {name: value, f"{name}_se": error}
    return row | {"chosen": chosen[0], "chosen_multiplier": chosen[1]}


def _cross_fit(candidates, durations, extreme):
    """Return each replicate's total of the candidate that is extreme on the other replicates."""
    return {r: candidates[_choose(candidates, durations, extreme, r)][r] for r in durations}


def _choose(candidates, durations, extreme, without=None):
    """Return the key of the candidate with the extreme total regret, leaving out one replicate."""
    return extreme(
        candidates,
        key=lambda key: math.fsum(candidates[key][r] for r in durations if r != without),
    )
