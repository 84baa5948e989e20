"""Figures of docs/rivals.md: every rival on replicates of a few settings, and replay under wrong structures.

Run from the repository's root as ``python -m benchmarks.rivals estimators homogeneous-0.9 --replicates 60``
or ``python -m benchmarks.rivals misspecified delayed --replicates 40``; ``--help`` lists the settings.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from queuebench.config import parse_study, resolve
from queuebench.estimators.inference import intervals
from queuebench.estimators.record import Record
from queuebench.estimators.registry import estimators_for
from queuebench.estimators.replay import MISSPECIFICATIONS, replay_record
from queuebench.estimators.setting import setting_of
from queuebench.experiment import simulate_batch
from queuebench.logs.replicate import LogReplicate, carry_array
from queuebench.model import build_system, replicate_streams
from queuebench.queueing.dispatch import Output, dispatch, new_state
from queuebench.queueing.service import draw_requirements
from queuebench.trace import Trace
from queuebench.truth import simulate_truth

SETTINGS = {
    "homogeneous": {},
    "heterogeneous": {"speeds": {"kind": "two_speed", "ratio": 2.0}},
    "constant": {"service": {"distribution": "constant"}},
    "pareto": {"service": {"distribution": "pareto", "shape": 2.5}},
    "delayed": {
        "information": {"kind": "constant_age", "age": 1.5},
        "treatment": {"policy": "power_of_d", "d": 5},
    },
    "travel": {"travel_time": 0.5},
    "nonstationary": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.2, "period": 200.0}},
}
"""Settings by name, with N = 20 and d = 2 against 3 unless they say otherwise."""


def build_cell(name, load, arrivals, seed):
    """Return the cell of a setting at a load."""
    keys = {
        "seed": seed,
        "arrivals": arrivals,
        "system": {"servers": 20, "loads": [load]},
        "control": {"policy": "power_of_d", "d": 2},
        "treatment": {"policy": "power_of_d", "d": 3},
        "truth": {"max_arrivals": 20_000_000, "relative": 0.005},
    }
    return resolve(parse_study(keys | SETTINGS[name] | {"scenarios": {name: {}}}))[0]


def precise_truth(name, load, runs):
    """Return the effect and its standard error, averaged over simulated truths of several seeds.

    The rule by which one of them stops allows for 0.2 % of the mean response, which is more than the
    error of a replay.
    """
    found = [simulate_truth(build_cell(name, load, 10_000, 1000 + run)) for run in range(runs)]
    effects = np.array([truth.gte for truth in found])
    weights = np.array([truth.arrivals for truth in found])
    error = np.sqrt(np.sum((weights * [truth.gte_se for truth in found]) ** 2)) / weights.sum()
    return float(effects @ weights / weights.sum()), float(error)


def records(cell, replicates):
    """Yield the record of every replicate under the cell's Bernoulli design."""
    setting = setting_of(cell, "bernoulli")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.arrow"
        for number in range(replicates):
            simulate_batch(cell, "bernoulli", range(number, number + 1), path)
            for replicate in Trace(path):
                yield Record(replicate, setting)


def compare_estimators(cell, replicates, wanted, truth):
    """Print bias, spread, coverage and sign of the estimators on replicates of a cell."""
    entries = estimators_for(
        "bernoulli", wanted, periodic=cell.periodic, choices=True, structure=True
    )
    found = {entry.name: [] for entry in entries}
    for record in records(cell, replicates):
        for entry in entries:
            horizon = cell.experiment.horizon if entry.uses_horizon else None
            found[entry.name].append(entry.function(record, horizon))
    print("| estimator | bias | sd | rmse | mean se | covers 95 % | right sign | check rejects |")
    print("|---|---|---|---|---|---|---|---|")
    for name, estimates in found.items():
        print(_row(name, estimates, truth))


def compare_structures(cell, replicates, truth):
    """Print what replay says under each wrong structure, and how often its check rejects it."""
    found = {}
    for record in records(cell, replicates):
        right = record.setting.structure
        for name, wrong in MISSPECIFICATIONS.items():
            if name == "as it is" or not _same(wrong(right), right):
                estimate = replay_record(record, wrong(right)).estimate
                found.setdefault(name, []).append(estimate)
    print("| structure | bias | sd | rmse | mean se | covers 95 % | right sign | check rejects |")
    print("|---|---|---|---|---|---|---|---|")
    for name, estimates in found.items():
        print(_row(name, estimates, truth))


def slowing_records(cell, replicates, slope):
    """Yield records of a system whose servers slow down under load, which no structure can say.

    The service of a job that meets q others takes ``1 + slope * q`` times as long.
    """
    system = build_system(cell)
    setting = setting_of(cell, "bernoulli")
    for number in range(replicates):
        streams = replicate_streams(cell, "bernoulli", number)
        rng = streams("arms")
        warm = int(300 * cell.rate)
        n = warm + cell.experiment.arrivals
        arrival, requirement = np.empty(n), np.empty(n)
        system.arrivals(streams("arrivals"), -300.0).fill(arrival)
        draw_requirements(
            streams("service"), system.distribution, system.service_parameters, requirement
        )
        treated = (rng.random(n) < 0.5).astype(np.uint8)
        out = _dispatch_slowing(system, streams, arrival, requirement, treated, slope)
        yield Record(_as_replicate(number, warm, arrival, treated, out), setting)


def _dispatch_slowing(system, streams, arrival, requirement, treated, slope):
    """Dispatch one arrival at a time and lengthen its service by what it met."""
    n = len(arrival)
    rules = system.rules()
    state = new_state(rules, 256)
    out = Output(
        np.empty(n), np.empty(n), *(np.empty(n, np.int32) for _ in range(2)),
        *((np.zeros(n, np.int32), np.zeros(n, np.int32)) for _ in range(3)),
    )  # fmt: skip
    words = streams("routing").bit_generator.random_raw(n * 4).view(np.uint32).reshape(n, -1)
    for j in range(n):
        dispatch(j, arrival[: j + 1], requirement, treated, words, rules, state, out)
        s = out.server[j]
        longer = slope * out.queue_length[j] * requirement[j] / system.speeds[s]
        state.departure[s, (state.joined[s] - 1) & 255] += longer
        state.free[s] += longer
        out.departure[j] += longer
        out.response_time[j] += longer
    return out


def _as_replicate(number, warm, arrival, treated, out):
    """Return the arrivals after a warm-up as a record that starts at the first of them."""
    start = arrival[warm]
    staying = np.flatnonzero(out.departure[:warm] > start)
    carry = carry_array(
        {
            "server": out.server[staying],
            "arrival": arrival[staying] - start,
            "start": np.zeros(len(staying)),
            "departure": out.departure[staying] - start,
        }
    )
    columns = {
        "arrival_time": arrival[warm:] - start,
        "treated": treated[warm:],
        "server": out.server[warm:],
        "queue_length": out.queue_length[warm:],
        "response_time": out.response_time[warm:],
    }
    size = len(arrival) - warm
    return LogReplicate(number, size, 0.0, float(arrival[-1] - start), carry, columns)


def check_slowing(cell, replicates, slope):
    """Print how often the check rejects where servers slow down under load."""
    found = [
        replay_record(record, record.setting.structure).estimate
        for record in slowing_records(cell, replicates, slope)
    ]
    print(f"slope {slope:g}: check rejects {np.mean([e.check < 0.05 for e in found]):.2f}")


def _same(one, other):
    return all(np.array_equal(value, vars(other)[key]) for key, value in vars(one).items())


def _row(name, estimates, truth):
    values = np.array([e.value for e in estimates])
    errors = np.array([e.standard_error for e in estimates])
    limits = [intervals(e.value, e.standard_error, e.freedom) for e in estimates]
    covers = np.mean([b["lower_95"] <= truth <= b["upper_95"] for b in limits])
    checks = np.array([e.check for e in estimates])
    rejects = "" if np.isnan(checks).all() else f"{np.mean(checks < 0.05):.2f}"
    bias = values.mean() - truth
    rmse = np.sqrt(np.mean((values - truth) ** 2))
    sign = np.mean(np.sign(values) == np.sign(truth))
    return (
        f"| `{name}` | {bias:+.4f} | {values.std(ddof=1):.4f} | {rmse:.4f} | {errors.mean():.4f} | "
        f"{covers:.2f} | {sign:.2f} | {rejects} |"
    )


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["estimators", "misspecified"])
    parser.add_argument("setting", help=f"one of {', '.join(SETTINGS)}, then - and the load")
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--arrivals", type=int, default=100_000)
    parser.add_argument("--truths", type=int, default=16, help="simulated truths to average")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slope", type=float, help="misspecified: servers that slow down instead")
    parser.add_argument("--only", nargs="+", default="all")
    given = parser.parse_args()
    name, load = given.setting.rsplit("-", 1)
    cell = build_cell(name, float(load), given.arrivals, given.seed)
    truth, error = precise_truth(name, float(load), given.truths)
    print(f"{given.setting}: effect {truth:.4f} with standard error {error:.4f}")
    if given.what == "estimators":
        compare_estimators(cell, given.replicates, given.only, truth)
    else:
        if given.slope is not None:
            check_slowing(cell, given.replicates, given.slope)
            return
        compare_structures(cell, given.replicates, truth)


if __name__ == "__main__":
    main()
