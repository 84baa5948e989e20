"""What a job costs before and beside its kernels, and how much of a study is kernels."""

import csv
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks.measure import print_table, run_alone

ROOT = Path(__file__).parents[1]
ESTIMATORS = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()).get("estimators", "all")
"""Those of the default study: some that nobody gets unasked cost a thousand times as much."""

_SCRIPTS = ROOT / "workflow" / "scripts"
_SCRIPT_OF = {"loss": "loss_paths"}
_TINY_JOB = """
import tempfile
from pathlib import Path
from queuebench.batches import simulate_and_estimate
from queuebench.config import parse_study, resolve
from queuebench.kernels import ensure_compiled
ensure_compiled()
study = {"seed": 0, "arrivals": ARRIVALS, "scenarios": {"one": {}}, "estimators": ESTIMATORS}
cell = resolve(parse_study(study))[-1]
with tempfile.TemporaryDirectory() as folder:
    outputs = [Path(folder) / name for name in ("estimates", "diagnostics")]
    simulate_and_estimate(cell, range(REPLICATES), outputs)
"""


def job_start(script):
    """Return the code a script of the workflow runs before its work: its imports, warm kernels."""
    text = (_SCRIPTS / f"{script}.py").read_text()
    imports = re.findall(r"^(?:import|from) .*(?:\(\n(?:.*\n)*?\))?$", text, re.MULTILINE)
    return "\n".join([*imports, "ensure_compiled()"])


def start_up(repeats):
    """Return seconds on the wall, CPU seconds and MiB that each kind of job needs to get going."""
    with_kernels = [
        path for path in _SCRIPTS.glob("*.py") if "ensure_compiled()" in path.read_text()
    ]
    costs = {}
    for script in sorted(path.stem for path in with_kernels):
        runs = [run_alone(job_start(script)) for _ in range(repeats + 1)]
        costs[script] = tuple(statistics.median(run[k] for run in runs[1:]) for k in range(3))
    return costs


def start_up_table(repeats, command):
    """Print the start-up of every kind of job, and what a job of one short replicate costs."""
    rows = [("python -c pass", *_alone("pass", repeats))]
    rows += [(script, *cost) for script, cost in start_up(repeats).items()]
    tiny = _job(arrivals=2000, replicates=1)
    rows.append(("simulate_and_estimate, whole, 2000 arrivals", *_alone(tiny, repeats)))
    print_table(
        "Start-up of a job: imports and a warm cache of kernels; Snakemake's own 0.7 s is not in it",
        ("job", "wall s", "CPU s", "peak MiB"),
        rows,
        command,
    )


def memory_table(command):
    """Print the peak memory of a job that simulates and estimates, by length of its replicates."""
    rows = []
    for arrivals in (10**5, 10**6, 10**7):
        _, cpu, memory, _ = run_alone(_job(arrivals, replicates=2))
        rows.append((f"{arrivals:.0e}", memory, cpu))
    print_table(
        "A job that simulates and estimates two replicates; the peak counts the mapped trace",
        ("arrivals per replicate", "peak MiB", "CPU s with start-up"),
        rows,
        command,
    )


def efficiency_table(study, cores, repeats, command):
    """Run a study in an empty folder and print how much of ``cores * wall`` are its kernels."""
    costs = start_up(repeats)
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all",
             "--snakefile", str(ROOT / "Snakefile"), "--directory", folder,
             "--configfile", str(Path(study).resolve())],
            check=True,
        )  # fmt: skip
        wall = time.perf_counter() - begin
        rows = list(_shares(Path(folder) / "results" / "benchmarks", costs, cores * wall))
    rows.append(("whole study", "", cores * wall, "", ""))
    print_table(
        f"{Path(study).name} on {cores} cores: {wall:.1f} s",
        ("kind of job", "jobs", "CPU s", "without start-up", "share of cores x wall"),
        rows,
        command,
    )


def _shares(folder, costs, available):
    """Yield the CPU seconds of the kinds of jobs that hold kernels, with and without start-up."""
    total = 0.0
    for kind in sorted(path for path in folder.iterdir() if path.is_dir()):
        start = costs[_SCRIPT_OF.get(kind.name, kind.name)][1]
        seconds = [_cpu_seconds(path) for path in kind.rglob("*.tsv")]
        kernels = sum(max(0.0, s - start) for s in seconds)
        total += kernels
        yield kind.name, len(seconds), sum(seconds), kernels, kernels / available
    yield "kernels", "", "", total, total / available


def _cpu_seconds(path):
    with open(path) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    # Jobs too short to be sampled have no CPU time; their time on the wall bounds it.
    return sum(float(row["cpu_time"]) or float(row["s"]) for row in rows)


def _alone(code, repeats):
    runs = [run_alone(code) for _ in range(repeats + 1)]
    return tuple(statistics.median(run[k] for run in runs[1:]) for k in range(3))


def _job(arrivals, replicates):
    code = _TINY_JOB.replace("ESTIMATORS", repr(ESTIMATORS)).replace("ARRIVALS", str(arrivals))
    return code.replace("REPLICATES", str(replicates))
