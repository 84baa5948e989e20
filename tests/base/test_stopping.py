"""The command line stopped by a signal, in a real process: one line, 128 + n, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pytest
import yaml

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
PATIENCE = 60.0

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="looks at a process through /proc"
)


@pytest.fixture
def log(tmp_path):
    """Return a log that takes some seconds to analyse, and its description."""
    jobs = 400_000
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "t": np.cumsum(rng.exponential(1.0, jobs)),
            "arm": rng.integers(2, size=jobs),
            "host": rng.integers(5, size=jobs),
            "w": rng.exponential(1.0, jobs),
        }
    )
    arrow_csv.write_csv(table, tmp_path / "log.csv")
    columns = {"arrival_time": "t", "arm": "arm", "server": "host", "response_time": "w"}
    (tmp_path / "log.yaml").write_text(yaml.safe_dump({"columns": columns, "treatment": 1}))
    return [str(tmp_path / "log.csv"), "--config", str(tmp_path / "log.yaml")]


@pytest.fixture
def start(tmp_path):
    """Return a function that starts ``queuebench``, with a temporary folder of its own."""
    running = []

    def run(*arguments):
        (tmp_path / "temporary").mkdir(exist_ok=True)
        process = subprocess.Popen(
            [sys.executable, "-m", "queuebench", *arguments],
            env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
            # A shell lets what it starts in the background ignore Ctrl-C.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        )  # fmt: skip
        running.append(process)
        return process

    yield run
    for process in running:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_until(process, condition):
    """Wait for something to be seen in a running process."""
    end = time.monotonic() + PATIENCE
    while not condition(process):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.002)


def handles_signals(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = int(status.split("SigCgt:")[1].split()[0], 16)
    return caught >> (signal.SIGTERM - 1) & 1


def keeps_columns(process):
    """Return whether a process has a file or a folder in its temporary folder."""
    for link in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if "/temporary/" in os.readlink(link):
                return True
        except OSError:
            continue
    return False


def check_stopped(process, number, tmp_path):
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert err == f"queuebench: stopped by {signal.Signals(number).name}\n"
    assert out == ""
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("when", [handles_signals, keeps_columns])
def test_an_analysis_that_is_stopped(log, start, tmp_path, number, when):
    process = start("analyze", *log, "--out", "out")
    wait_until(process, when)
    process.send_signal(number)
    check_stopped(process, number, tmp_path)


def test_an_analysis_that_is_killed(log, start, tmp_path):
    process = start("analyze", *log, "--out", "out")
    wait_until(process, keeps_columns)
    process.kill()
    process.communicate()
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "out").exists()


STUDY = {
    "seed": 3, "arrivals": 20_000, "warmup": 20.0, "horizon": 5.0,
    "system": {"servers": 6, "loads": [0.6]}, "scenarios": {"plain": {}},
    "truth": {"relative": 0.5, "max_arrivals": 50_000},
}  # fmt: skip


@pytest.fixture
def plan(start, tmp_path):
    """Return a function that starts a plan from a simulated pilot."""
    study = tmp_path / "study.yaml"
    study.write_text(yaml.safe_dump(STUDY))

    def run(replicates=200):
        cell = ["--cell", "plain-load0.6", "--replicates", str(replicates)]
        return start("plan", "--configfile", str(study), *cell)

    return run


def folders_in_use(folder):
    """Return the folders that plans have made and put something into."""
    return {path.parent for path in folder.glob("queuebench-*/*")}


def has_a_folder(process):
    return bool(folders_in_use(Path(f"/proc/{process.pid}/cwd", "temporary")))


def test_a_plan_that_is_stopped(plan, tmp_path):
    process = plan()
    wait_until(process, has_a_folder)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    assert err.splitlines()[-1] == "queuebench: stopped by SIGTERM"
    assert "Traceback" not in err
    assert not list((tmp_path / "temporary").iterdir())


def test_what_a_killed_plan_left_is_removed_by_the_next(plan, tmp_path):
    process = plan()
    wait_until(process, has_a_folder)
    process.kill()
    process.communicate()
    (left,) = (tmp_path / "temporary").iterdir()
    alive = plan()
    wait_until(alive, lambda _: len(folders_in_use(tmp_path / "temporary")) == 2)
    for folder in (tmp_path / "temporary").iterdir():
        os.utime(folder, (0, 0))
    assert plan(replicates=2).wait(PATIENCE) == 0
    assert alive.poll() is None
    assert not left.exists()
    assert len(list((tmp_path / "temporary").iterdir())) == 1, "that of a living process stays"
