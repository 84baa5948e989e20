"""docs/plug-ins.md: its files written into a folder of their own, its commands run there in turn."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/plug-ins.md").read_text()
FILES = dict(re.findall(r"```\w+\n# (\S+\.\w+)\n(.*?)```", PAGE, re.DOTALL))
CONSOLE = "".join(re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL))
STEPS = [(step.splitlines()[0], step.splitlines()[1:]) for step in CONSOLE.split("$ ")[1:]]
SIMULATING = ("simulate", "estimate", "simulate_and_estimate", "truth", "exact")
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

pytestmark = pytest.mark.workflow


def run(command, folder):
    """Run a command of the page; return what it says."""
    how = os.environ | {"QUEUEBENCH": str(ROOT), "PATH": PATH, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=how, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def counts(said):
    """Return the simulating rules of a dry run with their numbers of jobs, as the page gives them."""
    return {
        f"{rule} {number}"
        for rule, number in re.findall(r"^(\w+) +(\d+)$", said, re.MULTILINE)
        if rule in SIMULATING
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder after all steps, each of which says what the page says."""
    folder = tmp_path_factory.mktemp("outside")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    rng, n = np.random.default_rng(3), 4000
    log = {
        "arrival_time": np.cumsum(rng.exponential(size=n)),
        "arm": rng.choice(["A", "B"], n),
        "response_time": rng.exponential(2.0, n),
    }
    pd.DataFrame(log).to_csv(folder / "log.csv", index=False)
    for command, expected in STEPS:
        said = run(command, folder)
        if "--dry-run" in command:
            assert counts(said) == set(expected), command
        else:
            assert set(expected) <= set(said.splitlines()), command
        if "analyze" in command:
            (folder / "said.txt").write_text(said)
    return folder


def test_the_page_has_steps_of_every_kind():
    assert FILES.keys() == {"winsorised.py", "robust.py", "lognormal.py", "study.yaml", "log.yaml"}
    assert sum("--dry-run" in command for command, _ in STEPS) == 2
    assert all(len(text.splitlines()) <= 40 for name, text in FILES.items() if ".py" in name)


def test_its_estimator_is_in_the_tables_and_another_scenario_is_not_touched(folder):
    table = pd.read_csv(folder / "results/tables/mse.csv")
    rivals = table[table["estimator"] == "winsorised"]
    assert set(rivals["scenario"]) == {"rival"}
    assert set(table["scenario"]) == {"plain", "rival", "sometimes", "heavy"}


def test_its_policy_and_its_law_change_what_is_simulated(folder):
    """A mixture with random routing gains less; M/G/1 queues have Pollaczek and Khinchine's mean."""
    truth = pd.read_parquet(folder / "results/truth.parquet").set_index("scenario")
    plain, mixed, heavy = (truth.loc[name] for name in ("plain", "sometimes", "heavy"))
    assert abs(mixed["gte"]) < abs(plain["gte"])
    for row, variance in ((plain, 1.0), (heavy, np.e - 1.0)):
        expected = 1.0 + 0.6 * (1.0 + variance) / (2.0 * (1.0 - 0.6))
        assert abs(row["response_control"] - expected) < 5 * row["response_control_se"]


def test_its_estimator_is_applied_to_a_log(folder):
    assert re.search(r"^ *winsorised", (folder / "said.txt").read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sigma: 1.0", "sigma: 4.0", "heavy.service.sigma: should be less than or equal to 3, got 4.0"),
        ("sigma: 1.0", "sigm: 1.0", "heavy.service.sigm: unknown key, did you mean sigma?"),
        ("lognormal, sigma: 1.0", "lognorm", "'hyperexponential', 'lognormal'"),
        ("beta: 0.8", "beta: 1.8", "treatment.beta: must be a number from 0 to 1, got 1.8"),
        ("wdq, winsorised", "wdq, winsorise", "no estimator is named winsorise (did you mean winsorised?)"),
        ("[winsorised.py", "[absent.py", "plugins: there is no file absent.py (looked for in "),
    ],
)  # fmt: skip
def test_a_wrong_study_is_told_in_one_sentence(folder, tmp_path, old, new, said):
    text = FILES["study.yaml"]
    assert old in text
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(text.replace(old, new))
    command = [sys.executable, "-m", "queuebench", "check", "--configfile", str(wrong)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert said in line


def test_its_settings_are_printed_with_the_others(folder):
    assert "lognormal" in run("queuebench schema --configfile study.yaml", folder)
    assert "lognormal" in run("queuebench keys --configfile study.yaml", folder)
