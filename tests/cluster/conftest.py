"""A real Slurm of one node, and the workflow sent to it."""

import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.workflow_copy import Workflow

SCRIPT = Path(__file__).with_name("one_node_slurm.sh")
PROGRAMS = ["slurmctld", "slurmd", "sbatch", "srun", "munged"]
PLUGIN = "snakemake_executor_plugin_slurm"
PROFILE = ["--workflow-profile", "profiles/slurm"]
# The waiting times of the profile are those of a busy cluster with a network file system.
IMPATIENT = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"]
PATH = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"


def _missing():
    """Return what these tests lack, or None."""
    programs = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if programs:
        return f"Slurm is not installed: no {', '.join(programs)} (docs/cluster.md says how)"
    if importlib.util.find_spec(PLUGIN) is None:
        return f"the Python package {PLUGIN} is not installed"
    return None


class Slurm:
    """Commands to the running cluster."""

    def __init__(self, folder):
        self.environment = {
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{folder / 'bin'}{os.pathsep}{PATH}",
        }

    def ask(self, *command):
        """Run a command of Slurm and return what it prints."""
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    def wait_for_job(self, *words, state="RUNNING", seconds=90):
        """Wait for a job whose comment has all the words to be in a state; return its number."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            for line in self.ask("squeue", "--noheader", "--format=%i|%T|%k").splitlines():
                job, found, comment = line.split("|")
                if found == state and all(word in comment for word in words):
                    return job
            time.sleep(0.2)
        raise AssertionError(f"no job of {words} was {state} within {seconds} seconds")


@pytest.fixture(scope="module")
def slurm():
    if (reason := _missing()) is not None:
        pytest.skip(reason)
    # Sockets allow about a hundred characters, so that pytest's folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))
    try:
        subprocess.run([SCRIPT, "start", folder], check=True)
        yield Slurm(folder)
    finally:
        subprocess.run([SCRIPT, "stop", folder], check=False)
        shutil.rmtree(folder, ignore_errors=True)


class ClusterWorkflow(Workflow):
    """A copy of the workflow whose jobs go to Slurm."""

    def __init__(self, folder, slurm):
        super().__init__(folder)
        self.environment |= slurm.environment

    def command(self, *arguments, configfile="study.yaml"):
        return super().command(*arguments, *PROFILE, *IMPATIENT, cores=None, configfile=configfile)


@pytest.fixture
def cluster_workflow(tmp_path, slurm):
    return ClusterWorkflow(tmp_path / "cluster", slurm)
