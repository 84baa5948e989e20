"""Running the workflow in a copy of the repository."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PARTS = ["Snakefile", "rules", "workflow", "config", "profiles"]

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


class Workflow:
    """A copy of the workflow in a folder of its own; the package is the installed one."""

    def __init__(self, folder):
        self.folder = folder
        for part in PARTS:
            source = ROOT / part
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / part)

    def write_study(self, **keys):
        """Write a study: the tiny one with some keys replaced."""
        path = self.folder / "study.yaml"
        path.write_text(yaml.safe_dump({**TINY, **keys}))

    def run(self, *arguments, cores=1, configfile="study.yaml"):
        """Run Snakemake; return the finished process."""
        command = [
            sys.executable, "-m", "snakemake", *arguments, "--cores", str(cores),
            "--configfile", configfile,
        ]  # fmt: skip
        return subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},
        )  # fmt: skip

    def results(self):
        """Return the bytes of everything a reader would compare."""
        kinds = ("*.parquet", "*.csv", "*.md", "*.png")
        folder = self.folder / "results"
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for kind in kinds
            for path in sorted(folder.rglob(kind))
        }


@pytest.fixture
def workflow(tmp_path):
    return Workflow(tmp_path)
