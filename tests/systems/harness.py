"""What `queuebench analyze` says about logs of systems that the package did not simulate.

``python -m tests.systems.harness`` prints, for each system, contrast and load, the estimators' bias and
coverage against the true effect, and how often each finding fires.
"""

import argparse
import math
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from queuebench.logs.analysis import analyze_log
from queuebench.logs.findings import WARNING
from tests.systems.catalogue import ALL, SYSTEMS, simulate_jobs
from tests.systems.truth import LOADS, known_effect

LEAD_IN = 300.0
"""Mean service times left out of each record, in which the system fills up."""


@dataclass(frozen=True)
class Log:
    """A log as somebody would hand it in.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per job, in order of arrival.
    description : dict
        The content of its description in YAML.
    cell : tuple
        System, contrast and load.
    """

    frame: pd.DataFrame
    description: dict
    cell: tuple

    @property
    def truth(self):
        """The effect on the mean response; minutes of simulation if the table of truths lacks it."""
        return known_effect(*self.cell)[0]


def simulate(system, contrast, load, seed, arrivals, choices=True, structure=False):
    """Simulate an experiment and write down what its log would say.

    Parameters
    ----------
    system : str
        In `catalogue.ALL`.
    contrast : {"weak", "medium", "strong"}
    load : float
    seed : int
    arrivals : int
        Rows, a lead-in of `LEAD_IN` among them.
    choices : bool, optional
        Whether the log has both arms' choices.
    structure : bool, optional
        Whether the description says how jobs are dispatched (as if first come, first served, and by
        length alone: true for ``fcfs``, its variants, and the systems that differ in arrivals only).

    Returns
    -------
    Log
    """
    kind = ALL[system]
    jobs = simulate_jobs(kind, contrast, load, (seed, 0), arrivals)
    arm = jobs.treated.astype(int)
    columns = {
        "arrival": jobs.arrival,
        "departure": jobs.departure,
        "arm": np.array(["A", "B"])[arm],
        "server": _names(jobs.chosen[arm, np.arange(arrivals)]),
    }
    roles = {
        "arrival_time": "arrival", "departure_time": "departure", "arm": "arm", "server": "server"
    }  # fmt: skip
    if choices:
        for number, name in enumerate(["server_if_control", "server_if_treated"]):
            columns[name] = _names(jobs.chosen[number])
            roles[name] = name
    if jobs.kind is not None:
        columns["class"] = np.array(["short", "long"])[jobs.kind]
        columns["size"] = jobs.requirement
    if jobs.user is not None:
        columns["user"] = np.char.add("u", jobs.user.astype(str))
        roles["user"] = "user"
    description = {"columns": roles, "treatment": "B", "time_unit": "s", "lead_in": LEAD_IN}
    if not kind.first_come:
        description["mean_service_time"] = 1.0
    if structure:
        description["structure"] = {
            key: {"policy": "power_of_d", "d": d}
            for key, d in zip(["control", "treatment"], kind.contrasts[contrast], strict=True)
        }
    frame = pd.DataFrame(columns)
    if not kind.keep_quitters:
        frame = frame[~jobs.quit]
    return Log(frame, description, (system, contrast, load))


def _names(servers):
    return np.char.add("s", servers.astype(str))


def analyze(log):
    """Have `queuebench analyze` read a log from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "experiment.parquet"
        log.frame.to_parquet(path)
        return analyze_log(path, log.description)


def table(analyses, truth):
    """Summarise the main estimates of logs of one experiment.

    Returns
    -------
    pandas.DataFrame
        By estimator: logs with it, mean, spread, mean standard error, bias as a percentage of the
        effect, and how many of the 95 % intervals cover the effect.
    """
    rows = pd.DataFrame([row for made in analyses for row in made.rows if row["main"]])
    rows["covers"] = (rows["lower_95"] <= truth) & (truth <= rows["upper_95"])
    grouped = rows.groupby("estimator", sort=False)
    out = grouped.agg(
        logs=("estimate", "size"), mean=("estimate", "mean"), sd=("estimate", "std"),
        mean_se=("estimate_se", "mean"), coverage=("covers", "mean"),
    )  # fmt: skip
    out.insert(4, "bias_%", 100 * (out["mean"] - truth) / abs(truth))
    return out


def finding_rates(analyses):
    """Return the share of logs in which each finding fires, by kind and name."""
    fired = Counter(
        f"{kind} {name}" for made in analyses for kind, name in {f[:2] for f in made.findings}
    )
    return pd.Series(fired, dtype=float).sort_values(ascending=False) / len(analyses)


def misses_in_silence(analysis, truth):
    """Whether a report gives an interval for the effect, and it leaves the truth out."""
    head = analysis.headline
    return not math.isnan(head.effect) and not head.effect_lower <= truth <= head.effect_upper


def headlines(analyses, truth):
    """Return what the headlines of logs of one experiment say, for a line of a table.

    Returns
    -------
    dict
        ``identified``: logs whose report gives an interval for the effect; ``missed``: those of them
        whose interval leaves the truth out; ``nothing``: logs of which no number is to be believed;
        ``warned``: logs with a warning; ``slope``, ``effect`` and ``width``: means of the slope, of the
        effect, and of its interval's width, NaN where there is none.
    """
    heads = [made.headline for made in analyses]
    known = [head for head in heads if not math.isnan(head.effect)]
    slopes = [head.estimate for head in heads if head.estimator is not None]
    return {
        "logs": len(heads),
        "identified": len(known),
        "missed": sum(misses_in_silence(made, truth) for made in analyses),
        "nothing": sum(head.estimator is None for head in heads),
        "warned": sum(any(f.kind == WARNING for f in made.findings) for made in analyses),
        "slope": float(np.mean(slopes)) if slopes else math.nan,
        "effect": float(np.mean([head.effect for head in known])) if known else math.nan,
        "width": (
            float(np.mean([head.effect_upper - head.effect_lower for head in known]))
            if known
            else math.nan
        ),
    }


def main():
    """Print the tables of all systems asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=ALL)
    parser.add_argument("--contrasts", nargs="+", default=["weak", "medium", "strong"])
    parser.add_argument("--loads", nargs="+", type=float, default=LOADS)
    parser.add_argument("--logs", type=int, default=40)
    parser.add_argument("--arrivals", type=int, default=50_000)
    parser.add_argument("--structure", action="store_true", help="say how jobs are dispatched")
    parser.add_argument("--no-choices", action="store_true", help="leave both arms' choices out")
    parser.add_argument("--headlines", action="store_true", help="one line per experiment only")
    given = parser.parse_args()
    if given.headlines:
        _print_headlines(given)
        return
    pd.set_option("display.width", 120)
    for system in given.systems:
        for contrast in given.contrasts:
            for load in given.loads:
                _print_cell(system, contrast, load, given)


def _analyses(system, contrast, load, given):
    for seed in range(given.logs):
        log = simulate(
            system, contrast, load, seed, given.arrivals,
            choices=not given.no_choices, structure=given.structure,
        )  # fmt: skip
        yield analyze(log)


def _print_headlines(given):
    """Print what the headlines say as a Markdown table."""
    print("| system | contrast | load | truth | slope | effect | width | of logs | identified | missed |"
          " nothing | warned |")  # fmt: skip
    print("|---" * 12 + "|")
    for system in given.systems:
        for contrast in given.contrasts:
            for load in given.loads:
                truth = known_effect(system, contrast, load)[0]
                said = headlines(list(_analyses(system, contrast, load, given)), truth)
                numbers = [truth, *(said[name] for name in ("slope", "effect", "width"))]
                cells = ["" if math.isnan(value) else f"{value:.3g}" for value in numbers]
                cells += [
                    str(said[k]) for k in ("logs", "identified", "missed", "nothing", "warned")
                ]
                print(f"| {system} | {contrast} | {load:g} | {' | '.join(cells)} |", flush=True)


def _print_cell(system, contrast, load, given):
    began = time.perf_counter()
    analyses = list(_analyses(system, contrast, load, given))
    each = (time.perf_counter() - began) / given.logs
    truth, error, control = known_effect(system, contrast, load)
    print(
        f"\n## {system}, {contrast}, load {load:g}: effect {truth:.4f} ± {error:.4f} "
        f"of a mean response {control:.3f}; {given.logs} logs of {given.arrivals:,}, {each:.1f} s each"
    )
    print(table(analyses, truth).to_string(float_format="{:.3f}".format))
    said = headlines(analyses, truth)
    print(f"  {said['identified'] / len(analyses):4.0%}  headline gives an interval for the effect")
    print(f"  {said['missed'] / len(analyses):4.0%}  and it leaves the effect out")
    for name, share in finding_rates(analyses).items():
        print(f"  {share:4.0%}  {name}", flush=True)


if __name__ == "__main__":
    main()
