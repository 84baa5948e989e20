"""What it says that estimators agree on a log, or do not.

Two estimators of the same thing that assume different things test what only one of them assumes. Replay
estimates the effect and Differences in Q its slope in the share: that those two differ speaks against
neither.
"""

import math

from scipy.special import stdtr

from queuebench.estimators.common.disagreement import compare, disagreement
from queuebench.estimators.common.registry import assuming, in_role
from queuebench.logs.checks.replay_check import LEVEL as REPLAYED
from queuebench.logs.findings import NOTE, WARNING, Finding

LEVEL = 0.05
"""Level of the comparison."""
CLEAR = 0.01
"""Level below which what supposes that queue lengths say all must not be used: servers that break down, say,
mislead the fitted costs too."""

_STATE = ("model_based", "model_free")
_SLOPES = (("structural", "model_free"), ("structural", "model_based"))


def check_agreement(estimates) -> list[Finding]:
    """Return what comparisons of the main estimates say, nothing if there are not two to compare.

    Parameters
    ----------
    estimates : dict of str to queuebench.estimators.common.registry.Estimate
        By name of the estimator, at the main horizon.
    """
    found = disagreement(estimates)
    findings = []
    if _compared(found, _STATE):
        findings.append(_state(found))
    slopes = next((pair for pair in _SLOPES if _compared(found, pair)), None)
    if slopes:
        replay = estimates[found.names["structural"]]
        findings += _slope(found, slopes, replay.check)
    return findings + _burn_ins(estimates)


def _compared(found, pair):
    return not math.isnan(found.t[pair])


def _p_value(found, pair):
    return float(2 * stdtr(found.freedom, -abs(found.t[pair])))


def _apart(found, pair):
    return (
        f"differ by {abs(found.t[pair]):.3g} standard errors of their difference "
        f"(p = {_p_value(found, pair):.2g})"
    )


def _state(found):
    """Say what two estimates of the slope tell of queue lengths as the state of the system."""
    model, free = (found.names[kind] for kind in _STATE)
    if _p_value(found, _STATE) < LEVEL:
        text = (
            f"{model} and {free} {_apart(found, _STATE)} though both estimate the slope: queue lengths are "
            f"not the state of the system, as {model} assumes, or the horizon is too short; {free} does not "
            "assume it"
        )
        clear = _p_value(found, _STATE) < CLEAR
        return Finding(
            WARNING, "estimators_disagree", 2, text,
            assuming("exponential", "queue_state", design="bernoulli") if clear else (),
        )  # fmt: skip
    text = (
        f"{model} and {free} agree within their errors (p = {_p_value(found, _STATE):.2g}), so nothing "
        f"speaks against queue lengths being the state of the system, as {model} assumes; both estimate the "
        "same slope, so that says nothing of how far it is from the effect"
    )
    return Finding(NOTE, "estimators_agree", 2, text)


def _slope(found, pair, check):
    """Say what the difference of a replay, which estimates the effect, and a slope tells."""
    replay, slope = (found.names[kind] for kind in pair)
    if check < REPLAYED:
        return []
    if _p_value(found, pair) >= LEVEL:
        text = (
            f"{replay} and {slope} agree within their errors (p = {_p_value(found, pair):.2g}): what a slope "
            "misses of the effect is not seen beside the noise"
        )
        return [Finding(NOTE, "slope_agrees_with_effect", 2, text)]
    if math.isnan(check):
        text = (
            f"{replay} and {slope} {_apart(found, pair)}: the structure described is wrong, or the slope "
            "misses part of the effect; the record is too short to tell"
        )
        return [Finding(WARNING, "slope_or_structure", 2, text)]
    text = (
        f"replay's check passes; {slope} keeps interference bias, as it estimates a slope: they "
        f"{_apart(found, pair)}"
    )
    return [Finding(NOTE, "slope_misses_effect", 2, text)]


def _burn_ins(estimates):
    """Say whether switchback differs with and without the start of its blocks, by pairs of blocks.

    At most two comparisons: all jobs against the best correction at hand, and the two corrections.
    """
    names = [in_role(role).name for role in ("blocks", "later_blocks", "corrected_blocks")]
    plain, cut, corrected = map(estimates.get, names)
    better, name = (corrected, names[2]) if corrected else (cut, names[1])
    findings = []
    if plain and better:
        findings += _carry_over(*compare(plain, better), names[0], name, better.value - plain.value)
    if cut and corrected:
        t, freedom = compare(cut, corrected)
        # Without a burn-in the two comparisons are one.
        if plain is None or cut.value != plain.value:
            findings += _short_burn_in(t, freedom)
    return findings


def _carry_over(t, freedom, plain, better, difference):
    if math.isnan(t):
        return []
    p_value = float(2 * stdtr(freedom, -abs(t)))
    if p_value < LEVEL:
        text = (
            f"{plain} and {better} differ by {abs(t):.3g} standard errors of their difference "
            f"(p = {p_value:.2g}): blocks begin with what the other arm left, which {plain} counts"
        )
        return [Finding(WARNING, "carry_over", 2, text, (plain,))]
    text = (
        f"{plain} and {better} agree within their errors (p = {p_value:.2g}); that a carry-over between "
        f"blocks is not seen does not mean that there is none{_hidden(t, difference)}"
    )
    return [Finding(NOTE, "no_carry_over_seen", 2, text)]


def _hidden(t, difference):
    """Say how large a carry-over the noise of a comparison could hide, in the unit of the estimates."""
    if t == 0.0:
        return ""
    return f": the noise would hide one of {2 * abs(difference / t):.3g}"


def _short_burn_in(t, freedom):
    if not (p_value := float(2 * stdtr(freedom, -abs(t)))) < LEVEL:
        return []
    text = (
        f"switchback_burn_in and switchback_corrected differ by {abs(t):.3g} standard errors of their "
        f"difference (p = {p_value:.2g}): the burn-in is shorter than the carry-over, or the carry-over does "
        "not fade at one rate; use longer blocks, with a longer burn-in"
    )
    return [Finding(WARNING, "burn_in", 2, text)]
