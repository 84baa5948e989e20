"""What is simulated and estimated again after an edit of a finished study, and that it is a fresh run's.

Each test runs the study, edits it, runs it again, and compares all bytes with a fresh run's.
"""

import pyarrow.parquet as pq
import pytest
import yaml

from tests.workflow_copy import INEXACT, TINY, Workflow, succeed

FEW = ["naive", "mixed_dq", "replay", "switchback"]
STUDY = {
    **TINY,
    **INEXACT,
    "replicates": 6,
    "batch_size": 6,
    "estimators": FEW,
    "scenarios": {"plain": {}, "kept": {"keep_traces": True}},
}
TARGETS = ["results/estimates.parquet", "results/diagnostics.parquet"]

pytestmark = pytest.mark.workflow


class Edited(Workflow):
    """A finished study that is edited and run again."""

    def make(self, **keys):
        path = self.folder / "study.yaml"
        path.write_text(yaml.safe_dump({**STUDY, **keys}, sort_keys=False))
        for log in (self.folder / "results/logs").rglob("batch*.log"):
            log.unlink()
        succeed(self.run(*TARGETS, cores=2))
        return {name: content for name, content in self.results().items() if name in MADE}

    def steps(self, rule):
        """Return how many replicates the jobs of a rule went through in the last run."""
        logs = (self.folder / "results/logs" / rule).rglob("batch*.log")
        return sum(int(log.read_text().rsplit("done, ", 1)[1].split(" steps")[0]) for log in logs)


MADE = {target.removeprefix("results/") for target in TARGETS}


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory):
    study = Edited(tmp_path_factory.mktemp("reruns") / "study")
    study.make()
    assert study.steps("simulate_and_estimate") == study.steps("estimate") == 12
    return study


@pytest.fixture
def finished(finished_once, tmp_path):
    return finished_once.copy(tmp_path / "study")


@pytest.fixture
def fresh(tmp_path):
    return lambda **keys: Edited(tmp_path / "fresh").make(**keys)


def test_a_new_estimator_is_all_that_is_computed(finished, fresh):
    keys = {"estimators": [*FEW, "horvitz_thompson"]}
    assert finished.make(**keys) == fresh(**keys)
    assert finished.steps("simulate") == 0
    assert finished.steps("estimate") == finished.steps("simulate_and_estimate") == 6, "one design"


@pytest.mark.slow(seconds=40)
def test_batches_of_another_size_keep_what_they_hold(finished, fresh):
    keys = {"batch_size": 5, "replicates": 8}
    assert finished.make(**keys) == fresh(**keys)
    assert finished.steps("simulate_and_estimate") == 4, "the two new replicates of two designs"


@pytest.mark.slow(seconds=25)
def test_traces_that_are_kept_from_now_on_or_no_longer_change_nothing(finished, fresh):
    scenarios = {"plain": {"keep_traces": True}, "kept": {}}
    assert finished.make(scenarios=scenarios) == fresh(scenarios=scenarios)
    assert finished.steps("simulate") == 12
    assert finished.steps("simulate_and_estimate") == finished.steps("estimate") == 0


def test_order_simulates_and_estimates_nothing(finished, fresh):
    designs = dict(reversed(TINY["designs"].items()))
    keys = {"estimators": FEW[::-1], "designs": designs, "horizons": [TINY["horizon"]]}
    path = finished.folder / "study.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **keys}, sort_keys=False))
    assert "Nothing to be done" in succeed(finished.run(*TARGETS)).stderr

    # The order of scenarios is that of the rows in tables.
    scenarios = dict(reversed(STUDY["scenarios"].items()))
    assert finished.make(scenarios=scenarios) == fresh(scenarios=scenarios)
    assert not list((finished.folder / "results/logs").rglob("batch*.log"))


@pytest.mark.slow(seconds=40)
def test_results_say_which_study_made_them_and_what_another_changes(finished, fresh):
    assert finished.make(seed=12) == fresh(seed=12)
    process = finished.run(*TARGETS, "--forcerun", "collect")
    assert "holds the study" not in succeed(process).stderr, "it is the same study"
    saved = finished.folder / "results/study.yaml"
    for name in ("estimates", "diagnostics", "truth"):
        metadata = pq.read_schema(finished.folder / f"results/{name}.parquet").metadata
        assert f"study {metadata[b'study'].decode()}" in saved.read_text()

    scenarios = {"other": {}}
    finished.write_study(**{**STUDY, "scenarios": scenarios})
    process = succeed(finished.run("results/truth/other-load0.6.parquet"))
    assert "results/ holds the study with seed 12 and scenarios plain, kept" in process.stderr
    assert "seed (12, now 11), scenarios.other (new), scenarios.plain (gone)" in process.stderr
