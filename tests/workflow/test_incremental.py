"""An edit reruns what depends on it and nothing else.

Each test makes one edit in a copy of a finished study, package included, and asks Snakemake what it
would do. Whole studies are run by the slow tests of `test_runs`, and by `.ci/run`.
"""

import pytest

from tests.workflow_copy import TINY, Workflow, succeed

# Cell plain simulates and estimates in one job per batch; cell kept keeps its traces, of one design.
STUDY = {
    **TINY,
    "batch_size": 4,
    "scenarios": {
        "plain": {},
        "kept": {"keep_traces": True, "replicates": 4, "designs": {"switchback": None}},
    },
}
PLAIN = {f"simulate_and_estimate cell=plain-load0.6, batch={batch}" for batch in range(3)}
ESTIMATE = "estimate cell=kept-load0.6, batch=0"
SIMULATE = "simulate cell=kept-load0.6, design=bernoulli, batch=0"
TRUTHS = {f"truth cell={scenario}-load0.6" for scenario in STUDY["scenarios"]}
EXACT = {f"exact cell={scenario}-load0.6" for scenario in STUDY["scenarios"]}

ESTIMATOR = """
from queuebench.estimators.common.registry import Estimate, register


@register("nothing", design="{design}")
def nothing(record, horizon=None):
    return Estimate(0.0, 0.0)
"""
POLICY = """
from queuebench.queueing.policies.capacity import every_server_alone
from queuebench.queueing.policies.registry import register


def _second(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    return permutation[start + 1]


register("second", samples=lambda size: size, capacity=every_server_alone)(_second)
"""

pytestmark = pytest.mark.workflow


class Finished(Workflow):
    """A copy of a finished study, with the edits of this module."""

    def change_study(self, **keys):
        self.write_study(**{**STUDY, **keys})

    def edit(self, module, old, new):
        """Replace text in a module of the package."""
        path = self.folder / "src/queuebench" / module
        text = path.read_text()
        assert old in text, f"{module} does not contain {old!r}"
        path.write_text(text.replace(old, new, 1))

    def pretend(self):
        """Let empty files pass for the tables and figures: what they hold decides no rerun."""
        for row in succeed(self.run("--summary")).stdout.splitlines()[1:]:
            path = self.folder / row.split("\t")[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        succeed(self.run("--touch", "--forceall"))

    def add(self, module, source):
        """Add a module to a package of registered things, which finds it."""
        (self.folder / "src/queuebench" / module).write_text(source)


@pytest.fixture(scope="module")
def finished_once(tmp_path_factory):
    workflow = Finished(tmp_path_factory.mktemp("incremental") / "study", package=True)
    workflow.change_study()
    succeed(workflow.run("results/estimates.parquet", cores=2))
    workflow.pretend()
    return workflow


@pytest.fixture
def finished(finished_once, tmp_path):
    return finished_once.copy(tmp_path / "study")


@pytest.fixture(scope="module")
def following(finished_once):
    """Everything after estimates and truths are collected: one job for the whole study each."""
    whole = finished_once.planned("--forceall")
    assert {*PLAIN, *TRUTHS, *EXACT, ESTIMATE, SIMULATE} == {job for job in whole if "cell=" in job}
    return {job for job in whole if "cell=" not in job}


def test_a_second_run_has_nothing_to_do(finished):
    assert finished.planned() == set()


def test_an_estimator_reruns_estimation_and_simulations_whose_traces_are_gone(finished, following):
    finished.edit("estimators/differences_in_q.py", "    return ", "    0\n    return ")
    assert finished.planned() == PLAIN | {ESTIMATE} | following


def test_an_estimator_of_another_design_reruns_nothing_here(finished, following):
    finished.edit("estimators/switchback.py", "    return ", "    0\n    return ")
    assert finished.planned() == PLAIN | following


def test_a_figure_is_drawn_again_alone(finished):
    finished.edit("results/figures/violins.py", "    return ", "    0\n    return ")
    assert finished.planned() == {"violins"}


def test_a_table_is_made_again_alone(finished):
    finished.edit("results/tables/crossover.py", "    return ", "    0\n    return ")
    assert finished.planned() == {"crossover_table"}


def test_the_kernel_reruns_every_simulation(finished, following):
    finished.edit("queueing/dispatch.py", "    return ", "    0\n    return ")
    assert finished.planned() == PLAIN | TRUTHS | {SIMULATE, ESTIMATE} | following


def test_a_policy_reruns_the_cells_that_name_it(finished, following):
    finished.edit("queueing/policies/round_robin.py", "    return ", "    0\n    return ")
    assert finished.planned() == set()
    finished.edit("queueing/policies/power_of_d.py", "    return ", "    0\n    return ")
    assert finished.planned() == PLAIN | TRUTHS | {SIMULATE, ESTIMATE} | following


def test_what_a_cell_computes_reruns_its_jobs(finished, following):
    finished.edit(
        "study/cells.py", "        return self.load * ", "        0\n        return self.load * "
    )
    assert finished.planned() == PLAIN | TRUTHS | EXACT | {SIMULATE, ESTIMATE} | following


def test_comments_and_docstrings_rerun_nothing(finished):
    finished.edit("estimators/differences_in_q.py", '"""', '"""Said differently: ')
    finished.edit("queueing/dispatch.py", "    return ", "    # Said at last.\n    return ")
    assert finished.planned() == set()


def test_more_replicates_run_new_batches_and_the_incomplete_one(finished, following):
    finished.change_study(replicates=17)
    new = {f"simulate_and_estimate cell=plain-load0.6, batch={batch}" for batch in (2, 3, 4)}
    assert finished.planned() == new | following


def test_a_new_scenario_runs_alone(finished, following):
    finished.change_study(scenarios={**STUDY["scenarios"], "new": {"replicates": 4}})
    new = {f"{job} cell=new-load0.6" for job in ("truth", "exact")}
    new.add("simulate_and_estimate cell=new-load0.6, batch=0")
    assert finished.planned() == new | following


def test_a_new_load_runs_alone(finished, following):
    scenarios = dict(STUDY["scenarios"], plain={"system": {"loads": [0.5, 0.6]}})
    finished.change_study(scenarios=scenarios)
    new = {f"simulate_and_estimate cell=plain-load0.5, batch={batch}" for batch in range(3)}
    new |= {f"{job} cell=plain-load0.5" for job in ("truth", "exact")}
    assert finished.planned() == new | following


def test_a_new_policy_runs_only_cells_that_name_it(finished, following):
    finished.add("queueing/policies/second.py", POLICY)
    assert finished.planned() == set()
    scenarios = {**STUDY["scenarios"], "new": {"replicates": 4, "treatment": {"policy": "second"}}}
    finished.change_study(scenarios=scenarios)
    new = {"truth cell=new-load0.6", "simulate_and_estimate cell=new-load0.6, batch=0"}
    assert finished.planned() == new | following


@pytest.mark.parametrize(
    ("design", "concerned"), [("bernoulli", {*PLAIN, ESTIMATE}), ("switchback", PLAIN)]
)
def test_a_new_estimator_reruns_estimation_where_it_applies(finished, following, design, concerned):
    finished.add("estimators/nothing.py", ESTIMATOR.format(design=design))
    assert finished.planned() == concerned | following


def test_a_setting_reruns_what_uses_it(finished, following):
    finished.change_study(horizon=4.0)
    assert finished.planned() == PLAIN | EXACT | {ESTIMATE} | following
    finished.change_study(truth={"relative": 0.2, "max_arrivals": 100_000})
    assert finished.planned() == TRUTHS | following


def test_the_exact_solver_concerns_no_simulation(finished, following):
    finished.edit("pipeline/stages/exact.py", "    return ", "    0\n    return ")
    assert finished.planned() == EXACT | following


def test_keys_of_one_scenario_concern_it_alone(finished, following):
    scenarios = dict(STUDY["scenarios"], plain={"arrivals": 1600})
    finished.change_study(scenarios=scenarios)
    assert finished.planned() == PLAIN | following
