"""Timing on a machine that others use too: CPU time of the process, cases taking turns, medians.

pyperf and pytest-benchmark measure the time on the wall, case after case; where other processes come and
go that compares moments, not cases. So the cases of a table take turns here, and each is the median
of its turns.
"""

import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path


def take_turns(cases, repeats):
    """Return the median cost of each case.

    Parameters
    ----------
    cases : dict of Callable
        Each is called as ``case(turn)`` and returns how much work it did (arrivals, events).
    repeats : int
        Turns that count, after one that compiles and warms up.

    Returns
    -------
    dict of float
        CPU nanoseconds per unit of work.
    """
    costs = {name: [] for name in cases}
    for turn in range(repeats + 1):
        for name, case in cases.items():
            begin = time.process_time()
            work = case(turn)
            costs[name].append((time.process_time() - begin) / work * 1e9)
    return {name: statistics.median(turns[1:]) for name, turns in costs.items()}


def run_alone(code):
    """Run Python code in a process of its own.

    Returns
    -------
    wall, cpu : float
        Seconds, of CPU including the process's children.
    memory : float
        Peak memory in MiB.
    output : str
        What the code printed.
    """
    # The peak is read in the process: what the kernel reports includes its parent's pages before exec.
    code += f"\n{_REPORT}"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=True,
        text=True,
    )
    wall = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    *output, peak = done.stdout.split()
    return wall, cpu, float(peak) / 1024, " ".join(output)


_REPORT = r"""
import re
print(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])
"""


def print_table(title, header, rows, command):
    """Print a Markdown table with the command that makes it."""
    print(f"\n### {title}\n\n`{command}`\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "|".join(" --- " if i == 0 else " ---: " for i in range(len(header))) + "|")
    for row in rows:
        print("| " + " | ".join(_cell(value) for value in row) + " |", flush=True)


def _cell(value):
    return f"{value:.3g}" if isinstance(value, float) and value < 99.5 else _whole(value)


def _whole(value):
    return f"{value:,.0f}".replace(",", " ") if isinstance(value, float) else str(value)


def machine():
    """Return one line about the machine and the libraries that matter."""
    import numba
    import numpy
    import pyarrow

    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; Python "
        f"{platform.python_version()}, numpy {numpy.__version__}, numba {numba.__version__}, "
        f"pyarrow {pyarrow.__version__}"
    )


def _processor():
    cpuinfo = Path("/proc/cpuinfo")
    if not cpuinfo.exists():
        return platform.processor()
    fields = dict(line.split(":", 1) for line in cpuinfo.read_text().split("\n\n")[0].splitlines())
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    family, model = fields.get("cpu family", "?"), fields.get("model", "?")
    return f"{fields.get('model name', platform.machine())} (family {family}, model {model})"
