"""What a job costs before and beside its kernels, and how much of a study is kernels."""

import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from benchmarks.measure import print_table, run_alone
from queuebench.study.cells import parse_study, resolve

ROOT = Path(__file__).parents[1]
ESTIMATORS = yaml.safe_load((ROOT / "config" / "config.yaml").read_text()).get("estimators", "all")
"""Those of the default study: some that nobody gets unasked cost a thousand times as much."""

_SCRIPTS = ROOT / "workflow" / "scripts"
_TINY_JOB = """
import tempfile
from pathlib import Path
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.study.cells import parse_study, resolve
from queuebench.pipeline.kernels import ensure_compiled
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


def efficiency_table(study, cores, replicates, command):
    """Run a study in an empty folder and print what an arrival costs and how busy the kernels kept the cores.

    The kernels' time is that of the study less that of one with as many jobs and next to no arrivals. (The
    CPU time in Snakemake's own benchmark files is sampled, and misses the end of each job.)
    """
    keys = yaml.safe_load(Path(study).read_text())
    if replicates:
        keys |= {"replicates": replicates, "batch_size": -(-replicates // 2)}
    cells = resolve(parse_study(keys))
    jobs = -(-keys["replicates"] // keys["batch_size"])
    arrivals = sum(
        cell.experiment.replicates * cell.experiment.arrivals * len(cell.designs) for cell in cells
    )
    tiny = {
        "arrivals": 2500,
        "replicates": jobs,
        "batch_size": 1,
        "truth": {"max_arrivals": 10_000},
    }
    wall, cpu = _run_study(keys, cores)
    _, rest = _run_study(keys | tiny | {"truth": keys["truth"] | tiny["truth"]}, cores)
    print_table(
        f"{Path(study).name} on {cores} cores, {arrivals:.4g} recorded arrivals, all stages",
        ("wall s", "CPU s", "CPU ns per arrival", "CPU s of the kernels", "share of cores x wall"),
        [(wall, cpu, cpu / arrivals * 1e9, cpu - rest, (cpu - rest) / (cores * wall))],
        command,
    )


def _run_study(keys, cores):
    """Run a study in an empty folder; return seconds on the wall and of CPU of all its processes."""
    with tempfile.TemporaryDirectory() as folder:
        configfile = Path(folder) / "study.yaml"
        configfile.write_text(yaml.safe_dump(keys))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "snakemake", "--cores", str(cores), "--quiet", "all",
             "--snakefile", str(ROOT / "Snakefile"), "--directory", folder,
             "--configfile", str(configfile)],
            check=True,
        )  # fmt: skip
        wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _alone(code, repeats):
    runs = [run_alone(code) for _ in range(repeats + 1)]
    return tuple(statistics.median(run[k] for run in runs[1:]) for k in range(3))


def _job(arrivals, replicates):
    code = _TINY_JOB.replace("ESTIMATORS", repr(ESTIMATORS)).replace("ARRIVALS", str(arrivals))
    return code.replace("REPLICATES", str(replicates))
