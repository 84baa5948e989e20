"""The page about logs: its examples run, and it names every key."""

import re
from pathlib import Path

from queuebench.estimators.common.registry import all_estimators
from queuebench.logs import LogConfig, load_config
from queuebench.logs.read.description import Columns
from tests.logs.exported import write_log

PAGE = (Path(__file__).parents[2] / "docs" / "your-own-log.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_examples_run(small_log, tmp_path, monkeypatch, capsys):
    columns = small_log(jobs=4000)
    renamed = {"arrival_time": "dispatched_at", "arm": "variant", "response_time": "latency",
               "server": "host"}  # fmt: skip
    write_log(
        tmp_path / "experiment.parquet",
        {renamed[name]: values for name, values in columns.items()},
    )
    first, *others = blocks("yaml")
    (tmp_path / "experiment.yaml").write_text(first)
    monkeypatch.chdir(tmp_path)
    (program,) = blocks("python")
    exec(program, {})
    assert "effect on the mean response" in capsys.readouterr().out
    assert (tmp_path / "report" / "report.txt").exists()
    for number, text in enumerate(others):
        (tmp_path / f"{number}.yaml").write_text(text)
        load_config(tmp_path / f"{number}.yaml")


def test_every_key_is_documented():
    fields = [*LogConfig.model_fields.items(), *Columns.model_fields.items()]
    for key in (field.alias or name for name, field in fields):
        assert f"`{key}`" in PAGE or f"`{key}:`" in PAGE, key


def test_every_estimator_with_observed_costs_is_documented():
    for entry in all_estimators():
        if entry.observed_costs and not entry.needs_cycle:
            assert f"`{entry.name}`" in PAGE, entry.name
