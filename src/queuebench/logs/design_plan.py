"""Which design of experiment reaches a wanted error of the effect soonest, from the log of a pilot.

A system learnt from the log (`queuebench.logs.learned.system`) is run under several designs, at two lengths,
and estimators are applied to what it gives, as to a log. Over a time t an estimate has the mean squared error
``b^2 + v / t``: v is the pooled variance times the length, b the mean of the longer runs less the effect of
the learnt system, from long runs of either arm alone. So a root mean squared error r takes the time
``v / (r^2 - b^2)``, and none is enough where b is above r. The square of b's standard error is taken off b^2,
which it would raise by as much. Where the simulation is too short to say on which side of r a bias is, one
that may be 0 is taken to be, and marked.

Lengths of blocks go by the relaxation time of the learnt system, after which the autocorrelation of the
number in the system has fallen below 1 / e, under the slower arm. What is compared rests on the learnt
system; where that does not reproduce the log, or a finding speaks against what it supposes, there is no
comparison.
"""

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from queuebench.base.randomness import stream
from queuebench.estimators.common.local_rate import local_rate
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import EstimationError, estimators_for
from queuebench.logs.headline import broken_by
from queuebench.logs.learned.experiment import draw_arrivals, run_experiment
from queuebench.logs.learned.run import simulate
from queuebench.logs.learned.shape import stand_in
from queuebench.logs.read.clock import spoken
from queuebench.queueing.designs import build_design
from queuebench.results.lengths import TWO_SIDED
from queuebench.study.system import Bernoulli, Group, Shares, Switchback

ARRIVALS = 4_000_000
"""Arrivals simulated for each design, fewer where there are many servers to look at."""
_FEW_SERVERS = 100
REPLICATES = 24
"""Records of either length."""
_FEWEST_REPLICATES = 8
_LONGER = 2.0
"""Times `ARRIVALS` that a design with long blocks may take, at the most."""
_LENGTHS = 1.0, 2.0
"""Lengths of the records, over the shorter one."""
_FEWEST_CYCLES = 3
"""Rounds of blocks in a record, at least."""
_WARM = 10.0
"""Relaxation times before a record."""
SWITCHED = 3.0, 10.0, 30.0
"""Blocks of one arm alone, in relaxation times."""
_SWITCHED_BURN_IN = 2.0
_SHARES = 2, 3, [0.0, 0.5, 1.0]
_BLOCK, _BURN_IN = 10.0, 2.0
"""Blocks of one share and their burn-in, in relaxation times."""
_HORIZONS = 4.0
"""Truncation horizons that a block of one share holds after its burn-in, at least."""
_QUICK = 60.0
"""Nanoseconds per arrival up to which an estimator without a rank is tried."""
PART = 0.1
"""Wanted root mean squared error, over the effect, where none is given."""


class Candidate(NamedTuple):
    """A design that is tried.

    Attributes
    ----------
    name : str
    design : object
        Of `queuebench.study.system`, times in the log's unit.
    cycle : float
        Time that a round of its blocks takes, 0 without blocks.
    """

    name: str
    design: object
    cycle: float


@dataclass(frozen=True)
class DesignPlan:
    """What the simulation of several designs says; times in the log's unit.

    Attributes
    ----------
    fault : str
        Why there is no comparison, else empty; then the rest has no meaning.
    rmse : float
        The wanted root mean squared error.
    effect, effect_se : float
        Of the learnt system, by simulation.
    relaxation : float
    rate : float
        Arrivals per time unit.
    rows : list of dict
        The soonest estimator of every design, soonest first: ``design``, ``estimator``, ``bias``,
        ``bias_se``, ``spread`` (v, the variance times the length), ``time``, ``time_se`` and ``open``,
        see `time_needed`.
    too_long : list of str
        Designs whose blocks were too long to be simulated.
    """

    fault: str
    rmse: float = math.nan
    effect: float = math.nan
    effect_se: float = math.nan
    relaxation: float = math.nan
    rate: float = math.nan
    rows: list = field(default_factory=list)
    too_long: list = field(default_factory=list)


def plan_designs(analysis, effect=None, rmse=None, step=lambda name: None) -> DesignPlan:
    """Simulate designs in a system learnt from a pilot.

    Parameters
    ----------
    analysis : queuebench.logs.LogAnalysis
    effect : float, optional
        The expected effect, in the log's unit; by default that of the learnt system.
    rmse : float, optional
        Wanted root mean squared error of the effect, in the log's unit; by default `PART` of it.
    step : Callable
        Called with a line of text when the next design begins.
    """
    if analysis.config.design.kind != Bernoulli().kind:
        return DesignPlan("the pilot must be of coin flips at one share")
    if broken := broken_by(analysis.findings):
        return DesignPlan(broken[0])
    step("learning the system")
    named = len(analysis.servers) if analysis.config.columns.server is not None else 0
    record = Record(analysis.replicate, analysis.setting)
    fault, system, _ = stand_in(record, named, first_come=analysis.first_come)
    if fault:
        return DesignPlan(fault)
    return _compared(_Trials(system, analysis), effect, rmse, step)


def _compared(trials, expected, rmse, step):
    step("the effect and the relaxation time")
    effect, effect_se = trials.effect()
    if rmse is None:
        rmse = PART * abs(effect if expected is None else expected)
    relaxation = trials.relaxation()
    if not math.isfinite(effect + relaxation):
        return DesignPlan(
            "queues of a system learnt from the log grow without end under one arm alone"
        )
    rows, too_long = [], []
    for candidate in candidates(trials, relaxation):
        step(candidate.name)
        base = max(trials.base, _FEWEST_CYCLES * candidate.cycle)
        replicates = min(REPLICATES, int(_LONGER * REPLICATES * trials.base / base))
        if replicates < _FEWEST_REPLICATES:
            too_long.append(candidate.name)
            continue
        found = trials.estimates(candidate, base, replicates, _WARM * relaxation)
        own = [_row(candidate, name, lengths, effect, effect_se, rmse) for name, lengths in found]
        rows += sorted(own, key=_soonest)[:1]
    rows.sort(key=_soonest)
    return DesignPlan(
        "", rmse, effect, effect_se, relaxation, trials.rate, rows, too_long
    )  # fmt: skip


def _soonest(row):
    """Place a row by its time; then come those that are not known to get there, by bias, then the others."""
    if math.isfinite(row["time"]):
        return 0, row["time"]
    return 1 + math.isinf(row["time"]), abs(row["bias"])


def candidates(trials, relaxation):
    """Return the designs that are tried.

    Parameters
    ----------
    trials : object
        With the ``servers``, the longest ``horizon`` as a time, and the ``unit``.
    relaxation : float

    Returns
    -------
    list of Candidate
    """
    found = [Candidate("coin flip at 1/2", Bernoulli(), 0.0)]
    if trials.servers % 2 == 0 and trials.servers >= 4:
        found.append(Candidate("halves of the servers", Group(), 0.0))
    for factor in SWITCHED:
        period = factor * relaxation
        burn_in = min(_SWITCHED_BURN_IN * relaxation, period / 2)
        name = f"switching every {spoken(period, trials.unit)}"
        found.append(Candidate(name, Switchback(period=period, burn_in=burn_in), 2 * period))
    burn_in = _BURN_IN * relaxation
    period = max(_BLOCK * relaxation, burn_in + _HORIZONS * trials.horizon)
    for shares in _SHARES:
        design = Shares(shares=shares, period=period, burn_in=burn_in)
        listed = ", ".join(f"{share:.3g}" for share in design.distinct)
        name = f"shares {listed}, each {spoken(period, trials.unit)}"
        found.append(Candidate(name, design, period * len(design.schedule["shares"])))
    return found


class _Trials:
    """Experiments in a learnt system."""

    def __init__(self, system, analysis):
        self._system = system
        self._analysis = analysis
        self._choices = system.agreeing is not None
        self.servers = len(system.slowness)
        self.unit = analysis.config.time_unit
        replicate, setting = analysis.replicate, analysis.setting
        self.rate = replicate.arrivals / replicate.record_end
        self.horizon = setting.horizon_arrivals(setting.batch_horizon) / self.rate
        arrivals = ARRIVALS * min(1.0, _FEW_SERVERS / self.servers)
        self.base = arrivals / (REPLICATES * sum(_LENGTHS)) / self.rate

    def effect(self):
        """Return the effect of the learnt system and its standard error, from pairs of long runs.

        Not finite where queues grow beyond all bounds.
        """
        differences = []
        for number in range(REPLICATES):
            rng = stream(0, "effect", number)
            arrival = draw_arrivals(self._system, _LENGTHS[-1] * self.base, rng)
            system, sequence = self._system._replace(arrival=arrival), rng.integers(2**32, size=4)
            control, treatment = (
                simulate(system, share, np.random.SeedSequence(sequence.tolist())).response
                for share in (0.0, 1.0)
            )
            if math.isinf(treatment) or math.isinf(control):
                return math.inf, math.inf
            differences.append(treatment - control)
        return float(np.mean(differences)), float(np.std(differences, ddof=1) / REPLICATES**0.5)

    def relaxation(self):
        """Return the relaxation time of the number in the system under the slower arm."""
        times = []
        for arm in (0, 1):
            rng = stream(0, "relaxation", arm)
            # A record of few relaxation times would show too short a one.
            end = REPLICATES / 2 * self.base
            record = self._run(("pure", {"treated": arm}), end, end / 20, rng, arm)
            if record is None:
                return math.inf
            times.append(_relaxation(record.column("in_system")) / self.rate)
        return max(times)

    def estimates(self, candidate, base, replicates, warm):
        """Yield the name of an estimator and its values at both lengths, as pairs of length and array."""
        chosen = candidate.design
        setting = replace(
            self._analysis.setting, design=chosen.kind, treated_share=0.5,
            structure=None, local_rate=None, horizons=(), choices=self._choices,
            **{name: getattr(chosen, key, empty) for name, key, empty in (
                ("period", "period", 0.0), ("burn_in", "burn_in", 0.0), ("shares", "distinct", ()),
                ("weights", "quadrature", ()),
            )},
        )  # fmt: skip
        entries = self._entries(chosen.kind)
        made = {entry.name: [] for entry in entries}
        for factor, number in itertools.product(_LENGTHS, range(replicates)):
            end = factor * base
            if candidate.cycle:
                end = round(end / candidate.cycle) * candidate.cycle
            rng = stream(0, candidate.name, round(factor * 100), number)
            replicate = self._run((chosen.kind, chosen.schedule), end, warm, rng, number)
            if replicate is None:
                return
            record = Record(replicate, self._with_rate(setting, replicate))
            for entry in entries:
                made[entry.name].append((end, self._apply(entry, record)))
        for name, pairs in made.items():
            ends, values = np.array(pairs).T
            if np.all(np.isfinite(values)):
                halves = zip(np.split(ends, 2), np.split(values, 2), strict=True)
                yield name, [(float(half[0]), found) for half, found in halves]

    def _run(self, design, end, warm, rng, number):
        """Return a record of a design, given by its kind and what it takes."""
        arrival = draw_arrivals(self._system, warm + end, rng) - warm
        speeds = 1.0 / self._system.slowness if self._system.first_come else np.ones(self.servers)
        key = [int(word) for word in rng.integers(2**31, size=2)]
        built = build_design(
            *design, speeds, 0.5, lambda purpose: stream(0, "design", *key, purpose), -warm
        )
        return run_experiment(self._system, built, arrival, end, rng, number)

    def _with_rate(self, setting, replicate):
        """Return the setting with a local rate where that of the pilot has one."""
        table = self._analysis.setting.local_rate
        return (
            replace(setting, local_rate=local_rate(replicate, table.window)) if table else setting
        )

    def _entries(self, kind):
        """Return the estimators that the pilot's log would allow: those with a rank, else of the effect."""
        varying = self._analysis.setting.varying_rate
        allowed = [
            entry
            for entry in estimators_for(kind, horizons=0, choices=self._choices)
            if (entry.observed_costs or self._analysis.first_come)
            and not (varying and entry.needs_constant_rate)
        ]
        quick = [e for e in allowed if e.estimand == "effect" and e.nanoseconds <= _QUICK]
        return [entry for entry in allowed if entry.rank] or quick

    def _apply(self, entry, record):
        horizon = record.setting.batch_horizon if entry.uses_horizon else None
        try:
            return entry.function(record, horizon).value
        except EstimationError:
            return math.nan


def _relaxation(in_system):
    """Return after how many arrivals the autocorrelation is below 1 / e."""
    x = in_system - in_system.mean()
    spectrum = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
    correlation = np.fft.irfft(spectrum)[: len(x)]
    return max(1, int(np.argmax(correlation < correlation[0] / math.e)))


def _row(candidate, name, lengths, effect, effect_se, rmse):
    """Return what an estimator needs under a design, from its values at several lengths."""
    number = len(lengths[-1][1])
    spread = float(np.mean([values.var(ddof=1) * length for length, values in lengths]))
    longest, values = lengths[-1]
    bias = float(values.mean()) - effect
    bias_se = math.hypot(math.sqrt(spread / longest / number), effect_se)
    time, time_se, open_ = time_needed(spread, 2 * (number - 1), bias, bias_se, rmse)
    return {
        "design": candidate.name, "estimator": name, "bias": bias, "bias_se": bias_se,
        "spread": spread, "time": max(time, candidate.cycle), "time_se": time_se, "open": open_,
    }  # fmt: skip


def time_needed(spread, freedom, bias, bias_se, rmse):
    """Return the time after which a root mean squared error is reached.

    Parameters
    ----------
    spread : float
        Variance times length, v.
    freedom : int
        Degrees of freedom of v.
    bias, bias_se : float
    rmse : float

    Returns
    -------
    time : float
        ``v / (r^2 - b^2)`` with ``b^2`` less the square of its standard error, 0 at the least. Infinite where
        b is clearly above r. Where it may be on either side, ``v / r^2`` if it may be 0, else NaN.
    time_se : float
        Standard error of the time to the first order, with ``var(b^2) = 4 b^2 s^2 + 2 s^4``.
    open : bool
        Whether b may be on either side of r.
    """
    reach = TWO_SIDED * bias_se
    if abs(bias) - reach > rmse:
        return math.inf, math.nan, False
    open_ = bool(abs(bias) + reach > rmse)
    if open_ and abs(bias) > reach:
        return math.nan, math.nan, True
    square = 0.0 if open_ else max(0.0, bias**2 - bias_se**2)
    square_se = 0.0 if open_ else math.sqrt(4 * bias**2 * bias_se**2 + 2 * bias_se**4)
    left = rmse**2 - square
    if left == 0.0:  # below all numbers
        return math.inf, math.nan, open_
    time = spread / left
    return time, time * math.hypot(math.sqrt(2 / freedom), square_se / left), open_


def design_text(plan, unit) -> str:
    """Return the comparison of designs as text.

    Parameters
    ----------
    plan : DesignPlan
    unit : str
        The log's time unit.
    """
    if plan.fault:
        return f"which design is soonest cannot be said by simulation: {plan.fault}"
    marked = any(row["open"] for row in plan.rows)
    lines = [
        "arrivals and time until the root mean squared error of the effect is "
        f"{plan.rmse:.3g} {unit}, by experiments",
        f"simulated in a system learnt from the log (its effect {plan.effect:.4g} +- {plan.effect_se:.1g} "
        f"{unit},",
        f"its relaxation time {spoken(plan.relaxation, unit)}), with standard errors of the simulation:",
        f"{'design':<44}{'estimator':<31}{'bias':>18}{'arrivals':>16}{'time':>13}{'time +-':>13}",
        *(_line(row, plan, unit) for row in plan.rows),
        *(["?: the simulation is too short to say whether the bias alone is larger; if there is none"]
          if marked else []),
        *(f"not simulated, as blocks would be too long: {name}" for name in plan.too_long),
        _recommendation(plan, unit),
    ]  # fmt: skip
    return "\n".join(lines)


def _line(row, plan, unit):
    bias = f"{row['bias']:+.2g} +- {row['bias_se']:.1g}"
    mark = "?" if row["open"] else ""
    if math.isfinite(row["time"]):
        count = f"{mark}{math.ceil(row['time'] * plan.rate):,}"
        time, error = (spoken(row[name], unit) for name in ("time", "time_se"))
    else:
        count, time, error = "never" if math.isinf(row["time"]) else "?", "", ""
    words = f"{row['design']:<44}{row['estimator']:<31}{bias:>18}"
    return f"{words}{count:>16}{time:>13}{error:>13}".rstrip()


def _recommendation(plan, unit):
    reached = [row for row in plan.rows if math.isfinite(row["time"])]
    if not reached:
        return "none of these designs is known to reach it; ask for a larger error, or run a longer pilot"
    best, *others = reached
    text = (
        f"soonest: {best['design']} with {best['estimator']}, in about {spoken(best['time'], unit)}"
    )
    alike = [
        row["design"] for row in others
        if row["time"] - best["time"] < TWO_SIDED * math.hypot(row["time_se"], best["time_se"])
    ]  # fmt: skip
    return (
        f"{text}; as soon within the error of the simulation: {'; '.join(alike)}" if alike else text
    )
