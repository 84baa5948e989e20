"""How long an experiment must run, for each estimator, from the log of a pilot.

The pilot of n arrivals gives every estimator's standard error s, which falls like 1 / sqrt(n): with m
arrivals it is ``s sqrt(n / m)``. All estimators but `naive` are taken to have the expected effect as their
mean. The bias of `naive` is taken to be its difference to the best estimate of the pilot; where that is
within its own noise, what depends on it is undetermined.
"""

import math
from dataclasses import dataclass

import numpy as np

from queuebench.logs.errors import LogError
from queuebench.logs.replay_check import REJECTED
from queuebench.plan import arrivals_for_width
from queuebench.tables.crossover import crossing
from queuebench.tables.sign import arrivals_for_sign

_CLEAR = 1.959964
"""Standard errors beyond which a difference is not taken for noise."""

_TRUSTED = (
    ("replay",),
    ("mixed_dq_coupled", "mixed_dq"),
    ("qdq_coupled", "wdq_observed", "qdq"),
    ("switchback_burn_in", "switchback"),
    ("group",),
)
"""Estimators that may stand for the truth: the least variable one of the first line that has any. Left out
are those that are confidently wrong where their assumptions fail."""
_LENGTHS_ONLY = 1
"""The line that supposes queue lengths to explain responses."""
_MOST_IN_FULL = 1e12
"""Arrivals that are printed digit by digit."""


@dataclass(frozen=True)
class LogPlan:
    """What a pilot says about the experiment to come.

    Attributes
    ----------
    effect : float
        The expected effect, in the log's unit.
    reference : str
        The estimator taken for the truth about the pilot.
    given : bool
        Whether the effect was given rather than estimated by the reference.
    width : float
        Wanted width of a 95 % interval.
    rate : float
        Arrivals per time unit.
    rows : list of dict
        Per estimator ``estimator``, ``horizon``, ``estimate``, ``estimate_se`` and the arrivals
        ``for_width``, ``for_sign`` and ``beats_naive_from``; infinite for never, NaN for undetermined,
        None where there is nothing to compare with.
    cautions : list of str
    """

    effect: float
    reference: str
    given: bool
    width: float
    rate: float
    rows: list
    cautions: list


def plan_log(analysis, width=None, effect=None):
    """Plan an experiment from the analysis of a pilot's log.

    Parameters
    ----------
    analysis : queuebench.logs.LogAnalysis
    width : float, optional
        Wanted width of a 95 % interval, in the log's unit; by default the size of the effect.
    effect : float, optional
        The expected effect, in the log's unit; by default the best estimate of the pilot.

    Returns
    -------
    LogPlan

    Raises
    ------
    LogError
        If the log is too short for standard errors, or the effect is estimated to be zero.
    """
    rows, without_spread = _usable(analysis)
    reference, trusted = _best(rows, analysis.findings)
    given = effect is not None
    effect = effect if given else reference["estimate"]
    if effect == 0.0:
        raise LogError(
            f"--effect: {reference['estimator']} estimates the effect as 0; give the effect you expect"
        )
    width = abs(effect) if width is None else width
    bias, noise = _naive_bias(rows, reference)
    replicate = analysis.replicate
    n = replicate.arrivals
    return LogPlan(
        effect,
        reference["estimator"],
        given,
        width,
        n / replicate.record_end,
        [_row(row, n, effect, width, _naive(rows), bias) for row in rows],
        [
            *_rejection(analysis.findings),
            *_left_out(without_spread),
            *([] if trusted else [_untrusted(reference, given)]),
            *_cautions(reference, given, effect, bias, noise),
        ],
    )


def _usable(analysis):
    """Return the main rows with a standard error, without a replay that fails its check.

    Rows with a standard error of 0 come apart: an estimator that saw no difference at all in the pilot has
    shown nothing of how it varies, and would seem to need no arrivals.
    """
    rejected = any(found.name == REJECTED for found in analysis.findings)
    rows = [
        row
        for row in analysis.rows
        if row["main"]
        and not math.isnan(row["estimate_se"])
        and not (rejected and row["estimator"] == "replay")
    ]
    without_spread = [row["estimator"] for row in rows if row["estimate_se"] == 0.0]
    rows = [row for row in rows if row["estimate_se"] > 0.0]
    if not rows:
        raise LogError(_unusable(analysis, without_spread))
    return rows, without_spread


def _unusable(analysis, without_spread):
    """Say why there is nothing to plan with, in the words of the estimators' notes."""
    if without_spread:
        return (
            "all standard errors are 0: the pilot showed no difference between the arms, so nothing can be "
            "planned; take a longer pilot"
        )
    rows = [row for row in analysis.rows if row["main"] and math.isnan(row["estimate_se"])]
    names_by_note = {}
    for row in rows:
        names_by_note.setdefault(row["note"] or "no standard error", []).append(row["estimator"])
    notes = "; ".join(f"{', '.join(names)}: {note}" for note, names in names_by_note.items())
    shorter = " or a shorter horizon" if any(row["horizon"] is not None for row in rows) else ""
    return (
        f"{analysis.replicate.arrivals:,} arrivals are too few for standard errors ({notes}), and without "
        f"them nothing can be planned; take a longer pilot{shorter}"
    )


def _best(rows, findings):
    """Return the row that stands for the truth, and whether it is of an estimator to be trusted."""
    unexplained = any(found.name == "unexplained_by_queue_length" for found in findings)
    for line, names in enumerate(_TRUSTED):
        trusted = [row for row in rows if row["estimator"] in names]
        if trusted and not (unexplained and line == _LENGTHS_ONLY):
            return _least_variable(trusted), True
    return _least_variable(rows), False


def _least_variable(rows):
    return min(rows, key=lambda row: row["estimate_se"])


def _naive(rows):
    return next((row for row in rows if row["estimator"] == "naive"), None)


def _naive_bias(rows, reference):
    """Return naive's difference to the reference, NaN if it is within noise, and that noise.

    The two share their data, so that the root of the summed squares is not exactly the standard error
    of the difference; the reference's own, which is left, is nearly always the larger by far.
    """
    naive = _naive(rows)
    if naive is None or naive is reference:
        return math.nan, math.nan
    difference = naive["estimate"] - reference["estimate"]
    noise = math.hypot(naive["estimate_se"], reference["estimate_se"])
    return (difference if abs(difference) > _CLEAR * noise else math.nan), noise


def _row(row, n, effect, width, naive, bias):
    se = row["estimate_se"]
    mean = effect + bias if row is naive else effect
    return {
        "estimator": row["estimator"],
        "horizon": row["horizon"],
        "estimate": row["estimate"],
        "estimate_se": se,
        "for_width": float(arrivals_for_width(se, n, width)),
        "for_sign": (
            math.nan if math.isnan(mean) else float(arrivals_for_sign(mean, se**2 * n, effect))
        ),
        "beats_naive_from": None if naive in (None, row) else _beats(se, naive, n, bias),
    }


def _beats(se, naive, n, bias):
    """Return from how many arrivals on the MSE is below naive's: 0 if it varies less and is unbiased."""
    if se <= naive["estimate_se"]:
        return 0.0
    if math.isnan(bias):
        return math.nan
    return float(crossing(0.0, np.float64(se**2 * n), bias**2, naive["estimate_se"] ** 2 * n))


def _rejection(findings):
    return [f"{found.text}; it is left out here" for found in findings if found.name == REJECTED]


def _left_out(names):
    if names:
        yield (
            f"{', '.join(names)} left out: a standard error of 0 says that the pilot showed no difference "
            "between the arms, not that few arrivals are enough"
        )


def _untrusted(reference, given):
    return (
        "none of the estimators to be trusted has a standard error here, so "
        f"{reference['estimator']} stands for the truth, and may be far from it"
        f"{'' if given else ': give --effect'}"
    )


def _cautions(reference, given, effect, bias, noise):
    name = reference["estimator"]
    clear = abs(reference["estimate"]) >= _CLEAR * reference["estimate_se"]
    if given and clear and effect * math.copysign(1.0, reference["estimate"]) < 0:
        yield (
            f"the effect given, {effect:.4g}, has the other sign than {name}'s clear estimate, "
            f"{reference['estimate']:.4g} (standard error {reference['estimate_se']:.2g}): is it treatment "
            "minus control?"
        )
    if not given and not clear:
        yield (
            f"the effect by {name}, {reference['estimate']:.4g}, is within its noise (standard error "
            f"{reference['estimate_se']:.2g}); lengths that depend on it may be far off: give --effect"
        )
    if math.isnan(bias) and not math.isnan(noise):
        yield (
            f"naive differs from {name} by less than their noise ({_CLEAR * noise:.2g}), so what "
            "its bias decides is undetermined"
        )


def plan_text(plan, unit, arrivals):
    """Return a plan as text.

    Parameters
    ----------
    plan : LogPlan
    unit : str
        The log's time unit.
    arrivals : int
        Of the pilot.

    Returns
    -------
    str
    """
    origin = "as given" if plan.given else f"estimated by {plan.reference}"
    rejected = [text for text in plan.cautions if text.startswith("replay fails")]
    cautions = [text for text in plan.cautions if text not in rejected]
    lines = [
        *rejected,
        f"pilot of {arrivals:,} arrivals, {plan.rate:.6g} per {unit}; the effect is {plan.effect:.4g} "
        f"{unit} ({origin})",
        f"arrivals and time in {unit} for a 95 % interval of width {plan.width:.3g} {unit}, for the right",
        "sign in 95 % of experiments, and from which the mean squared error is below naive's, taking",
        f"{plan.reference} for the truth about the pilot:",
        _line(
            "estimator", "std. error", ("width", "time"), ("sign", "time"), ("beats naive", "time")
        ),
    ]
    for row in plan.rows:
        cells = (
            _cells(row[what], plan.rate) for what in ("for_width", "for_sign", "beats_naive_from")
        )
        lines.append(_line(row["estimator"], f"{row['estimate_se']:.3g}", *cells))
    return "\n".join([*lines, *(f"caution: {text}" for text in cautions)])


def _cells(arrivals, rate):
    if arrivals is None:
        return "", ""
    if math.isnan(arrivals):
        return "undetermined", ""
    if math.isinf(arrivals):
        return "never", ""
    count = f"{math.ceil(arrivals):,}" if arrivals < _MOST_IN_FULL else f"{arrivals:.3g}"
    return count, f"{arrivals / rate:.3g}"


def _line(name, error, *pairs):
    return (
        f"{name:<27}{error:>12}" + "".join(f"{count:>16}{time:>11}" for count, time in pairs)
    ).rstrip()
