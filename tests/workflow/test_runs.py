"""The workflow as a user runs it."""

import io

import pandas as pd
import pytest
import yaml

from tests.workflow_copy import INEXACT, Workflow, succeed

TABLES = [
    "results/estimates.parquet",
    "results/truth.parquet",
    "results/tables/mse.csv",
    "results/tables/mse.md",
    "results/tables/crossover.csv",
]

pytestmark = pytest.mark.workflow


def rows_of(results, name, **keys):
    table = pd.read_parquet(io.BytesIO(results[name]))
    for key, value in keys.items():
        table = table[table[key] == value]
    return table.reset_index(drop=True)


def test_results_do_not_depend_on_cores_or_batches_and_a_second_run_does_nothing(workflow):
    workflow.write_study()
    succeed(workflow.run(*TABLES, cores=1))
    first = workflow.results()
    assert "Nothing to be done" in succeed(workflow.run(*TABLES)).stderr

    workflow.write_study(batch_size=2)
    succeed(workflow.run(*TABLES, "--forceall", cores=2))
    again = workflow.results()
    assert "estimates/plain-load0.6/batch4.parquet" in again
    for table in TABLES:
        name = table.removeprefix("results/")
        assert again[name] == first[name], name

    # A new load and more replicates change no number that existed.
    workflow.write_study(system={"servers": 4, "loads": [0.5, 0.6]}, replicates=11)
    succeed(workflow.run(*TABLES[:2], cores=2))
    more = workflow.results()
    kept = rows_of(more, "estimates.parquet", load=0.6)
    kept = kept[kept["replicate"] < 9].reset_index(drop=True)
    pd.testing.assert_frame_equal(kept, rows_of(first, "estimates.parquet"))
    truth = rows_of(more, "truth.parquet", load=0.6)
    pd.testing.assert_frame_equal(truth, rows_of(first, "truth.parquet"))


@pytest.fixture(scope="module")
def estimated(tmp_path_factory):
    """A study run as far as its estimates, traces passing."""
    workflow = Workflow(tmp_path_factory.mktemp("estimated") / "study")
    workflow.write_study(**INEXACT)
    succeed(workflow.run("results/estimates.parquet"))
    return workflow


def test_kept_traces_give_the_same_estimates(workflow, estimated):
    workflow.write_study(**INEXACT, keep_traces=True)
    succeed(workflow.run("results/estimates.parquet"))
    assert workflow.results()["estimates.parquet"] == estimated.results()["estimates.parquet"]
    traces = sorted(path.name for path in workflow.folder.rglob("*.arrow"))
    assert traces == ["batch0.arrow", "batch0.arrow", "batch0.carry.arrow", "batch0.carry.arrow"]


def test_passing_traces_leave_nothing_behind(estimated):
    assert not list(estimated.folder.rglob("*.arrow"))
    assert not list(estimated.folder.rglob("*.partial"))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"replicats": 3}, "replicats: unknown key, did you mean replicates?"),
        ({"treatment": {"policy": "power_of_d", "d": 9}}, "treatment.d: must be a whole number"),
        ({"system": {"servers": 4, "loads": [1.5]}}, "system.loads.0: should be less than 1"),
        ({"estimators": ["wqd"]}, "did you mean wdq?"),
    ],
)
def test_a_wrong_study_ends_before_any_job(workflow, keys, message):
    workflow.write_study(**keys)
    process = workflow.run()
    assert process.returncode != 0
    assert message in process.stderr
    assert "Traceback" not in process.stderr
    assert not (workflow.folder / "results").exists()


@pytest.mark.slow(seconds=50)
def test_a_whole_study_leaves_nothing_to_do(workflow):
    workflow.write_study()
    succeed(workflow.run(cores=2))
    assert "Nothing to be done" in succeed(workflow.run()).stderr


@pytest.mark.slow(seconds=60)
def test_a_study_too_small_for_some_tables_leaves_them_empty_but_whole(workflow):
    """One replicate, one estimator, records too short for a standard error."""
    workflow.write_study(
        replicates=1,
        arrivals=300,
        estimators=["naive"],
        designs={"bernoulli": {"kind": "bernoulli"}},
    )
    succeed(workflow.run(cores=2))
    tables = workflow.folder / "results" / "tables"
    assert len(pd.read_csv(tables / "mse.csv")) == 1
    table = pd.read_csv(tables / "crossover.csv")
    assert table.empty
    assert {"scenario", "estimator"} <= set(table.columns)
    table = pd.read_csv(tables / "coverage.csv")
    assert table["coverage"].isna().all()
    assert table["note"].notna().all()
    assert (workflow.folder / "results/figures/coverage.png").stat().st_size > 0


@pytest.mark.slow(seconds=70)
def test_a_study_of_two_equal_arms_alone_has_all_its_tables_and_figures(workflow):
    alike = {"policy": "power_of_d", "d": 2}
    workflow.write_study(control=alike, treatment=alike, horizons=[2.0, 5.0, 9.0])
    succeed(workflow.run(cores=2))
    figures = {path.stem for path in (workflow.folder / "results/figures").glob("*.png")}
    assert {"mse_heatmap", "mse_by_length-plain", "bias_sd-plain", "bias_decomposition"} <= figures
    mse = pd.read_csv(workflow.folder / "results/tables/mse.csv")
    assert (mse["gte"] == 0.0).all()
    assert mse["relative_rmse"].isna().all()
    assert "row of `claims.csv`" in (workflow.folder / "results/tables/claims.md").read_text()
    assert mse.loc[mse["main"], "horizon"].dropna().unique().tolist() == [5.0]


def test_the_default_study_is_read_without_a_configfile(workflow):
    import subprocess
    import sys

    process = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "-n", "--quiet", "host"],
        cwd=workflow.folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    default = yaml.safe_load((workflow.folder / "config/config.yaml").read_text())
    assert f"{next(iter(default['scenarios']))}-load" in process.stdout + process.stderr


def test_progress_and_failures_are_in_the_log(estimated):
    log = estimated.folder / "results/logs/simulate_and_estimate/plain-load0.6/batch0.log"
    assert "plain-load0.6: simulating and estimating: done, 18 steps" in log.read_text()
