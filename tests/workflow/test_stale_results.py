"""What a study no longer names is listed and removed, and nothing else."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.workflow_copy import TINY, succeed

CURRENT = [
    "README.md",
    "study.yaml",
    "estimates.parquet",
    "estimates/plain-load0.6/batch0.parquet",
    "truth/plain-load0.6.parquet",
    "exact/plain-load0.6.json",
    "store/plain-load0.6/0-9.estimates.rows",
    "tables/mse.csv",
    "tables/mse.md",
    "figures/violins-plain.png",
    "figures/violins-plain.pdf",
    "logs/truth/plain-load0.6.log",
    "logs/collect.log",
    "benchmarks/truth/plain-load0.6.tsv",
]
STALE = [
    "estimates/gone-load0.5/batch0.parquet",
    "diagnostics/plain-load0.5/batch0.parquet",
    "estimates/plain-load0.6/batch7.parquet",
    "traces/plain-load0.6/bernoulli/batch0.arrow",
    "traces/plain-load0.6/bernoulli/batch0.carry.arrow",
    "traces/loss/N16.arrow",
    "truth/gone-load1e-05.parquet",
    "exact/gone-load0.5.json",
    "store/plain-load0.6/0-3.diagnostics.rows",
    "store/gone-load0.5/0-9.estimates.rows",
    "loss/N16/regret.parquet",
    "loss/regret.parquet",
    "external/ours/report.txt",
    "tables/regret.csv",
    "figures/violins-gone.png",
    "figures/violins-gone.pdf",
    "figures/delay.png",
    "figures/loss_knee.pdf",
    "logs/truth/gone-load0.5.log",
    "logs/simulate/plain-load0.6/bernoulli/batch0.log",
    "benchmarks/truth/gone-load0.5.tsv",
]
FOREIGN = [
    "notes.txt",
    "estimates/plain-load0.6/mine.parquet",
    "estimates/gone-load0.5/batch0.parquet.bak",
    "tables/mine.csv",
    "figures/violins.svg",
    "store/plain-load0.6/notes.md",
    "logs/truth/notes.txt",
]

pytestmark = pytest.mark.workflow


def stale(workflow, *arguments):
    command = [
        sys.executable, "-c", "import sys; from queuebench.cli import main; sys.exit(main())",
        "stale", "--configfile", "study.yaml", *arguments,
    ]  # fmt: skip
    return subprocess.run(command, cwd=workflow.folder, capture_output=True, text=True, check=False)


def test_only_what_the_workflow_made_and_the_study_does_not_name_is_removed(workflow):
    workflow.write_study(**TINY)
    results = workflow.folder / "results"
    for name in [*CURRENT, *STALE, *FOREIGN]:
        path = results / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("content")
    elsewhere = workflow.folder / "elsewhere"
    (elsewhere / "gone-load0.5").mkdir(parents=True)
    (elsewhere / "gone-load0.5/batch0.parquet").write_text("content")
    (results / "estimates/linked-load0.5").symlink_to(elsewhere / "gone-load0.5")

    listed = succeed(stale(workflow)).stdout.splitlines()
    assert sorted(listed) == sorted(f"results/{name}" for name in STALE)
    assert all((results / name).exists() for name in [*CURRENT, *STALE, *FOREIGN])

    assert sorted(succeed(stale(workflow, "--remove")).stdout.splitlines()) == sorted(listed)
    left = {str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()}
    assert left >= {*CURRENT, *FOREIGN}
    assert not left & set(STALE)
    assert not (results / "loss").exists(), "empty folders go too"
    assert (elsewhere / "gone-load0.5/batch0.parquet").exists()
    assert succeed(stale(workflow)).stdout == ""


def test_a_wrong_study_removes_nothing(workflow):
    workflow.write_study(seed=-1)
    process = stale(workflow, "--remove")
    assert process.returncode == 2
    assert "seed" in process.stderr
    assert "Traceback" not in process.stderr


def test_no_report_shows_results_of_another_study(workflow):
    workflow.write_study()
    path = workflow.folder / "results/estimates.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"estimate": [0.0]}).replace_schema_metadata({"study": "abc"}), path)
    process = workflow.run("--report", "report.html")
    assert process.returncode != 0
    assert "results/estimates.parquet is of study abc, and a report would show it" in process.stderr
    assert "Traceback" not in process.stderr
    assert not (workflow.folder / "report.html").exists()
