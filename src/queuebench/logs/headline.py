"""The number of a log's report to believe: which, what it is, what could make it wrong, what to do next.

Rules, in this order:

1. What a finding forbids is not offered, nor what has no standard error, nor a difference of the arms as they
   were run (both met the same queues).
2. An estimate of the effect comes before one of the slope; a replay only if its check passes.
3. Of those that are left the one of the highest registered `Estimator.rank`: not the least variable one,
   which is as a rule the most biased.
4. A slope, T'(p) at the share p run, is the effect only if the mean response T is nearly linear in the
   share. How much it misses is read off a system learnt from the log (`queuebench.logs.learned.system`),
   where that reproduces the log; the band of the effect is the slope plus what it misses, give or take
   `BAND` times the slope's 95 % interval and `UNSURE` times what it misses. Where no learnt system reproduces
   the log the effect is not identified from one share, and that is said in place of a band.
5. A slope that misses more than a little is given with what theory says of the effect, each bound with what
   it rests on (`queuebench.logs.bounds`).
6. The band of an estimate of the effect is `BAND` times its 95 % interval. Whether the sign is clear is read
   off the band.
"""

import math
from dataclasses import dataclass, field, replace

from queuebench.estimators.common.registry import ASSUMPTIONS, all_estimators
from queuebench.logs.bounds import Bounds, bounds_text, effect_bounds, random_response
from queuebench.logs.checks.replay_check import LEVEL as REPLAYED
from queuebench.logs.checks.replay_check import REJECTED
from queuebench.logs.learned.shape import mean_with_error, stand_in
from queuebench.results.lengths import TWO_SIDED

UNSURE = 0.6
"""By which part of itself the part that a slope misses may be wrong; measured, see docs/your-own-log.md."""

BAND = 1.4
"""Reach of a band over that of a 95 % interval, which misses one effect in twenty even where all that is
assumed holds; about that of a 99 % interval (1.31 by the normal law, 1.44 for nine degrees of freedom)."""

_SMALL = 0.25
"""Share of the slope's 95 % interval, to either side, up to which what it misses does not matter."""
_PRECISION = 0.2
"""Share of the slope's standard error that is precise enough for what it misses."""


@dataclass(frozen=True)
class Headline:
    """The number to believe.

    Attributes
    ----------
    estimator : str or None
        None where no number is to be believed.
    estimand : {"effect", "slope", "nothing"}
        What its number is: the effect (all treated minus none), or the slope of the mean response in the
        share, at the share run.
    estimate, lower, upper : float
        The number with its 95 % interval, in the log's unit; NaN without one.
    effect, effect_lower, effect_upper : float
        The effect with its band; NaN where it is not identified.
    missed : float
        What the slope is taken to miss of the effect; 0 for an estimate of the effect, NaN where unknown.
    bounds : queuebench.logs.bounds.Bounds or None
        What theory says of the effect; None for an estimate of the effect, or without a clear sign.
    text : list of str
        Sentences: the number and what it is; what could make it wrong; what to do next.
    """

    estimator: str | None
    estimand: str
    estimate: float = math.nan
    lower: float = math.nan
    upper: float = math.nan
    effect: float = math.nan
    effect_lower: float = math.nan
    effect_upper: float = math.nan
    missed: float = math.nan
    bounds: Bounds | None = None
    text: list = field(default_factory=list)


def choose(rows):
    """Return the row that a report or a plan is to believe, by rules 1 to 3.

    Parameters
    ----------
    rows : list of dict
        See `queuebench.logs.estimates`.

    Returns
    -------
    dict or None
        None where there is none.
    """
    offered = [row for row in _candidates(rows) if not row["forbidden"] and not _unchecked(row)]
    return min(offered, key=_place, default=None)


def _candidates(rows):
    entries = _entries()
    return [
        row
        for row in rows
        if row["main"] and row["estimate_se"] > 0.0 and entries[row["estimator"]].rank
    ]


def _unchecked(row):
    """Whether a row is of a replay that has not passed its check."""
    return _entries()[row["estimator"]].needs_structure and not row["check"] >= REPLAYED


def _place(row):
    entry = _entries()[row["estimator"]]
    return row["estimand"] != "effect", entry.rank


def headline(rows, findings, record, *, servers, first_come, unit) -> Headline:
    """Say which number of a log to believe, and what it is.

    Parameters
    ----------
    rows : list of dict
        Estimates, see `queuebench.logs.estimates`.
    findings : list of Finding
    record : queuebench.estimators.common.record.Record
    servers : int
        Servers that the log names, 0 if it names none.
    first_come : bool
        Whether they work first come, first served.
    unit : str
        The log's time unit.
    """
    row = choose(rows)
    if row is None:
        return _nothing(rows, findings)
    entry = _entries()[row["estimator"]]
    broken = broken_by(findings)
    fault, missed, missed_se, bounds = None, 0.0, 0.0, None
    if row["estimand"] != "effect":
        system, fault = None, broken[0] if broken else None
        if not fault:
            fault, missed, missed_se, system = _missed(row, record, servers, first_come)
        bounds = None if record.setting.shares else _bounds(row, record, system)
    made = _made(row, math.nan if fault else missed, missed_se)
    replays = servers and first_come and not broken
    return replace(made, bounds=bounds, text=[
        _first_sentence(made, fault, unit),
        *_doubts(entry),
        *([bounds_text(bounds, unit)] if bounds and not _small(made) else []),
        *_shares_next(made, replays),
        *_arrivals_next(made, record.setting.choices),
    ])  # fmt: skip


def broken_by(findings):
    """Say what is false of a log that some estimators suppose: a learnt system supposes it too.

    Parameters
    ----------
    findings : list of Finding

    Returns
    -------
    list of str
    """
    # The first clause says what is wrong; whom it concerns stands with the numbers not to be used.
    return [
        found.text.partition("; ")[0]
        for found in findings
        if found.forbids and found.name != REJECTED
    ]


def _entries():
    return {entry.name: entry for entry in all_estimators()}


def _nothing(rows, findings):
    reason, *others = _reasons(rows, findings)
    text = [
        f"no number of this log is to be believed as the effect of the treatment: {reason}",
        *[f"besides: {text}" for text in others],
        "next: mend that, or take a longer record, and analyse again; the numbers below describe the log "
        "and nothing more",
    ]
    return Headline(None, "nothing", text=text)


def _reasons(rows, findings):
    """Say why no row is offered; at least one reason."""
    candidates = _candidates(rows)
    if any(row["forbidden"] for row in candidates):
        names = {name for row in candidates for name in row["forbidden"].split()}
        return list(dict.fromkeys(found.text for found in findings if found.name in names))
    if candidates:
        return ["the replay is unchecked, and no other estimate was asked for that may be believed"]
    errors = [row["estimate_se"] for row in rows if row["main"]]
    if any(error > 0.0 for error in errors):
        return [
            "none of the estimators applied may stand for the effect; see the column of what they estimate"
        ]
    if any(error == 0.0 for error in errors):
        return ["no estimate shows any difference between the arms, or how it would vary"]
    return ["the record is too short for standard errors"]


def _missed(row, record, servers, first_come):
    """Return why no learnt system can be believed, or None; what the slope misses; its error; the system."""
    if record.setting.shares:
        return "the share changed, and a system learnt from a log is run at one", 0.0, 0.0, None
    precision = _PRECISION * row["estimate_se"]
    fault, system, found = stand_in(record, servers, first_come=first_come, precision=precision)
    return (fault, 0.0, 0.0, system) if fault else (None, found.missed, found.missed_se, system)


def _bounds(row, record, system):
    """Return what theory says of the effect, from the ends of intervals of `BAND` times a 95 % one."""
    lower, upper = (
        row["estimate"] + BAND * (row[end] - row["estimate"]) for end in ("lower_95", "upper_95")
    )
    level, error = mean_with_error(record.replicate.column("response_time"))
    errors = BAND * TWO_SIDED
    # The worse arm is the treatment where it makes responses longer.
    worst = random_response(system, int(lower > 0.0), errors) if system else math.nan
    return effect_bounds(
        lower, upper, record.setting.treated_share, record.replicate.arrivals,
        level - errors * error, worst, float(system.slowness.min()) if system else 0.0,
    )  # fmt: skip


def _made(row, missed, missed_se):
    """Return a headline without words; what it misses is NaN where that is not known."""
    se = math.hypot(row["estimate_se"], missed_se)
    reach = BAND * (row["upper_95"] - row["estimate"]) * se / row["estimate_se"]
    reach = math.hypot(reach, UNSURE * missed)
    effect = row["estimate"] + missed
    return Headline(
        row["estimator"], row["estimand"], row["estimate"], row["lower_95"], row["upper_95"], effect,
        effect - reach, effect + reach, missed,
    )  # fmt: skip


def _small(made):
    return abs(made.missed) <= _SMALL * (made.upper - made.estimate)


_IS_SLOPE = (
    "is the slope of the mean response at the share run, "
    "not the effect of treating all instead of none"
)


def _number(made, unit):
    interval = f"{made.lower:.4g} to {made.upper:.4g}"
    return f"{made.estimate:.4g} {unit} (95 % interval {interval}, {made.estimator})"


def _first_sentence(made, fault, unit):
    if fault:
        return (
            f"{_number(made, unit)} {_IS_SLOPE}; the effect of treating all jobs is not identified from one "
            f"share: {fault}"
        )
    if made.estimand == "effect":
        return (
            f"the effect is {_number(made, unit)}, between {made.effect_lower:.4g} and "
            f"{made.effect_upper:.4g} with some care: {_sign(made.effect_lower, made.effect_upper)}"
        )
    return _small_text(made, unit) if _small(made) else _large_text(made, unit)


def _small_text(made, unit):
    return (
        f"the effect is {_number(made, unit)}: {_sign(made.effect_lower, made.effect_upper)}. It is a slope "
        f"at the share run; what that misses of the effect is about {made.missed:+.2g} {unit}, little beside "
        f"its error (band of the effect {made.effect_lower:.4g} to {made.effect_upper:.4g})"
    )


def _large_text(made, unit):
    share = f", {abs(made.missed / made.effect):.0%} of it" if made.effect else ""
    return (
        f"the effect is about {made.effect:.4g} {unit}, between {made.effect_lower:.4g} and "
        f"{made.effect_upper:.4g}: {_sign(made.effect_lower, made.effect_upper)}. The estimate "
        f"{_number(made, unit)} {_IS_SLOPE}: it misses about {made.missed:+.2g} {unit}{share}, by a system "
        "learnt from the log and run at other shares, which reproduces the log at the share run"
    )


def _sign(lower, upper):
    if lower > 0.0:
        return "the treatment makes responses longer"
    if upper < 0.0:
        return "the treatment makes responses shorter"
    return "its sign is open"


def _doubts(entry):
    """Say what the estimate rests on that no check of the log speaks against."""
    assumed = [ASSUMPTIONS[name] for name in ASSUMPTIONS if name in entry.assumes]
    if not assumed:
        return []
    return [f"it would be wrong if one of these were: {'; '.join(assumed)}"]


def _shares_next(made, replays):
    """Say how the effect itself may be found; nothing where it has been."""
    if made.estimand == "effect" or _small(made):
        return []
    text = (
        "next: for the effect itself run several shares of treated jobs, or switch the whole system back "
        "and forth"
    )
    known = (
        "or describe the structure (policies, speeds, information) so that the log can be replayed"
    )
    return [f"{text}; {known}" if replays else text]


def _arrivals_next(made, choices):
    """Say what would make the sign clear; nothing where it is."""
    lower, upper = made.effect_lower, made.effect_upper
    if math.isnan(made.effect):
        lower, upper = made.lower, made.upper
    if lower > 0.0 or upper < 0.0:
        return []
    center = (lower + upper) / 2
    factor = ((upper - lower) / 2 / center) ** 2 if center else math.inf
    times = f"about {factor:.2g} times as many arrivals" if factor < 1e4 else "far more arrivals"
    coupled = "" if choices or made.estimand == "effect" else (
        ", or log what both arms would have chosen, which cuts the noise several times"
    )  # fmt: skip
    return [f"next: for a clear sign, if the effect is what it seems, take {times}{coupled}"]
