"""The workflow on a real Slurm: the bytes of a local run, readable failures, and resuming."""

import re
import signal
import subprocess

import pytest

from tests.workflow_copy import INEXACT, ROOT, TINY, Workflow, succeed

EXAMPLES = dict(
    re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
)
DESIGNS = ["bernoulli", "switchback"]
COLLECTED = ["results/estimates.parquet", "results/truth.parquet"]
# A job on the cluster starts Snakemake twice: few, of every kind between them.
KEPT = {
    **INEXACT, "keep_traces": True, "designs": {"bernoulli": TINY["designs"]["bernoulli"]},
}  # fmt: skip
TWO_LOADS = {**INEXACT, "replicates": 2, "system": {"servers": 4, "loads": [0.5, 0.8]}}

pytestmark = pytest.mark.workflow


def locally(folder, *targets, configfile="study.yaml", **keys):
    """Return the results of a study without a cluster."""
    workflow = Workflow(folder)
    workflow.write_study(**keys)
    succeed(workflow.run(*targets, cores=2, configfile=configfile))
    return workflow.results()


@pytest.fixture
def start():
    """Return a function that starts a run of a study's data; none outlives the test."""
    started = []

    def start(study):
        command, how = study.command(*COLLECTED)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "targets",
    [
        pytest.param(COLLECTED, id="few", marks=pytest.mark.slow(seconds=60)),
        pytest.param([], id="smoke", marks=pytest.mark.slow(seconds=400)),
    ],
)
def test_the_bytes_are_those_of_a_local_run(cluster_workflow, tmp_path, targets):
    """Some targets of a small study, and the whole smoke study."""
    configfile = "study.yaml" if targets else "config/smoke.yaml"
    expected = locally(tmp_path / "local", *targets, configfile=configfile, **KEPT)
    cluster_workflow.write_study(**KEPT)
    process = succeed(cluster_workflow.run(*targets, configfile=configfile))
    assert "submitted with SLURM jobid" in process.stderr
    results = cluster_workflow.results()
    assert results.keys() == expected.keys()
    differing = [name for name, found in results.items() if found != expected[name]]
    assert not differing


@pytest.mark.slow(seconds=60)
def test_plug_ins_are_loaded_by_every_job(cluster_workflow, tmp_path):
    study = cluster_workflow
    local = Workflow(tmp_path / "local")
    for where in (study, local):
        for name in ("one_plus_beta.py", "median_difference.py"):
            (where.folder / name).write_text(EXAMPLES[name])
        where.write_study(
            plugins=["one_plus_beta.py", "median_difference.py"],
            treatment={"policy": "one_plus_beta", "d": 2, "beta": 0.8},
            estimators=["naive", "median_difference"],
            designs={"bernoulli": {"kind": "bernoulli"}},
        )
    succeed(local.run(*COLLECTED, cores=2))
    succeed(study.run(*COLLECTED))
    assert study.results() == local.results()


def test_failed_jobs_are_reported_with_their_causes(cluster_workflow):
    study = cluster_workflow
    study.write_study(keep_traces=True)
    traces = "results/traces/plain-load0.6/{}/batch0.arrow"
    local, how = Workflow.command(study, *map(traces.format, DESIGNS), cores=2)
    subprocess.run(local, check=True, capture_output=True, **how)
    trace = study.folder / traces.format("switchback")
    trace.write_bytes(trace.read_bytes()[:-100])

    estimates = "results/estimates/plain-load0.6/batch0.parquet"
    truth = "results/truth/plain-load0.6.parquet"
    process = study.run(estimates, truth, "--set-resources", "truth:mem_mb=100")
    assert process.returncode != 0
    said = process.stderr
    assert estimates in said.split("Error in rule estimate")[1]
    assert f"{traces.format('switchback')}: is not a complete Arrow file" in said
    assert truth in said.split("Error in rule truth")[1]
    assert "Exceeded job memory limit" in said


def test_cancelled_jobs_and_a_killed_snakemake_are_resumed(
    cluster_workflow, slurm, start, tmp_path
):
    study = cluster_workflow
    study.write_study(**TWO_LOADS)
    expected = locally(tmp_path / "local", *COLLECTED, **TWO_LOADS)

    run = start(study)
    slurm.ask("scancel", slurm.wait_for_job("rule_truth", "plain-load0.8"))
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "SLURM status is: 'CANCELLED'" in said
    assert "plain-load0.8" in said.split("Error in rule truth")[1]
    done = study.results()
    assert "truth/plain-load0.5.parquet" in done, "the others finish"
    assert "truth/plain-load0.8.parquet" not in done

    run = start(study)
    job = slurm.wait_for_job("rule_truth", "plain-load0.8")
    run.send_signal(signal.SIGKILL)
    run.communicate()
    name = slurm.ask("squeue", "--noheader", "--format=%j", "--jobs", job).strip()
    refused = study.run(*COLLECTED)
    assert refused.returncode != 0
    assert "cannot be locked" in refused.stdout + refused.stderr
    assert name.startswith("queuebench")
    slurm.ask("scancel", "--name", name)
    succeed(study.run("--unlock"))
    succeed(study.run(*COLLECTED))
    results = study.results()
    for path in COLLECTED:
        name = path.removeprefix("results/")
        assert results[name] == expected[name], name
