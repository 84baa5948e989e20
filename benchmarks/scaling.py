"""How time and memory grow with arrivals, servers, replicates and cores.

Run as ``python -m benchmarks.scaling``. Each point is a process of its own, so that its peak memory is its
own. Prints tables and draws `docs/images/scaling.png`. The homogeneous cell: power of 2 against power
of 3 at load 0.9.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.measure import machine, print_table, run_alone

FIGURE = Path(__file__).parents[1] / "docs" / "images" / "scaling.png"
_PREPARE = """
import json, tempfile, time
from pathlib import Path
from benchmarks.jobs import ESTIMATORS
from benchmarks.queueing import cells_of, simulate
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.pipeline.kernels import ensure_compiled
ensure_compiled()
def cell(arrivals, servers=20, **keys):
    study = {"seed": 1, "arrivals": arrivals, "scenarios": {"one": {}}, **keys}
    study["estimators"] = ESTIMATORS
    study["system"] = {"servers": servers, "loads": [0.9]}
    return cells_of(study)[0]
def work(it, replicates):
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / name for name in ("estimates", "diagnostics")]
        simulate_and_estimate(it, range(replicates), outputs)
work(cell(2000), 1)
begin = time.process_time()
"""
_REPORT = """
print(time.process_time() - begin, end=" ")
"""


def time_arrivals(lengths, repeats):
    """Yield a row per length of one record."""
    for arrivals in lengths:
        times = repeats if arrivals < 10**7 else 1
        seconds, memory = _point(f"simulate(cell({arrivals}), 'bernoulli', 0)", times)
        stages, all_memory = (
            _point(f"work(cell({arrivals}), 1)", times) if arrivals <= 10**8 else (None, None)
        )
        total = arrivals + 300 * 18
        yield (
            arrivals, seconds, seconds / total * 1e9, memory,
            "" if stages is None else stages / total * 1e9,
            "" if stages is None else all_memory,
        )  # fmt: skip


def time_servers(sizes, arrivals, repeats):
    """Yield a row per number of servers; the warm-up is 3 mean service times."""
    for servers in sizes:
        work = f"simulate(cell({arrivals}, {servers}, warmup=3.0), 'bernoulli', 0)"
        seconds, memory = _point(work, repeats)
        total = arrivals + 3 * 0.9 * servers
        yield servers, seconds / total * 1e9, memory


def time_replicates(counts, arrivals):
    """Yield a row per number of replicates in one job."""
    for replicates in counts:
        seconds, memory = _point(f"work(cell({arrivals}), {replicates})", 1)
        yield replicates, seconds, seconds / (replicates * (arrivals + 300 * 18)) * 1e9, memory


def time_cores(counts, arrivals):
    """Yield a row per number of jobs at once, one core each: seconds on the wall."""
    work = _PREPARE + f"work(cell({arrivals}), 10)"
    for cores in counts:
        begin = time.perf_counter()
        jobs = [
            subprocess.Popen([sys.executable, "-c", work], stderr=subprocess.DEVNULL)
            for _ in range(cores)
        ]
        if any(job.wait() for job in jobs):
            raise RuntimeError("a job failed")
        wall = time.perf_counter() - begin
        yield cores, wall, cores * 10 * arrivals / wall / 1e6


def _point(work, repeats):
    seconds, memory = [], []
    for _ in range(repeats):
        *_, peak, output = run_alone(_PREPARE + work + _REPORT)
        seconds.append(float(output.split()[0]))
        memory.append(peak)
    return statistics.median(seconds), statistics.median(memory)


def draw(arrivals, servers, path):
    """Draw cost and memory against arrivals and servers."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    _panel(axes[0], arrivals, "recorded arrivals (one record, 20 servers)", cost=2, memory=3)
    _panel(axes[1], servers, "servers (a million arrivals)", cost=1, memory=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def _panel(axis, rows, label, cost, memory):
    x = [row[0] for row in rows]
    axis.semilogx(x, [row[cost] for row in rows], "o-", color="C0")
    axis.set(
        xlabel=label, ylabel="CPU ns per arrival", ylim=(0, 1.1 * max(row[cost] for row in rows))
    )
    axis.yaxis.label.set_color("C0")
    twin = axis.twinx()
    twin.semilogx(x, [row[memory] for row in rows], "s--", color="C1", markersize=4)
    twin.set(ylabel="peak memory, MiB", ylim=(0, 1.4 * max(row[memory] for row in rows)))
    twin.yaxis.label.set_color("C1")


def main():
    """Print the tables and draw the figure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--longest", type=float, default=1e8, help="arrivals of the longest record")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    args = parser.parse_args()
    command = f"python -m benchmarks.scaling --longest {args.longest:.0e}"
    print(f"Machine: {machine()}")
    lengths = [10**k for k in range(5, 10) if 10**k <= args.longest]
    arrivals = list(time_arrivals(lengths, args.repeats))
    print_table(
        "One record, 20 servers",
        ("arrivals", "simulate, CPU s", "ns per arrival", "peak MiB", "all stages, ns", "peak MiB"),
        arrivals,
        command,
    )
    servers = list(time_servers((20, 100, 1000, 10_000, 100_000), 10**6, args.repeats))
    print_table(
        "A million arrivals, without Arrow",
        ("servers", "ns per arrival", "peak MiB"),
        servers,
        command,
    )
    replicates = list(time_replicates((1, 10, 100), 10**5))
    print_table(
        "Replicates of 100 000 arrivals in one job, all stages",
        ("replicates", "CPU s", "ns per arrival", "peak MiB"),
        replicates,
        command,
    )
    print_table(
        "Jobs at once, ten replicates of a million arrivals each, start-up and all stages",
        ("jobs", "wall s", "million arrivals per second"),
        time_cores((1, 2), 10**6),
        command,
    )
    draw(arrivals, servers, args.figure)


if __name__ == "__main__":
    main()
