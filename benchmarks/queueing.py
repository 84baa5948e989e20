"""Cost of an arrival: per scenario of the default study, per dispatch policy, per estimator."""

import tempfile
from functools import partial
from pathlib import Path

import yaml

from benchmarks.measure import print_table, take_turns
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import applying, setting_of
from queuebench.pipeline.stages.batches import passing_together
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing.simulation import Workspace
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace

POLICIES = {
    "random": {"policy": "power_of_d", "d": 1},
    "power of 2": {"policy": "power_of_d", "d": 2},
    "power of 5": {"policy": "power_of_d", "d": 5},
    "shortest expected delay of 2": {"policy": "shortest_expected_delay", "d": 2},
    "round robin": {"policy": "round_robin"},
    "join the idle queue": {"policy": "join_idle_queue"},
    "join the shortest queue": {"policy": "join_shortest_queue"},
}


def cells_of(study, **settings):
    """Return the cells of a study, a path or a mapping, with some settings replaced everywhere."""
    if not isinstance(study, dict):
        study = yaml.safe_load(Path(study).read_text())
    study.pop("loss_network", None)
    for scenario in study["scenarios"].values():
        for key in settings:
            scenario.pop(key, None)
    return resolve(parse_study(study | settings))


def simulate(cell, design, replicate, workspace=None):
    """Simulate a replicate without writing it; return the number of arrivals, warm-up included."""
    setup = Setup(cell, design)
    run = setup.replicate(replicate, workspace)
    recorded = sum(len(block.arrival_time) for block in run.blocks(**setup.length()))
    return recorded + setup.warmup * cell.rate


def simulate_and_write(cell, design, turn, path, workspace):
    """Simulate replicates into a trace as a job does; return the number of arrivals."""
    few = len(passing_together(cell, range(1000))[0])
    replicates = range(turn * few, (turn + 1) * few)
    simulate_batch(cell, design, replicates, path, workspace=workspace)
    return few * (cell.experiment.arrivals + Setup(cell).warmup * cell.rate)


def estimate(cell, design, path, names, horizons):
    """Apply estimators to a trace; return the number of recorded arrivals."""
    arrivals = 0
    setting = setting_of(cell, design)
    for replicate in Trace(path):
        record = Record(replicate, setting)
        for estimator in applying(cell, cell.designs[design].kind):
            if names is None or estimator.name in names:
                for horizon in horizons if estimator.uses_horizon else [None]:
                    estimator.function(record, horizon)
        arrivals += replicate.arrivals
    return arrivals


def scenario_table(study, arrivals, load, repeats, command):
    """Print what an arrival costs in every scenario and design of a study."""
    cells = [cell for cell in cells_of(study, arrivals=arrivals) if cell.load == load]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.arrow"
        workspace = Workspace()
        for cell in cells:
            for design, chosen in cell.designs.items():
                costs = take_turns(
                    {
                        "simulate": partial(_simulate, cell, design, workspace),
                        "write": partial(_write, cell, design, path, workspace),
                        "estimate": partial(_estimate, cell, design, path),
                    },
                    repeats,
                )
                rows.append((cell.scenario, f"{design} ({chosen.kind})", *costs.values()))
    print_table(
        f"CPU ns per arrival, replicates of {arrivals} arrivals at load {load}",
        ("scenario", "design", "simulate", "simulate + Arrow", "all estimators"),
        rows,
        command,
    )


def _simulate(cell, design, workspace, turn):
    return simulate(cell, design, turn, workspace)


def _write(cell, design, path, workspace, turn):
    return simulate_and_write(cell, design, turn, path, workspace)


def _estimate(cell, design, path, turn):
    return estimate(cell, design, path, None, cell.experiment.all_horizons)


def policy_table(arrivals, repeats, command, servers=20):
    """Print what an arrival costs under each dispatch policy alone in both arms."""
    rows = []
    workspace = Workspace()
    for name, policy in POLICIES.items():
        study = {
            "seed": 1,
            "arrivals": arrivals,
            "control": policy,
            "treatment": policy,
            "scenarios": {"one": {}},
            "system": {"servers": servers, "loads": [0.9]},
        }
        (cell,) = cells_of(study)
        cost = take_turns({"it": partial(_simulate, cell, "bernoulli", workspace)}, repeats)
        rows.append((name, cost["it"]))
    print_table(
        f"CPU ns per arrival by policy, {servers} servers at load 0.9, without Arrow",
        ("policy in both arms", "simulate"),
        rows,
        command,
    )


def estimator_table(study, arrivals, repeats, command):
    """Print what each estimator costs by itself, and those of the default study together."""
    rows = []
    default = yaml.safe_load(Path(study).read_text())["estimators"]
    with tempfile.TemporaryDirectory() as folder:
        for scenario in ("homogeneous", "nonstationary"):
            (cell,) = (
                cell
                for cell in cells_of(study, arrivals=arrivals, estimators="all")
                if (cell.scenario, cell.load) == (scenario, 0.9)
            )
            for design, chosen in list(cell.designs.items())[:3]:
                path = Path(folder) / f"{scenario}-{design}.arrow"
                simulate_and_write(cell, design, 0, path, None)
                names = [entry.name for entry in applying(cell, chosen.kind)]
                horizons = cell.experiment.all_horizons
                cases = {
                    name: partial(_one_estimator, cell, design, path, [name], horizons)
                    for name in names
                }
                usual = [name for name in names if name in default]
                cases["all of the default study"] = partial(
                    _one_estimator, cell, design, path, usual, horizons
                )
                if cell.designs[design].kind == "bernoulli":
                    family = [name for name in usual if "dq" in name]
                    cases["its DQ family"] = partial(
                        _one_estimator, cell, design, path, family, horizons
                    )
                costs = take_turns(cases, repeats)
                rows += [(scenario, design, name, cost) for name, cost in costs.items()]
    print_table(
        f"CPU ns per arrival by estimator, one horizon, records of {arrivals} arrivals at load 0.9",
        ("scenario", "design", "estimator", "ns"),
        rows,
        command,
    )


def _one_estimator(cell, design, path, names, horizons, turn):
    return estimate(cell, design, path, names, horizons)
