"""Whether arms were assigned independently, with the probability that was intended.

In a design of several shares the arrivals at one share are, in their order, as good as a Bernoulli experiment
of their own: what holds of every arrival by itself holds whichever others are left out. So they get the same
tests, share by share, at levels that are divided by the number of shares (Bonferroni).
"""

import math
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc, ndtr

from queuebench.base.jit import kernel
from queuebench.estimators import assuming
from queuebench.estimators.common.registry import RANDOMISED
from queuebench.logs.checks.missing import trimming_bounds
from queuebench.logs.findings import EVERY, NOTE, WARNING, Finding

PARTS = 20
"""Equal parts of the record between which the share of treated arrivals is compared."""

LAGS = 20
"""Arrivals over which assignments are correlated with earlier ones."""

ALARM = 1e-4
"""Probability, under independent assignment, below which a test is reported."""

SHARE_ALARM = 1e-3
"""The same for the share of treated arrivals where the intended one is known: one test of one number that
should be met exactly, and the first sign of lost rows. (Fabijan et al. 2019 take 5e-4.)"""

COMMON_SHARES = (0.5, 1 / 3, 0.25, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Shares, or one minus them, that are meant by a share that is nearly one of them."""

_NEARLY = 0.05
"""Relative difference from a common share below which that one may have been intended."""
_MATTERS = 0.05
"""Share of the arms' difference, and of its noise, below which missing rows can do nothing."""


def check_assignment(replicate, treated_share, tested=1) -> list[Finding]:
    """Return what speaks against independent assignment.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    treated_share : float or None
        The intended share, if it is known.
    tested : int
        Records that are tested together; levels are divided by it.
    """
    by_part = np.zeros((PARTS, 2))
    _count_parts(replicate, by_part)
    share = by_part[:, 1].sum() / by_part.sum()
    dependence = _dependence(replicate, share, tested)
    # Shares of assignments that depend on each other vary more, so that little follows from theirs.
    unknown = treated_share is None and dependence
    return [
        *([] if unknown else _mismatch(replicate, by_part, share, treated_share, tested)),
        *_drift(by_part, share, tested),
        *dependence,
        *_run(replicate, share, tested),
    ]


def check_shares(replicate, shares) -> list[Finding]:
    """Return what speaks against independent assignment with the share of every arrival.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
        With a column ``share``.
    shares : sequence of float
        Those of the record; 0 and 1 leave nothing to chance and are not tested.

    Returns
    -------
    list of Finding
        One of each kind and name: of the lowest share concerned, with the number of others.
    """
    drawn = [share for share in shares if 0.0 < share < 1.0]
    found = {}
    for share in drawn:
        for finding in _check_share(_at_share(replicate, share), share, len(drawn)):
            found.setdefault((finding.kind, finding.name), []).append((share, finding))
    return [_joined(findings) for findings in found.values()]


def _at_share(replicate, share):
    """Return the arrivals at one share as a record."""
    chosen = np.concatenate([at == share for (at,) in replicate.chunks("share")])
    columns = {name: replicate.column(name)[chosen] for name in ("treated", "response_time")}
    return replace(replicate, arrivals=len(columns["treated"]), columns=columns)


def _check_share(replicate, share, tested):
    treated, n = np.count_nonzero(replicate.column("treated")), replicate.arrivals
    if 0 < treated < n:
        return check_assignment(replicate, share, tested)
    chance = (share if treated else 1.0 - share) ** n
    if chance >= SHARE_ALARM / tested:
        return []
    text = (
        f"all {n:,} are {'treated' if treated else 'control'}, which independent assignment gives with "
        f"probability {chance:.1g}; no estimate is to be used until it is known why"
    )
    return [Finding(WARNING, "share_mismatch", n, text, EVERY)]


def _joined(findings):
    """Return the first of some shares' findings of one name, for all of them."""
    share, first = findings[0]
    others = len(findings) - 1
    also = f" ({others} more share{'s' if others > 1 else ''} likewise)" if others else ""
    # Who expects that shares differ between blocks still expects one share to be kept.
    forbids = assuming(*RANDOMISED) if first.name == "share_drift" else first.forbids
    text = f"among the arrivals at the share {share:g}{also}: {first.text}"
    return first._replace(text=text, forbids=forbids)


def check_users(users, treated, share=None) -> list[Finding]:
    """Compare how arms vary between users with what independent arrivals would give.

    Parameters
    ----------
    users : ndarray of int32, shape (m,)
        Users of some arrivals, as numbers; -1 where unknown.
    treated : ndarray of bool, shape (m,)
    share : ndarray of float64, shape (m,), optional
        Probabilities with which they were treated; by default the share of the treated.
    """
    known = users >= 0
    users, treated = users[known], treated[known]
    arrivals = np.bincount(users)
    of_treatment = np.bincount(users, treated)
    several = arrivals > 1
    if not several.any():
        return []
    share = np.full(len(users), treated.mean()) if share is None else share[known]
    always = _products(share, users)[several] + _products(1 - share, users)[several]
    arrivals, of_treatment = arrivals[several], of_treatment[several]
    same = int(((of_treatment == 0) | (of_treatment == arrivals)).sum())
    expected = float(always.sum())
    spread = math.sqrt(max(expected * (1 - expected / len(arrivals)), 1.0))
    if ndtr((expected - same) / spread) >= ALARM:
        return []
    text = (
        f"{same:,} of {len(arrivals):,} users with several arrivals always had the same arm, where "
        f"independent assignment would give {expected:,.0f}: arms were assigned by user; the "
        "estimators and their standard errors assume independent arrivals"
    )
    return [Finding(WARNING, "assigned_by_user", same, text, assuming("independent_assignment"))]


def autocorrelations(replicate, share, lags=LAGS):
    """Return the autocorrelations of the assignments, at lags 1 and up.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
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


def _products(values, users):
    """Return the product of every user's values, which are not negative."""
    with np.errstate(divide="ignore"):
        return np.exp(np.bincount(users, np.log(values)))


def _count_parts(replicate, by_part):
    n = replicate.arrivals
    before = 0
    for (treated,) in replicate.chunks("treated"):
        part = (np.arange(before, before + len(treated)) * PARTS) // n
        counted = np.bincount(2 * part + treated, minlength=2 * PARTS)
        by_part += counted.reshape(PARTS, 2)
        before += len(treated)


def _mismatch(replicate, by_part, share, wanted, tested):
    n = by_part.sum()
    if wanted is None:
        return _nearly(n, share)
    z = (share - wanted) / math.sqrt(wanted * (1 - wanted) / n)
    if 2 * ndtr(-abs(z)) >= SHARE_ALARM / tested:
        return []
    fuller = z > 0
    odds = share / (1 - share) * (1 - wanted) / wanted
    missing = 1 - (1 / odds if fuller else odds)
    bounds = trimming_bounds(replicate, fuller, missing)
    measured = (
        f"the share of treated arrivals is {share:.4f} where {wanted:g} was intended (z = {z:.1f}), as if "
        f"{missing:.2%} of the {'control' if fuller else 'treated'} rows were missing: if those with "
        f"the longest or the shortest responses, the difference between the arms is wrong by "
        f"{bounds.low:+.3g} to {bounds.high:+.3g}"
    )
    small = max(abs(bounds.naive) * _MATTERS, bounds.error)
    if max(abs(bounds.low), abs(bounds.high)) < small:
        text = f"{measured}, less than its noise or a twentieth of it"
        return [Finding(NOTE, "share_mismatch", int(n), text)]
    text = f"{measured}; no estimate is to be used until it is known why"
    return [Finding(WARNING, "share_mismatch", int(n), text, EVERY)]


def _nearly(n, share):
    """Say that a share is nearly a common one, but not by chance."""
    both = sorted({*COMMON_SHARES, *(1 - common for common in COMMON_SHARES)})
    near = min(both, key=lambda common: abs(share - common))
    apart = abs(share - near)
    z = apart / math.sqrt(near * (1 - near) / n)
    if 2 * ndtr(-z) >= SHARE_ALARM or apart > _NEARLY * min(near, 1 - near):
        return []
    text = (
        f"the share of treated arrivals is {share:.4f}: if {near:.4g} was intended, rows of one arm are "
        f"missing (z = {z:.1f}); say with `treated_share` what was intended"
    )
    return [Finding(WARNING, "uncommon_share", int(n), text)]


def _drift(by_part, share, tested):
    size = by_part.sum(axis=1)
    if size.min() * min(share, 1 - share) < 5:
        return []
    value = float((((by_part[:, 1] - size * share) ** 2) / (size * share * (1 - share))).sum())
    if chdtrc(PARTS - 1, value) >= ALARM / tested:
        return []
    shares = by_part[:, 1] / size
    text = (
        f"the share of treated arrivals drifts, from {shares.min():.3f} to {shares.max():.3f} between "
        f"twentieths of the record (chi-squared {value:.0f} on {PARTS - 1} degrees of freedom); arms "
        "then differ in when they arrived, not only in their policy, and there is no one share at which the "
        "experiment was run"
    )
    return [Finding(WARNING, "share_drift", PARTS, text, assuming("constant_share"))]


def _dependence(replicate, share, tested):
    n = replicate.arrivals
    if n < 10 * LAGS:
        return []
    correlations = autocorrelations(replicate, share)
    value = float(n * (correlations**2).sum())
    if chdtrc(LAGS, value) >= ALARM / tested:
        return []
    most = int(np.argmax(np.abs(correlations)))
    kind = "come in runs" if correlations[0] > 0 else "depend on the ones before"
    text = (
        f"assignments {kind} (correlation {correlations[most]:+.3f} with the arrival "
        f"{most + 1} before; chi-squared {value:.0f} on {LAGS} lags): by user, by batch or in turn "
        "rather than independently per arrival; the estimators and their standard errors assume "
        "independence"
    )
    fallen = assuming("independent_assignment")
    return [Finding(WARNING, "dependent_assignment", n, text, fallen)]


def _run(replicate, share, tested):
    """Report the longest run of one arm where independent assignment hardly ever gives one as long."""
    n = replicate.arrivals
    if n < 10 * LAGS:
        return []
    longest, current = np.zeros((2, 2), np.int64), np.zeros(2, np.int64)
    before = 0
    for (treated,) in replicate.chunks("treated"):
        _follow_runs(before, treated, current, longest)
        before += len(treated)
    found = []
    for arm, other, which in ((0, share, "control"), (1, 1 - share, "treated")):
        length, end = longest[arm]
        # A run that begins after an arrival of the other arm: at most n of them, each as long with q^L.
        tail = n * other * (1 - other) ** length
        if tail < ALARM / tested:
            text = (
                f"{length:,} arrivals in succession, the last of them number {end + 1:,}, are all {which}, "
                f"which independent assignment gives with probability {tail:.1g}: were rows of the other arm "
                "lost, or was the experiment off?"
            )
            fallen = assuming("independent_assignment", "constant_share")
            found.append(Finding(WARNING, "run_of_one_arm", int(length), text, fallen))
    return found


@kernel
def _add_products(values, begin, products):
    for i in range(begin, len(values)):
        for lag in range(min(i, len(products))):
            products[lag] += values[i] * values[i - lag - 1]


@kernel
def _follow_runs(before, treated, current, longest):
    """Update the run in progress (arm, length) and the longest run of either arm (length, last arrival)."""
    for i in range(len(treated)):
        arm = np.int64(treated[i])
        current[1] = current[1] + 1 if arm == current[0] else 1
        current[0] = arm
        if current[1] > longest[arm, 0]:
            longest[arm, 0] = current[1]
            longest[arm, 1] = before + i
