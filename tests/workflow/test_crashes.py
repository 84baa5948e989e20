"""Kills, damaged traces, full and read-only disks, and two runs at once: nothing is lost or wrong."""

import os
import random
import shutil
import signal
import subprocess
import time

import pyarrow as pa
import pytest

from queuebench.pipeline.at_work import at_work
from tests.workflow_copy import INEXACT, TINY, Workflow, succeed

# One cell passes its traces on, one keeps them; several batches, so that there is always work under way.
STUDY = {
    **TINY,
    **INEXACT,
    "replicates": 6,
    "batch_size": 3,
    "scenarios": {"plain": {}, "kept": {"keep_traces": True, "replicates": 3}},
}
TARGETS = ["results/estimates.parquet", "results/truth.parquet"]
ESTIMATES = "results/estimates/kept-load0.6/batch0.parquet"
TRACE = "results/traces/kept-load0.6/{}/batch0.arrow"

pytestmark = pytest.mark.workflow


class Undisturbed:
    """The study run once without trouble: its bytes, and how long it took."""

    def __init__(self, folder):
        self.workflow = Workflow(folder)
        self.workflow.write_study(**STUDY)
        begin = time.monotonic()
        succeed(self.workflow.run(*TARGETS, cores=2))
        self.seconds = time.monotonic() - begin
        self.results = self.workflow.results()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return Undisturbed(tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def study(workflow):
    workflow.write_study(**STUDY)
    return workflow


def start(study):
    """Start a run in a process group of its own."""
    command, how = study.command(*TARGETS, cores=2)
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        **how,
    )


def kill_after(study, seconds):
    """Start a run and kill all of it after a time."""
    process = start(study)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not at_work(study.folder), "killed with all its jobs"


def resume(study):
    """What `make resume` does."""
    succeed(study.run("--unlock"))
    return study.run(*TARGETS, "--rerun-incomplete", cores=2)


def assert_complete(study, undisturbed):
    found = study.results()
    assert found.keys() == undisturbed.results.keys()
    assert not [name for name, content in found.items() if content != undisturbed.results[name]]
    leftovers = [path for path in study.folder.joinpath("results").rglob(".*") if path.is_file()]
    assert not [path for path in leftovers if path.name != ".snakemake_timestamp"]


@pytest.mark.parametrize("kills", [1, pytest.param(3, marks=pytest.mark.slow(seconds=40))])
def test_a_run_killed_again_and_again_ends_with_the_same_bytes(study, undisturbed, kills):
    moments = random.Random(7)
    for _ in range(kills):
        kill_after(study, undisturbed.seconds * moments.uniform(0.2, 0.6))
        succeed(study.run("--unlock"))
    succeed(resume(study))
    assert_complete(study, undisturbed)


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize("seed", range(20))
def test_a_run_killed_at_any_moment_ends_with_the_same_bytes(study, undisturbed, seed):
    kill_after(study, undisturbed.seconds * random.Random(seed).uniform(0.05, 1.0))
    succeed(resume(study))
    assert_complete(study, undisturbed)


@pytest.mark.slow(seconds=25)
def test_a_damaged_trace_is_found_and_named(study, undisturbed):
    shutil.copytree(undisturbed.workflow.folder, study.folder, dirs_exist_ok=True)
    path = TRACE.format("switchback")
    trace = study.folder / path
    whole = trace.read_bytes()
    other = (study.folder / TRACE.format("bernoulli")).read_bytes()
    damages = {
        "truncated": (whole[: len(whole) // 2], "is not a complete Arrow file"),
        "empty": (b"", "is not a complete Arrow file"),
        "foreign": (arrow_file({"time": [1.0]}), "is an Arrow file but not a trace of queuebench"),
        "of another design": (other, "was simulated for design bernoulli"),
    }
    for damage, (content, message) in damages.items():
        trace.write_bytes(content)
        process = study.run(ESTIMATES)
        assert process.returncode != 0, damage
        assert f"{path}: {message}" in process.stdout + process.stderr, damage

    # Removed, as the message advises, it is simulated again.
    trace.unlink()
    succeed(study.run(ESTIMATES, *TARGETS, cores=2))
    assert trace.read_bytes() == whole
    assert_complete(study, undisturbed)


def arrow_file(columns):
    sink = pa.BufferOutputStream()
    table = pa.table(columns)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


class SmallDisk:
    """A file system of its own, in memory, mounted as a study's results."""

    def __init__(self, folder):
        folder.mkdir()
        self._folder = folder
        self._mount("-t", "tmpfs", "-o", "size=64k", "queuebench-test")

    def remount(self, options):
        self._mount("-o", f"remount,{options}")

    def remove(self):
        subprocess.run(["umount", self._folder], check=True)

    def _mount(self, *arguments):
        subprocess.run(["mount", *arguments, self._folder], check=True, capture_output=True)


@pytest.fixture
def disk(study):
    """A small disk for the results, where mounting is allowed."""
    try:
        disk = SmallDisk(study.folder / "results")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting a small disk needs root")
    yield disk
    disk.remove()


@pytest.mark.slow(seconds=35)
def test_a_full_disk_is_named_and_loses_nothing(study, disk, undisturbed):
    succeed(study.run("results/truth/plain-load0.6.parquet"))
    before = study.results()
    process = study.run(*TARGETS, "--keep-going")
    assert process.returncode != 0
    assert "No space left on device" in process.stdout + process.stderr
    assert before.items() <= study.results().items()
    assert not list(study.folder.rglob("*.partial"))
    assert study.results().items() <= undisturbed.results.items()

    disk.remount("size=64m")
    succeed(resume(study))
    assert_complete(study, undisturbed)


def test_read_only_results_are_named_and_lose_nothing(study, disk):
    disk.remount("size=64m")
    truth = "results/truth/plain-load0.6.parquet"
    succeed(study.run(truth))
    before = study.results()
    disk.remount("ro")
    process = study.run(*TARGETS)
    assert process.returncode != 0
    assert "Read-only file system" in process.stdout + process.stderr
    assert study.results() == before

    disk.remount("rw")
    succeed(study.run("--unlock"))
    assert "Nothing to be done" in succeed(study.run(truth)).stderr


def test_a_second_run_in_the_same_folder_is_refused_with_advice(study):
    first = start(study)
    try:
        wait_for_lock(study)
        second = study.run(*TARGETS)
        working = at_work(study.folder)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    assert second.returncode != 0
    assert first.pid in working
    assert not at_work(study.folder), "killed with all its jobs"
    said = second.stdout + second.stderr
    assert "Directory cannot be locked" in said
    assert "--unlock" in said


def wait_for_lock(study):
    deadline = time.monotonic() + 60
    while not list(study.folder.glob(".snakemake/locks/*")):
        assert time.monotonic() < deadline, "the first run never locked its folder"
        time.sleep(0.05)
