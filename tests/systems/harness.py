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

from queuebench.log_plan import plan_log
from queuebench.logs.analysis import analyze_log
from queuebench.logs.errors import LogError
from queuebench.logs.findings import WARNING

from .catalogue import ALL, SYSTEMS, simulate_jobs
from .truth import LOADS, known_effect

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


@dataclass(frozen=True)
class Headline:
    """The number that a report asks its reader to believe.

    Attributes
    ----------
    lower, upper : float
        Ends of its interval, or of the band of its caution where that is wider; NaN where the report
        gives no number.
    warned : bool
        Whether the report says that the number may not be the effect, or gives none.
    """

    lower: float
    upper: float
    warned: bool


def headline(analysis):
    """Return what a reader takes for the result: the estimate that `plan` takes for the effect."""
    warned = any(found.kind == WARNING for found in analysis.findings)
    try:
        name = plan_log(analysis).reference
    except LogError:
        return Headline(math.nan, math.nan, warned=True)
    row = next(row for row in analysis.rows if row["main"] and row["estimator"] == name)
    return Headline(row["lower_95"], row["upper_95"], warned)


def misses_in_silence(head, truth):
    """Whether a headline without a warning has an interval that leaves the truth out."""
    return not head.warned and not head.lower <= truth <= head.upper


def silent_misses(analyses, truths, headline=headline):
    """Return the share of logs whose headline number misses the truth in silence.

    Parameters
    ----------
    analyses : sequence of queuebench.logs.LogAnalysis
    truths : sequence of float
        The effect in each of them.
    headline : Callable, optional
        From an analysis to its `Headline`.
    """
    pairs = zip(analyses, truths, strict=True)
    return float(np.mean([misses_in_silence(headline(made), truth) for made, truth in pairs]))


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
    given = parser.parse_args()
    pd.set_option("display.width", 120)
    for system in given.systems:
        for contrast in given.contrasts:
            for load in given.loads:
                _print_cell(system, contrast, load, given)


def _print_cell(system, contrast, load, given):
    began, analyses = time.perf_counter(), []
    for seed in range(given.logs):
        log = simulate(
            system, contrast, load, seed, given.arrivals,
            choices=not given.no_choices, structure=given.structure,
        )  # fmt: skip
        analyses.append(analyze(log))
    each = (time.perf_counter() - began) / given.logs
    truth, error, control = known_effect(system, contrast, load)
    print(
        f"\n## {system}, {contrast}, load {load:g}: effect {truth:.4f} ± {error:.4f} "
        f"of a mean response {control:.3f}; {given.logs} logs of {given.arrivals:,}, {each:.1f} s each"
    )
    print(table(analyses, truth).to_string(float_format="{:.3f}".format))
    silent = silent_misses(analyses, [truth] * len(analyses))
    print(f"  {silent:4.0%}  headline misses the effect in silence")
    for name, share in finding_rates(analyses).items():
        print(f"  {share:4.0%}  {name}", flush=True)


if __name__ == "__main__":
    main()
