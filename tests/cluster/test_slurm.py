"""The workflow on a real Slurm: the bytes of a local run, readable failures, and resuming."""

import signal
import subprocess

import pytest

from tests.workflow_copy import Workflow, succeed

SMOKE = "config/smoke.yaml"
DESIGNS = ["bernoulli", "switchback"]
COLLECTED = ["results/estimates.parquet", "results/truth.parquet"]

pytestmark = pytest.mark.workflow


@pytest.fixture(scope="module")
def local_results(slurm, tmp_path_factory):
    """Results of the smoke study without a cluster."""
    workflow = Workflow(tmp_path_factory.mktemp("local") / "local")
    succeed(workflow.run(cores=2, configfile=SMOKE))
    return workflow.results()


@pytest.fixture
def start():
    """Return a function that starts a run of the smoke study's data; none outlives the test."""
    started = []

    def start(study):
        command, how = study.command(*COLLECTED, configfile=SMOKE)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_the_smoke_study_gives_the_bytes_of_a_local_run(cluster_workflow, local_results):
    process = succeed(cluster_workflow.run(configfile=SMOKE))
    assert "submitted with SLURM jobid" in process.stderr
    results = cluster_workflow.results()
    assert results.keys() == local_results.keys()
    differing = [name for name, found in results.items() if found != local_results[name]]
    assert not differing


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
    cluster_workflow, slurm, start, local_results
):
    study = cluster_workflow

    run = start(study)
    slurm.ask("scancel", slurm.wait_for_job("rule_truth", "homogeneous-load0.8"))
    said = run.communicate()[0]
    assert run.returncode != 0
    assert "SLURM status is: 'CANCELLED'" in said
    assert "homogeneous-load0.8" in said.split("Error in rule truth")[1]
    done = study.results()
    assert "truth/homogeneous-load0.5.parquet" in done, "the others finish"
    assert "truth/homogeneous-load0.8.parquet" not in done

    run = start(study)
    job = slurm.wait_for_job("rule_truth", "homogeneous-load0.8")
    run.send_signal(signal.SIGKILL)
    run.communicate()
    name = slurm.ask("squeue", "--noheader", "--format=%j", "--jobs", job).strip()
    refused = study.run(*COLLECTED, configfile=SMOKE)
    assert refused.returncode != 0
    assert "cannot be locked" in refused.stdout + refused.stderr
    assert name.startswith("queuebench")
    slurm.ask("scancel", "--name", name)
    succeed(study.run("--unlock", configfile=SMOKE))
    succeed(study.run(*COLLECTED, configfile=SMOKE))
    results = study.results()
    for path in COLLECTED:
        name = path.removeprefix("results/")
        assert results[name] == local_results[name], name
