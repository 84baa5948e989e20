"""Whether arms were assigned independently, with the same probability, as the Bernoulli design asks."""

import math

import numpy as np

from queuebench.jit import kernel
from queuebench.logs.findings import WARNING, Finding

PARTS = 20
"""Equal parts of the record between which the share of treated arrivals is compared."""

LAGS = 20
"""Arrivals over which assignments are correlated with earlier ones."""

ALARM = 1e-4
"""Probability, under independent assignment, below which a test is reported."""


def check_assignment(replicate, treated_share):
    """Return what speaks against independent assignment.

    Parameters
    ----------
    replicate : queuebench.logs.replicate.LogReplicate
    treated_share : float or None
        The intended share, if it is known.

    Returns
    -------
    list of Finding
    """
    by_part = np.zeros((PARTS, 2))
    _count_parts(replicate, by_part)
    share = by_part[:, 1].sum() / by_part.sum()
    return [
        *_mismatch(by_part, share, treated_share),
        *_drift(by_part, share),
        *_dependence(replicate, share),
    ]


def check_users(users, treated):
    """Compare how arms vary between users with what independent arrivals would give.

    Parameters
    ----------
    users : ndarray of int32, shape (m,)
        Users of some arrivals, as numbers; -1 where unknown.
    treated : ndarray of bool, shape (m,)

    Returns
    -------
    list of Finding
    """
    users, treated = users[users >= 0], treated[users >= 0]
    arrivals = np.bincount(users)
    of_treatment = np.bincount(users, treated)
    several = arrivals > 1
    if not several.any():
        return []
    share = treated.mean()
    arrivals, of_treatment = arrivals[several], of_treatment[several]
    same = int(((of_treatment == 0) | (of_treatment == arrivals)).sum())
    expected = float((share**arrivals + (1 - share) ** arrivals).sum())
    spread = math.sqrt(max(expected * (1 - expected / len(arrivals)), 1.0))
    if normal_tail((same - expected) / spread) >= ALARM:
        return []
    text = (
        f"{same:,} of {len(arrivals):,} users with several arrivals always had the same arm, where "
        f"independent assignment would give {expected:,.0f}: arms were assigned by user; the "
        "estimators and their standard errors assume independent arrivals"
    )
    return [Finding(WARNING, "assigned_by_user", same, text)]


def chi_squared_tail(value, freedom):
    """Return the probability that a chi-squared variable exceeds a value (Wilson and Hilferty 1931)."""
    spread = 2 / (9 * freedom)
    return normal_tail(((value / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread))


def normal_tail(value):
    """Return the probability that a standard normal variable exceeds a value."""
    return 0.5 * math.erfc(value / math.sqrt(2))


def autocorrelations(replicate, share, lags=LAGS):
    """Return the autocorrelations of the assignments, at lags 1 and up.

    Parameters
    ----------
    replicate : queuebench.logs.replicate.LogReplicate
    share : float
        Share of treated arrivals.
    lags : int

    Returns
    -------
    ndarray of float64, shape (lags,)
    """
    products = np.zeros(lags)
    before = np.zeros(0)
    for (treated,) in replicate.chunks("treated"):
        joined = np.concatenate([before, treated - share])
        _add_products(joined, len(before), products)
        before = joined[-lags:]
    return products / (replicate.arrivals * share * (1 - share))


def _count_parts(replicate, by_part):
    n = replicate.arrivals
    before = 0
    for (treated,) in replicate.chunks("treated"):
        part = (np.arange(before, before + len(treated)) * PARTS) // n
        counted = np.bincount(2 * part + treated, minlength=2 * PARTS)
        by_part += counted.reshape(PARTS, 2)
        before += len(treated)


def _mismatch(by_part, share, wanted):
    if wanted is None:
        return []
    n = by_part.sum()
    z = (share - wanted) / math.sqrt(wanted * (1 - wanted) / n)
    if 2 * normal_tail(abs(z)) >= ALARM:
        return []
    text = (
        f"the share of treated arrivals is {share:.4f} where {wanted:g} was intended (z = {z:.1f}); "
        "rows of one arm may be missing"
    )
    return [Finding(WARNING, "share_mismatch", int(n), text)]


def _drift(by_part, share):
    size = by_part.sum(axis=1)
    if size.min() * min(share, 1 - share) < 5:
        return []
    value = float((((by_part[:, 1] - size * share) ** 2) / (size * share * (1 - share))).sum())
    tail = chi_squared_tail(value, PARTS - 1)
    if tail >= ALARM:
        return []
    shares = by_part[:, 1] / size
    text = (
        f"the share of treated arrivals drifts, from {shares.min():.3f} to {shares.max():.3f} between "
        f"twentieths of the record (chi-squared {value:.0f} on {PARTS - 1} degrees of freedom); arms "
        "then differ in when they arrived, not only in their policy"
    )
    return [Finding(WARNING, "share_drift", PARTS, text)]


def _dependence(replicate, share):
    n = replicate.arrivals
    if n < 10 * LAGS:
        return []
    correlations = autocorrelations(replicate, share)
    value = float(n * (correlations**2).sum())
    if chi_squared_tail(value, LAGS) >= ALARM:
        return []
    most = int(np.argmax(np.abs(correlations)))
    kind = "come in runs" if correlations[0] > 0 else "depend on the ones before"
    text = (
        f"assignments {kind} (correlation {correlations[most]:+.3f} with the arrival "
        f"{most + 1} before; chi-squared {value:.0f} on {LAGS} lags): by user, by batch or in turn "
        "rather than independently per arrival; the estimators and their standard errors assume "
        "independence"
    )
    return [Finding(WARNING, "dependent_assignment", n, text)]


@kernel
def _add_products(values, begin, products):
    for i in range(begin, len(values)):
        for lag in range(min(i, len(products))):
            products[lag] += values[i] * values[i - lag - 1]
