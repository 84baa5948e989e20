"""Figures of docs/rivals.md that no table of a study holds.

``python -m benchmarks.rivals tables results`` prints, for every cell of a study that was run, what its
estimators are worth; ``python -m benchmarks.rivals slowing --slope 0.1`` how often replay's check
notices servers that slow down under load, which no study can say; ``python -m benchmarks.rivals replay
0.5 0.9`` how well replay's intervals cover, with more replicates than a study of every estimator affords.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from queuebench.estimators.common.inference import intervals
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.replay import LEVEL, replay, replay_record
from queuebench.logs.record.replicate import LogReplicate
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing.dispatch import Output, dispatch, new_state
from queuebench.queueing.service import draw_requirements
from queuebench.queueing.system import dispatch_rules
from queuebench.results.tables.rows import CELL, ROW
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace, carry_array

_SHOWN = [
    ("replay", None), ("lstd_dq_state", None), ("doubly_robust_dq_lambda", 3), ("dq_lambda_coupled", 3),
    ("mixed_dq_coupled", 3), ("mixed_dq_coupled", 30), ("lstd_dq", None), ("mixed_dq", 3),
    ("switchback_corrected", None), ("naive", None),
]  # fmt: skip
_STANDS_FOR = {
    "structural": "replay", "model_based": "LSTD", "model_free": "coupled", "_": " and ",
}  # fmt: skip
_WHOLE = [("homogeneous", 0.8), ("constant_service", 0.9), ("wrong_sign", 0.9)]
"""Cells of which every estimator is shown."""


def print_tables(folder):
    """Print what docs/rivals.md shows of the results of `config/rivals.yaml`.

    Parameters
    ----------
    folder : str or pathlib.Path
        The study's results.
    """
    folder = Path(folder)
    mse, checks, disagreement, sign = (
        pd.read_csv(folder / "tables" / f"{name}.csv")
        for name in ("mse", "checks", "disagreement", "sign")
    )
    print("## Mean squared error of `mixed_dq` at horizon 30 over that of others\n")
    _print(_ratios(mse))
    print("\n## Arrivals for the right sign in 95 % of experiments\n")
    _print(_signs(sign))
    print("\n## What the check says\n")
    _print(_checked(checks))
    print("\n## Do estimators disagree?\n")
    _print(_compared(disagreement))
    estimates = pd.read_parquet(folder / "estimates.parquet")
    truth = pd.read_parquet(folder / "truth.parquet").set_index(CELL)
    print("\n## Every estimator in some cells")
    for key in _WHOLE:
        gte, error = truth.loc[key, ["gte", "gte_se"]]
        cell = estimates[(estimates["scenario"] == key[0]) & (estimates["load"] == key[1])]
        print(f"\n**{key[0]}, load {key[1]:g}**, effect {gte:.4f} ± {error:.4f}:\n")
        rows = [_worth(name, group, gte) for name, group in cell.groupby(ROW[2:], dropna=False)]
        table = pd.DataFrame(rows).sort_values("MSE", kind="stable")
        table["MSE"] = [f"{mse:.3g}" for mse in table["MSE"]]
        _print(table)


def _print(table):
    print("| " + " | ".join(table.columns) + " |")
    print("|" + "---|" * len(table.columns))
    for row in table.itertuples(index=False):
        print("| " + " | ".join(str(value) for value in row) + " |")


def _name(estimator, horizon):
    known = horizon is not None and not np.isnan(horizon)
    return f"`{estimator}`" + (f", {horizon:g}" if known else "")


def _short(value):
    """Return a positive number with two digits that count; infinite is never."""
    if np.isinf(value):
        return "never"
    rounded = float(f"{value:.2g}")
    return f"{rounded:,.0f}" if rounded >= 10 else f"{rounded:g}"


def _select(table, estimator, horizon):
    same = table["horizon"].isna() if horizon is None else table["horizon"] == horizon
    return table[(table["estimator"] == estimator) & same].set_index(CELL)


def _cells(rows):
    return [f"{scenario.replace('_', ' ')}, {load:g}" for scenario, load in rows]


def _ratios(mse):
    base = _select(mse, "mixed_dq", 30)["mse"]
    table = pd.DataFrame({"cell": _cells(base.index)}, index=base.index)
    for estimator, horizon in _SHOWN:
        own = _select(mse, estimator, horizon)["mse"]
        ratio = (base / own).reindex(base.index)
        table[_name(estimator, horizon)] = ["" if np.isnan(r) else _short(r) for r in ratio]
    return table


def _signs(sign):
    columns = {}
    for estimator, horizon in [*_SHOWN, ("mixed_dq", 30)]:
        columns[_name(estimator, horizon)] = _select(sign, estimator, horizon)
    cells = _WHOLE
    return pd.DataFrame(
        {"estimator": list(columns)}
        | {
            name: [_arrivals(own, key) for own in columns.values()]
            for name, key in zip(_cells(cells), cells, strict=True)
        }
    )


def _arrivals(rows, key):
    if key not in rows.index:
        return ""
    row = rows.loc[key]
    shown, *ends = (_short(row[name]) for name in ("arrivals", "lower", "upper"))
    return shown if {shown} == set(ends) else f"{shown} ({' to '.join(ends)})"


def _checked(checks):
    cells = checks.set_index(CELL).index
    return pd.DataFrame(
        {
            "cell": _cells(cells),
            "effect": [f"{gte:+.3f}" for gte in checks["gte"]],
            "bias": [f"{bias:+.4f}" for bias in checks["bias"]],
            "sd": [f"{sd:.4f}" for sd in checks["sd"]],
            "right sign": [f"{share:.2f}" for share in checks["right_sign"]],
            "check rejects": [f"{share:.2f}" for share in checks["rejected"]],
        }
    )


def _compared(disagreement):
    wide = disagreement.pivot_table(index=CELL, columns="compared", values="fires", sort=False)
    names = [name for name in wide.columns if name != "all"]
    table = pd.DataFrame({"cell": _cells(wide.index)}, index=wide.index)
    for name in ["all", *names]:
        shares = ["" if np.isnan(share) else f"{share:.2f}" for share in wide[name]]
        table[
            name.replace("structural", "replay")
            .replace("model_based", "LSTD")
            .replace("model_free", "mixed")
            .replace("_", " and ")
        ] = shares
    return table


def _worth(name, group, gte):
    """Return what one estimator is worth in a cell."""
    _, estimator, horizon = name
    values = group["estimate"]
    known = group[group["lower_95"].notna()]
    covers = known["lower_95"].le(gte) & known["upper_95"].ge(gte)
    checks = group["check"].dropna()
    return {
        "estimator": _name(estimator, horizon),
        "bias": f"{values.mean() - gte:+.4f}",
        "sd": f"{values.std():.4f}",
        "MSE": ((values - gte) ** 2).mean(),
        "mean se": f"{known['estimate_se'].mean():.4f}" if len(known) else "",
        "covers 95 %": f"{covers.mean():.2f}" if len(known) else "",
        "right sign": f"{(np.sign(values) == np.sign(gte)).mean():.2f}",
        "check rejects": f"{(checks < 0.05).mean():.2f}" if len(checks) else "",
    }


SHOWCASE = {
    "information": {"kind": "constant_age", "age": 1.5},
    "treatment": {"policy": "power_of_d", "d": 5},
}


def build_cell(load, arrivals, seed, **keys):
    """Return a homogeneous cell of 20 servers, with some keys of its own."""
    study = {
        "seed": seed,
        "arrivals": arrivals,
        "system": {"servers": 20, "loads": [load]},
        "scenarios": {"one": {}},
    }
    return resolve(parse_study(study | keys))[0]


def print_coverage(cells, replicates):
    """Print how replay's standard errors, intervals and check do over many replicates.

    Parameters
    ----------
    cells : dict of str to queuebench.study.cells.Cell
    replicates : int
    """
    rows = []
    for name, cell in cells.items():
        found = [replay(record) for record in records(cell, replicates)]
        values = np.array([estimate.value for estimate in found])
        errors = np.array([estimate.standard_error for estimate in found])
        limits = [intervals(e.value, e.standard_error, e.freedom) for e in found]
        mean = values.mean()
        covers = np.mean([ends["lower_95"] <= mean <= ends["upper_95"] for ends in limits])
        rejects = np.mean([estimate.check < LEVEL for estimate in found])
        rows.append(
            {
                "cell": name,
                "mean": f"{mean:.4f} ± {values.std(ddof=1) / np.sqrt(replicates):.4f}",
                "sd": f"{values.std(ddof=1):.4f}",
                "mean se": f"{errors.mean():.4f}",
                "covers its mean, 95 %": f"{covers:.3f}",
                "check rejects": f"{rejects:.3f}",
            }
        )
    _print(pd.DataFrame(rows))


def records(cell, replicates):
    """Yield the record of every replicate under the cell's Bernoulli design."""
    setting = setting_of(cell, "bernoulli")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.arrow"
        for number in range(replicates):
            simulate_batch(cell, "bernoulli", range(number, number + 1), path)
            for replicate in Trace(path):
                yield Record(replicate, setting)


def slowing_records(cell, replicates, slope):
    """Yield records of a system whose servers slow down under load, which no structure can say.

    The service of a job that meets q others takes ``1 + slope * q`` times as long.
    """
    setup = Setup(cell, "bernoulli")
    system = setup.system
    setting = setting_of(cell, "bernoulli")
    for number in range(replicates):
        streams = setup.streams(number)
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
    rules = dispatch_rules(system.structure)
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


def main():
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    tables = commands.add_parser("tables", help="what the estimators of a study are worth")
    tables.add_argument("results", help="folder of the study's results")
    tables.set_defaults(run=lambda given: print_tables(given.results))
    slowing = commands.add_parser("slowing", help="servers that slow down under load")
    slowing.add_argument("--slope", type=float, required=True)
    slowing.add_argument("--load", type=float, default=0.7)
    slowing.add_argument("--arrivals", type=int, default=100_000)
    slowing.add_argument("--replicates", type=int, default=12)
    slowing.add_argument("--seed", type=int, default=1)
    slowing.set_defaults(
        run=lambda given: check_slowing(
            build_cell(given.load, given.arrivals, given.seed), given.replicates, given.slope
        )
    )
    covering = commands.add_parser("replay", help="how well replay's intervals cover")
    covering.add_argument(
        "loads", type=float, nargs="+", help="the showcase is at load 0.9 besides"
    )
    covering.add_argument("--arrivals", type=int, default=100_000)
    covering.add_argument("--replicates", type=int, default=300)
    covering.add_argument("--seed", type=int, default=777)
    covering.set_defaults(run=_cover)
    given = parser.parse_args()
    given.run(given)


def _cover(given):
    cells = {
        f"homogeneous, {load:g}": build_cell(load, given.arrivals, given.seed)
        for load in given.loads
    }
    cells["showcase, 0.9"] = build_cell(0.9, given.arrivals, given.seed, **SHOWCASE)
    print_coverage(cells, given.replicates)


if __name__ == "__main__":
    main()
