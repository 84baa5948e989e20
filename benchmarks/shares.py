"""Figures of docs/shares.md.

``python -m benchmarks.shares tables results`` prints them from the results of `config/shares.yaml`;
``python -m benchmarks.shares coverage`` prints how often 95 % intervals hold the effect, with more
replicates than that study has.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.rivals import _print
from queuebench.estimators.common.inference import intervals
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import applying, setting_of
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing.oracle import mm1_response
from queuebench.results.tables.crossover import crossing
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace

_SHOWN = [
    ("bernoulli", "mixed_dq"), ("bernoulli", "mixed_dq_coupled"), ("bernoulli", "lstd_dq"),
    ("group", "group"),
    ("switchback_30", "switchback_corrected"), ("switchback_300", "switchback_burn_in"),
    ("switchback_300", "switchback_corrected"), ("gauss", "mixed_dq_coupled_quadrature"),
    ("gauss", "dq_lambda_coupled_quadrature"), ("gauss", "lstd_dq_quadrature"), ("gauss", "levels"),
    ("gauss", "mixed_dq_coupled_with_levels"), ("gauss", "dq_lambda_coupled_with_levels"),
    ("gauss", "lstd_dq_with_levels"), ("ends", "levels"), ("ends", "mixed_dq_coupled_with_levels"),
    ("ends", "lstd_dq_with_levels"), ("ends", "replay_shares"),
]  # fmt: skip
_AGAINST = [
    ("bernoulli", "mixed_dq"), ("group", "group"), ("switchback_30", "switchback_corrected"),
    ("switchback_300", "switchback_corrected"),
]  # fmt: skip
_NEW = [
    ("gauss", "levels"), ("gauss", "lstd_dq_with_levels"), ("ends", "levels"),
    ("ends", "lstd_dq_with_levels"),
]  # fmt: skip


def print_tables(folder):
    """Print what docs/shares.md shows of the results of `config/shares.yaml`."""
    mse = pd.read_csv(Path(folder) / "tables" / "mse.csv")
    mse = mse[mse["main"]].set_index(["design", "estimator"])
    cells = list(dict.fromkeys(zip(mse["scenario"], mse["load"], strict=True)))
    own = {cell: mse[(mse["scenario"] == cell[0]) & (mse["load"] == cell[1])] for cell in cells}
    for title, show in (
        ("Share of the effect missed, and standard deviation, in % of the effect", _missed),
        ("Root mean squared error in % of the effect", _rmse),
    ):
        print(f"\n## {title}\n")
        rows = []
        for design, estimator in _SHOWN:
            found = [show(own[cell], (design, estimator)) for cell in cells]
            named = {"design": design, "estimator": f"`{estimator}`"}
            rows.append(named | dict(zip(map(_name, cells), found, strict=True)))
        _print(pd.DataFrame(rows))
    print("\n## Arrivals from which the mean squared error is the lower one\n")
    _print(pd.DataFrame([_crossings(cell, own[cell], new) for cell in cells for new in _NEW]))


def _name(cell):
    return f"{cell[0].replace('_', ' ')}, {cell[1]:g}"


def _missed(rows, key):
    if key not in rows.index or not rows["gte"].iloc[0]:
        return ""
    row = rows.loc[key]
    scale = -100 / abs(row["gte"]) * np.sign(row["gte"])
    return f"{scale * row['bias']:.1f} ± {abs(scale) * row['bias_se']:.1f}; {abs(scale) * row['sd']:.1f}"


def _rmse(rows, key):
    if key not in rows.index or not rows["gte"].iloc[0]:
        return ""
    row = rows.loc[key]
    return f"{100 * np.sqrt(max(row['mse'], 0.0)) / abs(row['gte']):.1f}"


def _crossings(cell, rows, new):
    found = {"cell": _name(cell), "new": f"`{new[1]}` ({new[0]})"}
    for key in _AGAINST:
        found[f"`{key[1]}` ({key[0]})"] = ""
        if new in rows.index and key in rows.index:
            parts = [part for one in (new, key) for part in _parts(rows.loc[one])]
            length = float(crossing(*parts))
            found[f"`{key[1]}` ({key[0]})"] = (
                "always"
                if length == 0
                else "never"
                if np.isinf(length)
                else f"{float(f'{length:.2g}'):,.0f}"
            )
    return found


def _parts(row):
    """Return squared bias, its error taken off, and the variance times the arrivals."""
    b2 = max(0.0, row["bias"] ** 2 - row["bias_se"] ** 2)
    return b2, np.float64(row["sd"] ** 2 * row["arrivals"])


_CONTRASTS = {"weak": (2, 3), "medium": (2, 5), "strong": (1, 2)}
_DESIGNS = {"gauss": 3, "ends": [0.0, 0.0, 0.5, 1.0, 1.0]}
_COVERED = ["levels", "mixed_dq_coupled_with_levels"]
# Length in arrivals, period, burn-in and horizon by load.
_LENGTHS = {
    0.5: (2e5, 150.0, 40.0, 15.0),
    0.7: (4e5, 300.0, 100.0, 20.0),
    0.8: (8e5, 600.0, 200.0, 30.0),
}
_SERVERS = 10


def print_coverage(replicates, loads, contrasts):
    """Print the share of 95 % intervals that hold the effect, by load and contrast, and A/A false alarms."""
    rows = []
    for name in contrasts:
        for load in loads:
            rows += _coverage(name, load, replicates)
            _print(pd.DataFrame(rows[-len(_DESIGNS) * len(_COVERED) :]))
    print("\n")
    _print(pd.DataFrame(rows))


def _coverage(name, load, replicates):
    arms = _CONTRASTS.get(name, (2, 2))
    arrivals, period, burn_in, horizon = _LENGTHS[load]
    study = {
        "seed": 20261203, "arrivals": int(arrivals), "horizon": horizon,
        "system": {"servers": _SERVERS, "loads": [load]},
        "control": {"policy": "power_of_d", "d": arms[0]},
        "treatment": {"policy": "power_of_d", "d": arms[1]},
        "designs": {"bernoulli": None} | {
            design: {"kind": "shares", "shares": shares, "period": period, "burn_in": burn_in}
            for design, shares in _DESIGNS.items()
        },
        "estimators": _COVERED, "scenarios": {"one": {}},
    }  # fmt: skip
    (cell,) = resolve(parse_study(study))
    effect = _effect(cell, arms)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.arrow"
        for design in _DESIGNS:
            setting, found = setting_of(cell, design), {name: [] for name in _COVERED}
            for number in range(replicates):
                simulate_batch(cell, design, range(number, number + 1), path)
                (replicate,) = Trace(path)
                record = Record(replicate, setting)
                for entry in applying(cell, "shares"):
                    one = entry.function(record, horizon if entry.uses_horizon else None)
                    ends = intervals(one.value, one.standard_error, one.freedom)
                    found[entry.name].append(
                        (one.value, ends["lower_95"] <= effect <= ends["upper_95"])
                    )
            for estimator, values in found.items():
                value, covers = np.array(values).T
                scale = 100 / abs(effect) if effect else 1.0
                error = np.sqrt(covers.mean() * (1 - covers.mean()) / replicates)
                rows.append({
                    "contrast": name, "load": load, "design": design, "estimator": f"`{estimator}`",
                    "bias": f"{scale * (value.mean() - effect):+.2f}{' %' if effect else ''}",
                    "sd": f"{scale * value.std(ddof=1):.3g}{' %' if effect else ''}",
                    "holds the effect, %": f"{100 * covers.mean():.1f} ± {100 * error:.1f}",
                })  # fmt: skip
    return rows


def _effect(cell, arms):
    """Return the effect from two long runs, a closed form in place of random routing."""
    if arms[0] == arms[1]:
        return 0.0
    setup, means = Setup(cell), []
    for arm in (0, 1):
        total = jobs = 0.0
        for block in setup.pure(arm).blocks(arrivals=40_000_000):
            total += block.response_time.sum()
            jobs += len(block.response_time)
        means.append(total / jobs)
    if arms[0] == 1:
        means[0] = mm1_response(cell.load)
    return means[1] - means[0]


def main():
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("tables").add_argument("results")
    coverage = commands.add_parser("coverage")
    coverage.add_argument("--replicates", type=int, default=1000)
    coverage.add_argument("--loads", type=float, nargs="+", default=list(_LENGTHS))
    coverage.add_argument("--contrasts", nargs="+", default=[*_CONTRASTS, "none"])
    chosen = parser.parse_args()
    if chosen.command == "tables":
        print_tables(chosen.results)
    else:
        print_coverage(chosen.replicates, chosen.loads, chosen.contrasts)


if __name__ == "__main__":
    main()
