"""A log as a scenario of a study."""

import pyarrow.parquet as pq
import pytest
import yaml

from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace

pytestmark = pytest.mark.workflow


def write_log(workflow, **description):
    keys = {"seed": 1, "arrivals": 3000, "warmup": 20.0, "system": {"servers": 4, "loads": [0.6]}}
    (cell,) = resolve(parse_study({**keys, "scenarios": {"s": {}}}))
    simulate_batch(cell, "bernoulli", range(1), workflow.folder / "t.arrow")
    import pyarrow as pa

    replicate = next(iter(Trace(workflow.folder / "t.arrow")))
    names = ["arrival_time", "treated", "server", "response_time"]
    pq.write_table(
        pa.table({name: replicate.column(name) for name in names}), workflow.folder / "log.parquet"
    )
    columns = {name: name for name in names if name != "treated"} | {"arm": "treated"}
    description |= {"columns": columns, "treatment": True, "horizon": 5.0}
    (workflow.folder / "log.yaml").write_text(yaml.safe_dump(description))


def study(workflow, **keys):
    scenario = {"kind": "external", "log": "log.parquet", "config": "log.yaml", **keys}
    workflow.folder.joinpath("study.yaml").write_text(
        yaml.safe_dump({"seed": 1, "scenarios": {"ours": scenario}})
    )


def test_an_external_log_is_analysed(workflow):
    write_log(workflow)
    study(workflow)
    process = workflow.run()
    assert process.returncode == 0, process.stderr
    rows = (workflow.folder / "results/external/ours/estimates.csv").read_text()
    assert "mixed_dq" in rows
    assert "naive" in (workflow.folder / "results/external/ours/report.txt").read_text()


def test_a_log_is_replayed_and_a_wrong_structure_leads_the_report(workflow):
    """The policies exchanged: the check cannot but notice that the treated meet longer queues."""
    exchanged = [{"policy": "power_of_d", "d": d} for d in (4, 1)]
    write_log(workflow, structure=dict(zip(("control", "treatment"), exchanged, strict=True)))
    study(workflow)
    process = workflow.run()
    assert process.returncode == 0, process.stderr
    report = (workflow.folder / "results/external/ours/report.txt").read_text()
    assert report.startswith("replay fails to reproduce the experiment as it was run (p = ")
    rows = (workflow.folder / "results/external/ours/estimates.csv").read_text().splitlines()
    assert "check" in rows[0].split(",")
    assert [row for row in rows if row.startswith("replay,")]


def test_a_wrong_log_fails_with_one_sentence(workflow):
    write_log(workflow)
    (workflow.folder / "log.parquet").write_text("not parquet")
    study(workflow)
    process = workflow.run()
    assert process.returncode != 0
    assert "queuebench: " in process.stderr
    assert not (workflow.folder / "results/external/ours/estimates.csv").exists()


def test_a_misspelt_key_is_refused(workflow):
    write_log(workflow)
    study(workflow, colums={})
    process = workflow.run()
    assert process.returncode != 0
    assert "scenarios.ours.colums: unknown key" in process.stderr
