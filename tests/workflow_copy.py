"""Running the workflow in a copy of the repository."""

import os
import re
import shutil
import sys
from pathlib import Path

import yaml

from tests.package_copy import copy_package
from tests.snakemake_fork import run_snakemake

ROOT = Path(__file__).parents[1]
PARTS = ["Snakefile", "rules", "workflow", "config", "profiles", "envs"]

TINY = {
    "seed": 11,
    "replicates": 9,
    "batch_size": 100,
    "arrivals": 1500,
    "warmup": 50.0,
    "system": {"servers": 4, "loads": [0.6]},
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "horizon": 5.0,
    "designs": {
        "bernoulli": {"kind": "bernoulli"},
        "switchback": {"kind": "switchback", "period": 10.0, "burn_in": 2.0},
    },
    "truth": {"relative": 0.1, "max_arrivals": 100_000},
    "scenarios": {"plain": {}},
}
INEXACT = {"truth": {**TINY["truth"], "exact_states": 0}}
"""For studies that solve no exact chain, which takes a cell as long as everything else."""


class Workflow:
    """A copy of the workflow in a folder of its own; the package is the installed one.

    Parameters
    ----------
    folder : pathlib.Path
        Empty or not there yet.
    package : bool
        Whether to copy the package too, so that it can be edited.
    """

    def __init__(self, folder, package=False):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = {"PYTHONDONTWRITEBYTECODE": ""}
        for part in PARTS:
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / part)
        if package:
            copy_package(folder / "src")
            self.environment["PYTHONPATH"] = str(folder / "src")

    def copy(self, folder):
        """Return a copy of this copy, with its results and what Snakemake remembers of them."""
        shutil.copytree(self.folder, folder)
        other = object.__new__(type(self))
        other.folder = folder
        other.environment = dict(self.environment)
        if "PYTHONPATH" in other.environment:
            other.environment["PYTHONPATH"] = str(folder / "src")
        return other

    def write_study(self, **keys):
        """Write a study: the tiny one with some keys replaced."""
        path = self.folder / "study.yaml"
        path.write_text(yaml.safe_dump({**TINY, **keys}))

    def command(self, *arguments, cores=1, configfile="study.yaml"):
        """Return the command line of a run and how to start it; without cores for a cluster."""
        local = ["--cores", str(cores)] if cores else []
        command = [
            sys.executable, "-m", "snakemake", *arguments, *local, "--configfile", configfile,
        ]  # fmt: skip
        return command, {"cwd": self.folder, "env": {**os.environ, **self.environment}}

    def run(self, *arguments, **options):
        """Run Snakemake; return the finished process."""
        command, how = self.command(*arguments, **options)
        return run_snakemake(command[command.index("snakemake") + 1 :], **how)

    def planned(self, *arguments, **options):
        """Return what a run would do, as a set like ``{"truth cell=plain-load0.6", "collect"}``."""
        process = self.run(*arguments, "--dry-run", **options)
        assert process.returncode == 0, process.stdout + process.stderr
        return set(_jobs(process.stdout + process.stderr))

    def results(self):
        """Return the bytes of everything a reader would compare."""
        kinds = ("*.parquet", "*.csv", "*.md", "*.png")
        folder = self.folder / "results"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for kind in kinds
            for path in sorted(folder.rglob(kind))
        }


def _jobs(text):
    """Yield the jobs of a dry run but for the target rule."""
    for block in re.split(r"\n(?:local)?rule ", text)[1:]:
        name = block.split(":", 1)[0]
        wildcards = re.search(r"^ +wildcards: (.*)$", block.split("\n\n")[0], re.MULTILINE)
        if name != "all":
            yield f"{name} {wildcards[1]}" if wildcards else name


def succeed(process):
    """Return a finished process, which must have succeeded."""
    assert process.returncode == 0, process.stdout + process.stderr
    return process
