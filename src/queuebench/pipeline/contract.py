"""What every estimator and every dispatch policy holds to, shipped or from outside.

Each check takes an entry of a registry and returns what is wrong, in a sentence, or nothing. Records are of
four servers at load 0.6, where random routing against the shorter of two queues has an exact answer.

Statistics have fixed seeds. At `_ERRORS` standard errors of 16 replicates a sound estimator fails one of two
comparisons at one seed in about a thousand.
"""

import math
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from queuebench.estimators import EstimationError
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import Estimator
from queuebench.estimators.common.setting import Setting, setting_of
from queuebench.logs.record.replicate import LogReplicate
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.exact import solve_cell
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing.policies.arguments import parameter_row
from queuebench.queueing.policies.registry import Policy
from queuebench.study.cells import Cell, parse_study, resolve
from queuebench.trace import Trace

REPLICATES = 16
_ERRORS = 4.5
_HORIZON = 10.0
_SERVERS = 4
_WIDEST = 3.0
"""Factor by which standard errors may differ from the spread of replicates, whose own error is a third."""
_NORMAL = 1 / ndtri(0.75)
"""A normal law's standard deviation over its median deviation from the median."""


class Chunked(LogReplicate):
    """A replicate in memory that hands out its columns so many arrivals at a time."""

    size = 1 << 17

    def chunks(self, *names: str) -> Iterator[tuple]:
        """Yield tuples of arrays, one array per column name."""
        for begin in range(0, self.arrivals, self.size):
            yield tuple(self.columns[name][begin : begin + self.size] for name in names)


class _Small(Chunked):
    size = 97


@cache
def cell_of(design: str, treatment: int = 2, periodic: bool = False) -> Cell:
    """Return a small cell with one design, random routing against the shortest of some queues."""
    kinds = {
        "switchback": {"kind": design, "period": 25.0, "burn_in": 5.0},
        "shares": {"kind": design, "shares": 2, "period": 80.0, "burn_in": 10.0},
    }
    cycle = {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.3, "period": 50.0}}
    study = {
        "seed": 11, "arrivals": 8000, "replicates": REPLICATES, "horizons": [4.0, 7.0, _HORIZON],
        "horizon": _HORIZON, "warmup": 60.0, "system": {"servers": _SERVERS, "loads": [0.6]},
        "control": {"policy": "power_of_d", "d": 1},
        "treatment": {"policy": "power_of_d", "d": treatment},
        "designs": {"bernoulli": None, design: kinds.get(design, {"kind": design})},
        "scenarios": {"contract": cycle if periodic else {}},
    }  # fmt: skip
    return resolve(parse_study(study))[0]


@cache
def records(design: str, treatment: int, periodic: bool) -> tuple[Setting, list[Chunked]]:
    """Return the setting and the replicates of `cell_of` these arguments."""
    cell = cell_of(design, treatment, periodic)
    names = ["arrival_time", "treated", "server", "queue_length", "in_system", "response_time"]
    if design != "group":
        names += [
            f"{what}_if_{arm}" for what in ("server", "queue") for arm in ("control", "treated")
        ]
    names += {"switchback": ["block"], "shares": ["block", "share"]}.get(design, [])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.arrow"
        simulate_batch(cell, design, range(REPLICATES), path)
        found = [
            Chunked(
                r.number, r.arrivals, r.record_start, r.record_end, r.carry,
                {name: np.array(r.column(name)) for name in names},
            )
            for r in Trace(path)
        ]  # fmt: skip
    return setting_of(cell, design), found


@cache
def _estimates(entry, treatment=2):
    setting, replicates = records(entry.design, treatment, entry.needs_cycle)
    return [_estimate(entry, replicate, setting) for replicate in replicates]


def _one(entry):
    setting, replicates = records(entry.design, 2, entry.needs_cycle)
    return replicates[0], setting


def _estimate(entry, replicate, setting):
    return entry.function(Record(replicate, setting), _HORIZON if entry.uses_horizon else None)


def _changed(replicate, kind=Chunked, end=None, **columns):
    """Return a replicate with other columns, of another kind, or that ends elsewhere."""
    new = replicate.columns | columns
    end = replicate.record_end if end is None else end
    return kind(
        replicate.number,
        len(new["arrival_time"]),
        replicate.record_start,
        end,
        replicate.carry,
        new,
    )


def empty_arm(entry: Estimator) -> str:
    """Refuse a record with an arm that was never drawn, unless both arms' choices say enough."""
    replicate, setting = _one(entry)
    alone = _changed(replicate, treated=np.zeros_like(replicate.columns["treated"]))
    try:
        value = _estimate(entry, alone, setting).value
    except EstimationError:
        return ""
    if math.isnan(value) or entry.needs_choices:
        return ""
    return f"estimates {value:.4g} from a record in which nobody is treated; raise EstimationError"


def short_record(entry: Estimator) -> str:
    """Say of a short record that it is too short: by an EstimationError, or a note beside no error."""
    replicate, setting = _one(entry)
    few = {name: column[:60] for name, column in replicate.columns.items()}
    try:
        found = _estimate(entry, _changed(replicate, end=few["arrival_time"][-1], **few), setting)
    except EstimationError:
        return ""
    if math.isnan(found.standard_error) and not found.note:
        return "has no standard error on 60 arrivals and no note that says why"
    if found.standard_error < 0 or math.isinf(found.standard_error):
        return f"has the standard error {found.standard_error} on 60 arrivals"
    return ""


def any_chunks(entry: Estimator) -> str:
    """Give the same for whichever pieces the record is handed out in."""
    replicate, setting = _one(entry)
    whole = _estimate(entry, replicate, setting).value
    pieces = _estimate(entry, _changed(replicate, _Small), setting).value
    if math.isclose(pieces, whole, rel_tol=1e-9, abs_tol=1e-12):
        return ""
    return f"estimates {whole:.10g} from the whole record and {pieces:.10g} from pieces of it"


def swapped_arms(entry: Estimator) -> str:
    """Give the negative if treatment and control change names."""
    replicate, setting = _one(entry)
    columns, other = replicate.columns, {"control": "treated", "treated": "control"}
    swapped = {"treated": ~columns["treated"].astype(bool)}
    for name in columns:
        head, _, arm = name.rpartition("_if_")
        if head:
            swapped[name] = columns[f"{head}_if_{other[arm]}"]
    if "share" in columns:
        swapped["share"] = 1.0 - columns["share"]
    known = setting.structure
    known = replace(
        known,
        policies=known.policies[::-1],
        policy_parameters=known.policy_parameters[::-1],
    )
    found = _estimate(entry, _changed(replicate), setting)
    one, error = found.value, found.standard_error
    other = replace(setting, structure=known, shares=tuple(1.0 - p for p in setting.shares[::-1]))
    two = _estimate(entry, _changed(replicate, **swapped), other).value
    # Of the time before the record something may be assumed, the arms of the blocks then.
    nothing = 1e-9 if math.isnan(error) else 0.05 * error
    if math.isclose(one, -two, rel_tol=1e-6, abs_tol=nothing):
        return ""
    return f"estimates {one:.6g}, and {two:.6g} with the arms' names swapped"


def alike_arms(entry: Estimator) -> str:
    """Find no effect where both arms do the same."""
    values = np.array([found.value for found in _estimates(entry, treatment=1)])
    error = values.std(ddof=1) / math.sqrt(REPLICATES)
    if abs(values.mean()) <= _ERRORS * error + 1e-9:
        return ""
    return f"finds {values.mean():.4g} +- {error:.2g} where both arms are the same policy"


def honest_parts(entry: Estimator) -> str:
    """Have pseudo-values with the estimate as their mean and the standard error as that mean's error."""
    replicate, setting = _one(entry)
    found = _estimate(entry, replicate, setting)
    if found.parts is None:
        return ""
    if len(found.parts) != found.freedom + 1:
        return f"has {len(found.parts)} parts and {found.freedom} degrees of freedom"
    spread = found.parts.std(ddof=1) / math.sqrt(len(found.parts))
    if not math.isclose(spread, found.standard_error, rel_tol=1e-6, abs_tol=1e-12):
        return f"has the standard error {found.standard_error:.4g}, and its parts say {spread:.4g}"
    if abs(found.parts.mean() - found.value) > found.standard_error:
        return f"is {found.value:.4g}, and the mean of its parts is {found.parts.mean():.4g}"
    return ""


def right_value(entry: Estimator) -> str:
    """Estimate what it says it does, where the exact oracle knows it.

    Where it does not: a slope lies between the truncated slopes with either cost and the one at an infinite
    horizon, widened by a quarter as costs are fitted; an effect within a factor of two, as a finite record
    and blocks or halves of the system leave bias.
    """
    if entry.needs_cycle:
        return ""
    found, exact = _estimates(entry), _solved()
    values = np.array([one.value for one in found])
    item = exact["truncated"][-1]
    slopes = sorted([item["response"], item["queue"], exact["dq"]])
    low, high = {
        "effect": (2.0 * exact["gte"], 0.5 * exact["gte"]),
        "slope": (1.25 * slopes[0], 0.75 * slopes[-1]),
        "arm difference": (exact["naive"], exact["naive"]),
    }[entry.estimand]
    if entry.design == "shares" and entry.exact in ("arm difference", "response", "queue"):
        what = {"arm difference": "naive"}.get(entry.exact, entry.exact)
        low = high = sum(
            at["weight"] * (at | at["truncated"][-1])[what] for at in exact["designs"]["shares"]
        )
    elif entry.exact in ("response", "queue"):
        low = high = item[entry.exact]
    elif entry.needs_structure and entry.estimand == "effect":
        low = high = exact["gte"]
    error = values.std(ddof=1) / math.sqrt(REPLICATES)
    if low - _ERRORS * error - 1e-3 <= values.mean() <= high + _ERRORS * error + 1e-3:
        return ""
    return (
        f"estimates {values.mean():.4g} +- {error:.2g} of what should lie between {low:.4g} and {high:.4g} "
        f"({entry.estimand})"
    )


def right_error(entry: Estimator) -> str:
    """Have standard errors like the spread over replicates, where there are any."""
    found = [one for one in _estimates(entry) if not math.isnan(one.standard_error)]
    if len(found) < REPLICATES:
        return ""
    # By medians, as a single record on which an estimator nearly fails may say anything.
    values = np.array([one.value for one in found])
    spread = _NORMAL * np.median(np.abs(values - np.median(values)))
    claimed = np.median([one.standard_error for one in found])
    if spread / _WIDEST <= claimed <= _WIDEST * spread:
        return ""
    return f"says {claimed:.3g} of its standard error, and replicates spread by {spread:.3g}"


@cache
def _solved():
    return solve_cell(cell_of("shares"), [1, 2])


def nanoseconds(entry: Estimator) -> float:
    """Return the CPU nanoseconds per arrival that an estimator takes on a small record, kernels compiled."""
    replicate, setting = _one(entry)
    _estimate(entry, replicate, setting)
    begin = time.process_time_ns()
    _estimate(entry, _changed(replicate), setting)
    return (time.process_time_ns() - begin) / replicate.arrivals


class _Guarded:
    """A row of numbers of which some must not be read."""

    def __init__(self, values, allowed):
        self._values, self._allowed = values, allowed

    def __getitem__(self, index):
        if index not in self._allowed:
            raise LookupError(index)
        return self._values[index]


def _given(entry):
    """Return parameters that a policy takes."""
    given = {}
    for known in entry.parameters:
        low = known.least if known.least is not None else 0.0
        high = known.most if known.most is not None else low + 2.0
        given[known.name] = min(2, high) if known.whole else (low + high) / 2
    return given


def _cases(entry):
    """Yield arguments of a rule: random queues, the whole system or the second of two pools."""
    rng, row = np.random.default_rng(3), parameter_row(entry.name, _given(entry))
    for turn in range(60):
        start, size = ((0, 6), (2, 4))[turn % 2]
        pool = np.arange(6)
        permutation = np.concatenate([pool[:start], start + rng.permutation(size)])
        seen = rng.integers(0, 4, 6)
        yield permutation, start, size, row, seen, np.ones(6), turn, pool, rng.random()


def _choose(entry, *case):
    return int(getattr(entry.rule, "py_func", entry.rule)(*case))


def own_servers(entry: Policy) -> str:
    """Choose a server of the arm, whatever the queues."""
    for case in _cases(entry):
        permutation, start, size = case[:3]
        if (server := _choose(entry, *case)) not in permutation[start : start + size]:
            return f"chooses server {server}, and the arm has {sorted(permutation[start : start + size])}"
    return ""


def reads_samples(entry: Policy) -> str:
    """Read no more of the permutation than it says in `samples`."""
    for permutation, start, size, *rest in _cases(entry):
        read = entry.samples(size, **_given(entry))
        guarded = _Guarded(permutation, range(start, start + read))
        try:
            _choose(entry, guarded, start, size, *rest)
        except LookupError as error:
            return f"reads entry {error.args[0] - start} of the permutation, and says that it reads {read}"
    return ""


def same_again(entry: Policy) -> str:
    """Choose the same from the same."""
    for case in _cases(entry):
        one, two = _choose(entry, *case), _choose(entry, *case)
        if one != two:
            return f"chooses server {one} and then {two} from the same arguments"
    return ""


def equal_servers(entry: Policy) -> str:
    """Treat equal servers alike: other numbers for them change the choice by those numbers alone."""
    names = np.array([3, 0, 5, 1, 4, 2])
    for permutation, start, size, row, seen, speeds, turn, pool, uniform in _cases(entry):
        plain = _choose(entry, permutation, start, size, row, seen, speeds, turn, pool, uniform)
        renamed = np.empty_like(seen)
        renamed[names] = seen
        other = _choose(
            entry, names[permutation], start, size, row, renamed, speeds, turn, names[pool], uniform
        )
        if other != names[plain]:
            return f"chooses server {plain}, and {other} where that server is called {names[plain]}"
    return ""


def bounded_parameters(entry: Policy) -> str:
    """Refuse parameters that are unknown, missing or out of bounds."""
    given = _given(entry)
    wrong = [given | {"nobody_declared_this": 1.0}]
    for known in entry.parameters:
        wrong.append({name: value for name, value in given.items() if name != known.name})
        if known.least is not None:
            wrong.append(given | {known.name: known.least - 1})
        if known.most is not None:
            wrong.append(given | {known.name: known.most + 1})
    for parameters in wrong:
        try:
            parameter_row(entry.name, parameters)
        except ValueError:
            continue
        return f"takes the parameters {parameters}"
    return ""


def possible_flows(entry: Policy) -> str:
    """Say flows to the slowest servers that grow with their number from 0 to at most 1."""
    flows = list(entry.capacity(np.array([0.5, 1.0, 1.0, 1.5]), **_given(entry)))
    shares = [share for _, share, _ in sorted(flows)]
    if flows and all(0 <= share <= 1 + 1e-12 for share in shares) and shares == sorted(shares):
        return ""
    return f"says that the slowest servers get the shares {shares} of the flow"


def stable_below_capacity(entry: Policy) -> str:
    """Keep queues short at three quarters of the load that it says it bears."""
    flows = entry.capacity(np.ones(_SERVERS), **_given(entry))
    most = min(capacity / share for _, share, capacity in flows if share > 0) / _SERVERS
    arm = {"policy": entry.name, **_given(entry)}
    study = {
        "seed": 5, "arrivals": 20_000, "warmup": 0.0, "control": arm, "treatment": arm,
        "system": {"servers": _SERVERS, "loads": [0.75 * min(most, 1.0)]}, "scenarios": {"one": {}},
    }  # fmt: skip
    run = Setup(resolve(parse_study(study))[0]).pure(0)
    present = np.concatenate([block.in_system.copy() for block in run.blocks(arrivals=20_000)])
    # An M/M/1 queue at load 3/4 holds three jobs on average.
    if (mean := present[10_000:].mean()) < 20 * _SERVERS:
        return ""
    return f"lets {mean:.0f} jobs wait for {_SERVERS} servers at 3/4 of the load it says it bears"


ESTIMATOR_CHECKS: tuple[Callable, ...] = (
    empty_arm, short_record, any_chunks, swapped_arms, alike_arms, honest_parts, right_value,
    right_error,
)  # fmt: skip
POLICY_CHECKS: tuple[Callable, ...] = (
    own_servers, reads_samples, same_again, equal_servers, bounded_parameters, possible_flows,
    stable_below_capacity,
)  # fmt: skip


def check_estimator(entry: Estimator) -> list[str]:
    """Return what an estimator breaks of the contract, a sentence each."""
    return _check(entry, ESTIMATOR_CHECKS)


def check_policy(entry: Policy) -> list[str]:
    """Return what a policy breaks of the contract, a sentence each."""
    return _check(entry, POLICY_CHECKS)


def _check(entry, checks):
    found = [(check.__name__.replace("_", " "), _fault(check, entry)) for check in checks]
    return [f"{name}: {entry.name} {fault}" for name, fault in found if fault]


def _fault(check, entry):
    try:
        return check(entry)
    except Exception as error:  # Whatever somebody's code does, the other checks go on.
        return f"raises {type(error).__name__}: {error}"
