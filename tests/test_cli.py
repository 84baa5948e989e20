from pathlib import Path

import pytest
import yaml

from queuebench.cli import main, study_schema
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.study.cells import load_study, resolve
from queuebench.study.reference import study_reference

ROOT = Path(__file__).parents[1]


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "study.yaml"
    keys = {
        "seed": 3, "arrivals": 2000, "warmup": 20.0, "horizon": 5.0,
        "system": {"servers": 6, "loads": [0.6]}, "scenarios": {"plain": {}},
    }  # fmt: skip
    path.write_text(yaml.safe_dump(keys))
    return path


def test_replicate_prints_the_pipelines_estimates_to_the_last_digit(study, tmp_path, capsys):
    import pyarrow.parquet as pq

    (cell,) = resolve(load_study(study))
    simulate_and_estimate(
        cell, range(5), [tmp_path / "e.parquet", tmp_path / "d.parquet"], tmp_path / "log"
    )
    rows = [r for r in pq.read_table(tmp_path / "e.parquet").to_pylist() if r["replicate"] == 3]
    arguments = ["--configfile", str(study), "--cell", "plain-load0.6", "--design", "bernoulli"]
    arguments += ["--replicate", "3", "--trace", str(tmp_path / "r.arrow")]
    assert main(["replicate", *arguments]) == 0
    printed = capsys.readouterr().out
    for row in rows:
        assert repr(row["estimate"]) in printed
    assert (tmp_path / "r.arrow").exists()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--cell", "plain-load0.7", "no cell plain-load0.7; known are plain-load0.6"),
        ("--design", "group", "no design group; known are bernoulli"),
        ("--replicate", "-1", "must be 0 or more"),
        ("--configfile", "absent.yaml", "absent.yaml: cannot be read"),
    ],
)
def test_what_cannot_be_found_is_said(study, capsys, option, value, message):
    arguments = {
        "--configfile": str(study), "--cell": "plain-load0.6", "--design": "bernoulli",
        "--replicate": "0",
    } | {option: value}  # fmt: skip
    status = main(["replicate", *(f"{k}={v}" for k, v in arguments.items())])
    assert status == 2
    assert message in capsys.readouterr().err


def test_the_schema_file_is_in_step_with_the_models():
    assert (ROOT / "config/study.schema.json").read_text() == study_schema() + "\n"


def test_the_table_of_keys_is_in_step_with_the_models():
    assert study_reference() in (ROOT / "config/README.md").read_text()


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_study_is_right(path):
    from queuebench.pipeline.checks import check_cell

    for cell in resolve(load_study(path)):
        check_cell(cell)
