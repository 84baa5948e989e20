"""How long an experiment must run, for each estimator, from the log of a pilot.

The pilot of n arrivals gives every estimator's standard error s, which falls like 1 / sqrt(n): with m
arrivals it is ``s sqrt(n / m)``. The expected effect is that of the pilot's headline
(`queuebench.logs.headline`), by its rules. An estimate's bias is its difference to that effect: of another
estimate of what the headline's estimator estimates, as far as the two differ by more than noise, and what a
slope misses of the effect; of `naive`, all of the difference, and where that is within its noise, what
depends on it is undetermined.
"""

import math
from dataclasses import dataclass

import numpy as np

from queuebench.estimators.common.registry import in_role
from queuebench.logs.checks.replay_check import REJECTED
from queuebench.logs.errors import LogError
from queuebench.logs.headline import UNSURE
from queuebench.logs.read.clock import spoken
from queuebench.results.lengths import arrivals_for_width, table_text
from queuebench.results.tables.crossover import crossing
from queuebench.results.tables.sign import arrivals_for_sign

_CLEAR = 1.959964
"""Standard errors beyond which a difference is not taken for noise."""


@dataclass(frozen=True)
class LogPlan:
    """What a pilot says about the experiment to come.

    Attributes
    ----------
    effect : float
        The expected effect, in the log's unit.
    reference : str or None
        The estimator taken for the truth about the pilot; None where no number of it is to be believed.
    given : bool
        Whether the effect was given rather than estimated by the reference.
    width : float
        Wanted width of a 95 % interval.
    rate : float
        Arrivals per time unit.
    rows : list of dict
        Per estimator ``estimator``, ``estimand``, ``horizon``, ``estimate``, ``estimate_se``, ``bias`` (NaN
        for undetermined) and the arrivals ``for_width``, ``for_sign`` and ``beats_naive_from``; infinite for
        never, NaN for undetermined, None where there is nothing to compare with.
    cautions : list of str
    against : {"effect", "slope", "nothing"}
        What biases are taken against: the slope where the pilot does not identify the effect.
    """

    effect: float
    reference: str | None
    given: bool
    width: float
    rate: float
    rows: list
    cautions: list
    against: str


def plan_log(analysis, width=None, effect=None) -> LogPlan:
    """Plan an experiment from the analysis of a pilot's log.

    Parameters
    ----------
    analysis : queuebench.logs.LogAnalysis
    width : float, optional
        Wanted width of a 95 % interval, in the log's unit; by default the size of the effect.
    effect : float, optional
        The expected effect, in the log's unit; by default that of the pilot's headline.

    Raises
    ------
    LogError
        If the log is too short for standard errors, nothing in it may stand for the effect and none is
        given, or the effect is estimated to be zero.
    """
    rows, without_spread = _usable(analysis)
    made = analysis.headline
    given = effect is not None
    if not given and made.estimator is None:
        raise LogError(f"--effect: {made.text[0]}; give the effect you expect")
    identified = not math.isnan(made.effect)
    if not given:
        effect = made.effect if identified else made.estimate
    if effect == 0.0:
        raise LogError(
            f"--effect: {made.estimator} estimates the effect as 0; give the effect you expect"
        )
    width = abs(effect) if width is None else width
    n = analysis.replicate.arrivals
    biases = _biases(rows, made)
    naive = next((row for row in rows if row["estimator"] == in_role("baseline").name), None)
    return LogPlan(
        effect,
        made.estimator,
        given,
        width,
        n / analysis.replicate.record_end,
        [_row(row, n, effect, width, naive, biases) for row in rows],
        [
            *[f"{found.text}; it is left out here" for found in analysis.findings
              if found.name == REJECTED],
            *_left_out(rows, without_spread, analysis),
            *_cautions(rows, made, given, effect, biases),
        ],
        made.estimand if made.estimator is None or not identified else "effect",
    )  # fmt: skip


def _usable(analysis):
    """Return the main rows with a standard error that no finding forbids.

    Rows with a standard error of 0 come apart: an estimator that saw no difference at all in the pilot has
    shown nothing of how it varies, and would seem to need no arrivals.
    """
    rows = [
        row
        for row in analysis.rows
        if row["main"] and not math.isnan(row["estimate_se"]) and not row["forbidden"]
    ]
    without_spread = [row["estimator"] for row in rows if row["estimate_se"] == 0.0]
    rows = [row for row in rows if row["estimate_se"] > 0.0]
    if not rows:
        raise LogError(_unusable(analysis, without_spread))
    return rows, without_spread


def _unusable(analysis, without_spread):
    """Say why there is nothing to plan with, in the words of the findings or the estimators' notes."""
    if any(row["main"] and row["estimate_se"] > 0.0 for row in analysis.rows):
        reasons = dict.fromkeys(found.text for found in analysis.findings if found.forbids)
        return f"nothing of this pilot can be planned with: {'; '.join(reasons)}"
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


def _biases(rows, made):
    """Return the bias of every row, NaN where noise hides it.

    Rows share their data, so that the root of the summed squares is not exactly the standard error of their
    difference; the reference's own, which is left, is nearly always the larger by far.
    """
    reference = next((row for row in rows if row["estimator"] == made.estimator), None)
    if reference is None:
        return {row["estimator"]: math.nan if _arms(row) else 0.0 for row in rows}
    missed = 0.0 if math.isnan(made.missed) else made.missed
    found = {}
    for row in rows:
        apart = row["estimate"] - reference["estimate"]
        noise = _CLEAR * math.hypot(row["estimate_se"], reference["estimate_se"])
        if _arms(row):
            clear = abs(apart - missed) > math.hypot(noise, UNSURE * missed)
            found[row["estimator"]] = apart - missed if clear else math.nan
        else:
            found[row["estimator"]] = (apart if abs(apart) > noise else 0.0) - (
                missed if row["estimand"] == made.estimand else 0.0
            )
    return found


def _arms(row):
    return row["estimand"] == "arm difference"


def _row(row, n, effect, width, naive, biases):
    se, bias = row["estimate_se"], biases[row["estimator"]]
    return {
        "estimator": row["estimator"],
        "estimand": row["estimand"],
        "horizon": row["horizon"],
        "estimate": row["estimate"],
        "estimate_se": se,
        "bias": bias,
        "for_width": float(arrivals_for_width(se, n, width)),
        "for_sign": (
            math.nan
            if math.isnan(bias)
            else float(arrivals_for_sign(effect + bias, se**2 * n, effect))
        ),
        "beats_naive_from": (
            None if naive in (None, row) else _beats(se, bias, naive, biases[naive["estimator"]], n)
        ),
    }


def _beats(se, bias, naive, naive_bias, n):
    """Return from how many arrivals on the MSE is below naive's: 0 if it varies less and is unbiased."""
    if math.isnan(naive_bias):
        return 0.0 if bias == 0.0 and se <= naive["estimate_se"] else math.nan
    return float(
        crossing(
            bias**2, np.float64(se**2 * n), naive_bias**2, np.float64(naive["estimate_se"] ** 2 * n)
        )
    )


def _left_out(rows, without_spread, analysis):
    if without_spread:
        yield (
            f"{', '.join(without_spread)} left out: a standard error of 0 says that the pilot showed no "
            "difference between the arms, not that few arrivals are enough"
        )
    forbidden = {row["estimator"] for row in analysis.rows if row["main"] and row["forbidden"]}
    names = [name for name in dict.fromkeys(row["estimator"] for row in analysis.rows)
             if name in forbidden and name != in_role("resimulation").name]  # fmt: skip
    if names:
        reasons = {found.text for found in analysis.findings if found.forbids}
        yield f"{', '.join(names)} left out: {'; '.join(sorted(reasons))}"


def _cautions(rows, made, given, effect, biases):
    if made.estimator is None:
        yield f"{made.text[0]}; biases are unknown here, and lengths suppose that there are none"
        return
    name = made.estimator
    reach = made.upper - made.estimate
    clear = abs(made.estimate) >= reach
    if given and clear and effect * math.copysign(1.0, made.estimate) < 0:
        yield (
            f"the effect given, {effect:.4g}, has the other sign than {name}'s clear estimate, "
            f"{made.estimate:.4g} (95 % interval {made.lower:.4g} to {made.upper:.4g}): is it treatment "
            "minus control?"
        )
    if not given and not clear:
        yield (
            f"the effect by {name}, {effect:.4g}, is within its noise (95 % interval {made.lower:.4g} to "
            f"{made.upper:.4g}); lengths that depend on it may be far off: give --effect"
        )
    if math.isnan(made.effect):
        yield (
            f"{name} is a slope at the share run, and the effect is not identified from one share: biases "
            "are differences to the slope, and lengths that depend on the effect may be far off"
            f"{'' if given else ': give --effect'}"
        )
    if math.isnan(biases.get(in_role("baseline").name, 0.0)):
        yield (
            f"naive differs from {name} by less than their noise, so what its bias decides is undetermined"
        )


def plan_text(plan, unit, arrivals) -> str:
    """Return a plan as text.

    Parameters
    ----------
    plan : LogPlan
    unit : str
        The log's time unit.
    arrivals : int
        Of the pilot.
    """
    origin = "as given" if plan.given else f"estimated by {plan.reference}"
    rejected = [text for text in plan.cautions if text.startswith("replay fails")]
    cautions = [text for text in plan.cautions if text not in rejected]
    truth = {
        "effect": f"bias is the estimate minus the effect by {plan.reference}",
        "slope": f"bias is the estimate minus the slope by {plan.reference}",
        "nothing": "bias is unknown",
    }[plan.against]
    lines = [
        *rejected,
        f"pilot of {arrivals:,} arrivals, {plan.rate:.6g} per {unit}; the effect is {plan.effect:.4g} "
        f"{unit} ({origin})",
        f"arrivals and time for a 95 % interval of width {plan.width:.3g} {unit}, for the right sign in 95 %",
        f"of experiments, and from which the mean squared error is below naive's; {truth}, in {unit}, where "
        "clear of noise:",
        *table_text(
            (
                row | {"bias": _bias_text(row, plan), "spread": row["estimate_se"]}
                for row in plan.rows
            ),
            lambda count: spoken(count / plan.rate, unit),
        ),
    ]
    return "\n".join([*lines, *(f"caution: {text}" for text in cautions)])


def _bias_text(row, plan):
    if plan.against == "nothing":
        return ""
    if math.isnan(row["bias"]):
        return "undetermined"
    return f"{row['bias']:+.3g}" if row["bias"] else ""
