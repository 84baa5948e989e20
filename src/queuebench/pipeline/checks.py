"""Refusing, before any job, a study that cannot be simulated or estimated.

`queuebench.study` knows the types of the keys; here they are held against the registries, against each
other and against queueing theory.
"""

import itertools
import math

from queuebench.base.errors import StudyError
from queuebench.estimators import known_estimators
from queuebench.estimators.common.setting import applying
from queuebench.loss_network.events import event_count
from queuebench.loss_network.model import build_network
from queuebench.pipeline.cost import check_cost
from queuebench.pipeline.stages.build import Setup
from queuebench.queueing.outside_arrivals import outside_arrivals
from queuebench.queueing.policies import policy
from queuebench.queueing.policies.arguments import find_fault, suggestion
from queuebench.queueing.speeds import server_speeds
from queuebench.queueing.stability import extreme_halves, find_overload
from queuebench.study.cells import Cell, resolve
from queuebench.study.settings import Study

_INFINITE_VARIANCE = 2.0
"""Pareto shape at and below which a queue that cannot be avoided has an infinite mean wait."""

_SHORTEST_REFRESH = 1e-3

_FEWEST_OF_AN_ARM = 30
"""Fewest jobs expected of an arm: a record without any then has a chance of exp(-30)."""


def check_study(study: Study) -> list[Cell]:
    """Check all of a study, what it costs included, and return its cells.

    Raises
    ------
    StudyError
        Naming the first thing that is wrong, and what would be right.
    """
    cells = resolve(study)
    check_loss_network(study)
    for cell in cells:
        check_cell(cell)
    check_cost(study, cells)
    return cells


def check_cell(cell: Cell):
    """Check one cell of a study.

    Raises
    ------
    StudyError
        Naming the scenario and the key, and what would be right.
    """
    _check_designs(cell)
    for arm in ("control", "treatment"):
        _check_policy(cell, arm)
    _check_estimators(cell)
    setup = _check_speeds(cell)
    _check_assumed(cell)
    _check_record(cell, setup)
    _check_arms(cell)
    _check_delays(cell)
    for arm in (0, 1):
        _check_stability(cell, setup.system, arm)


def check_loss_network(study):
    """Check the loss network of a study, if it has one.

    Raises
    ------
    StudyError
        With the inequality that fails.
    """
    if study.loss_network is None:
        return
    try:
        for servers in study.loss_network.servers:
            event_count(study.loss_network, build_network(study.loss_network, servers))
    except ValueError as error:
        raise StudyError(f"loss_network: {error}") from None


def _refuse(cell, key, message):
    raise StudyError(f"scenario {cell.scenario}, load {cell.load:g}: {key}: {message}")


def _check_designs(cell):
    servers = cell.experiment.system.servers
    if not cell.designs:
        _refuse(cell, "designs", "at least one design is needed")
    for name, design in cell.designs.items():
        if design.kind == "group" and servers % 2:
            _refuse(
                cell,
                f"designs.{name}",
                f"a group design needs an even number of servers, not {servers}",
            )


def _smallest_pool(cell):
    """Return over how many servers a policy must be able to choose, and why."""
    servers = cell.experiment.system.servers
    if any(design.kind == "group" for design in cell.designs.values()):
        return servers // 2, f"half of the {servers} servers, because there is a group design"
    return servers, "the number of servers"


def _check_policy(cell, arm):
    given = getattr(cell.experiment, arm)
    fault = find_fault(given.policy, given.parameters, *_smallest_pool(cell))
    if fault:
        key, message = fault
        _refuse(cell, f"{arm}.{key}", message)


def _check_estimators(cell):
    wanted = cell.experiment.estimators
    known = known_estimators()
    if wanted == "all":
        return
    for name in wanted:
        if name not in known:
            _refuse(cell, "estimators", f"no estimator is named {name}{suggestion(name, known)}")
    if not any(applying(cell, design.kind) for design in cell.designs.values()):
        _refuse(cell, "estimators", "none of those given applies to any of the designs")


def _check_speeds(cell):
    experiment = cell.experiment
    if experiment.workload is not None and (
        cell.periodic or outside_arrivals(experiment.arrival_process.kind)
    ):
        _refuse(cell, "arrival_process", "a replayed workload has its own arrivals; leave this out")
    if experiment.workload is not None and experiment.service.distribution != "exponential":
        _refuse(cell, "service", "a replayed workload has its own sizes; leave this out")
    try:
        return Setup(cell)
    except StudyError as error:
        _refuse(cell, "kind replay", str(error))
    except ValueError as error:
        _refuse(cell, "speeds.values", str(error))


def _check_assumed(cell):
    assumed = cell.experiment.assumed.speeds
    try:
        if assumed is not None:
            server_speeds(cell.experiment.system.servers, **assumed.model_dump())
    except ValueError as error:
        _refuse(cell, "assumed.speeds.values", str(error))


def _check_record(cell, setup):
    experiment = cell.experiment
    expected = _expected_arrivals(setup)
    for horizon in experiment.all_horizons:
        length = cell.horizon_arrivals(horizon)
        if 2 * length > expected:
            _refuse(
                cell,
                "horizon",
                f"{horizon:g} mean service times are {length} arrivals, more than half of the "
                f"{expected} recorded; use at least {2 * length} arrivals or a shorter horizon",
            )
    _check_horizons_apart(cell)
    for name, design in cell.designs.items():
        if design.kind == "switchback" and 2 * design.period > expected / cell.rate:
            _refuse(
                cell,
                f"designs.{name}.period",
                f"the record of about {expected / cell.rate:.4g} mean service times holds no pair of "
                f"blocks of {design.period:g}; use at least "
                f"{round(2.2 * design.period * cell.rate)} arrivals or a shorter period",
            )


def _check_arms(cell):
    """Refuse a design under which a record may hold no job of an arm to compare."""
    experiment = cell.experiment
    share = experiment.system.treated_share
    rarer = min(share, 1 - share) * experiment.arrivals
    for name, design in cell.designs.items():
        if design.kind == "bernoulli" and rarer < _FEWEST_OF_AN_ARM:
            _refuse(
                cell,
                "system.treated_share",
                f"of {experiment.arrivals} arrivals about {rarer:.3g} are of one arm; at least "
                f"{_FEWEST_OF_AN_ARM} are needed, so use more arrivals or a share nearer to one half",
            )
        if design.kind == "switchback":
            for key, left in (
                ("period", design.period),
                ("burn_in", design.period - design.burn_in),
            ):
                if left * cell.rate < 1:
                    _refuse(
                        cell,
                        f"designs.{name}.{key}",
                        f"a block keeps {left:.3g} mean service times, in which {left * cell.rate:.3g} "
                        "jobs arrive; at least one is needed",
                    )


def _check_delays(cell):
    """Refuse information or travel so slow that a record shows neither."""
    experiment = cell.experiment
    duration = experiment.arrivals / cell.rate
    refresh = getattr(experiment.information, "period", math.inf)
    if refresh < _SHORTEST_REFRESH:
        _refuse(
            cell,
            "information.period",
            f"{refresh:g} is hardly old information and costs a refresh each; at least "
            f"{_SHORTEST_REFRESH:g} mean service times, or use kind: fresh",
        )
    for key, value in (
        ("information.age", getattr(experiment.information, "age", 0.0)),
        ("information.period", getattr(experiment.information, "period", 0.0)),
        ("travel_time", experiment.travel_time),
    ):
        if 2 * value > duration:
            _refuse(
                cell,
                key,
                f"{value:g} mean service times are more than half of the record's {duration:.4g}; "
                "use more arrivals or a shorter time",
            )


def _check_horizons_apart(cell):
    horizons = cell.experiment.all_horizons
    for shorter, longer in itertools.pairwise(horizons):
        length = cell.horizon_arrivals(longer)
        if cell.horizon_arrivals(shorter) == length:
            _refuse(
                cell,
                "horizons",
                f"{shorter:g} and {longer:g} mean service times are both {length} arrivals; leave one out",
            )


def _expected_arrivals(setup):
    """Return the expected number of recorded arrivals, refusing less than half a cycle."""
    cell, experiment = setup.cell, setup.cell.experiment
    duration = setup.length().get("duration")
    if duration is None:
        return experiment.arrivals
    cycle = cell.cycle
    if experiment.arrivals < 0.5 * cell.rate * cycle:
        _refuse(
            cell,
            "arrivals",
            f"{experiment.arrivals} are worth less than half a period of {cycle:g} mean service "
            f"times; use at least {round(cell.rate * cycle)}",
        )
    return round(duration * cell.rate)


def _check_stability(cell, system, arm):
    key = ("control", "treatment")[arm]
    name, parameters = system.structure.arms[arm]
    pools = [("", system.speeds, cell.rate)]
    if any(design.kind == "group" for design in cell.designs.values()):
        pools += [
            (" in half of a group design", half, cell.rate * half.sum() / system.speeds.sum())
            for half in extreme_halves(system.speeds)
        ]
    for where, speeds, rate in pools:
        overload = find_overload(speeds, rate, name, parameters)
        if overload:
            certain = policy(name).overload_is_certain
            known = "unstable" if certain else "not known to be stable"
            _refuse(cell, key, f"{name} is {known}{where}: {overload}")
    service = cell.experiment.service
    heavy = service.distribution == "pareto" and service.shape <= _INFINITE_VARIANCE
    if heavy and policy(name).evenly_blind(**parameters):
        _refuse(
            cell,
            "service.shape",
            f"at {service.shape:g} the {key} policy {name}, which ignores the queues, has an infinite "
            f"mean response time; it must be above {_INFINITE_VARIANCE:g}",
        )
