"""What a study asks of the workflow."""

import pytest

from queuebench.pipeline import study_plan
from queuebench.pipeline.study_plan import StudyPlan
from queuebench.results import catalogue
from queuebench.results.catalogue import CATALOGUE, Figure, Table
from queuebench.study.cells import parse_study, resolve

POWER = {"policy": "power_of_d", "d": 1}


def plan(scenarios=("one",), **keys):
    if not isinstance(scenarios, dict):
        scenarios = {name: {} for name in scenarios}
    keys = {"replicates": 10, "batch_size": 4, "arrivals": 500, "system": {"loads": [0.5]}} | keys
    study = parse_study({"seed": 1, "scenarios": scenarios} | keys)
    return StudyPlan(study, resolve(study))


def test_batches_cover_every_replicate_once():
    found = plan()
    cell = "one-load0.5"
    covered = [n for batch in found.batches(cell) for n in range(*found.replicates(cell, batch))]
    assert covered == list(range(10))
    assert [found.arrivals(cell, batch) for batch in found.batches(cell)] == [2000, 2000, 1000]
    assert found.batch_files("estimates") == [
        f"results/estimates/{cell}/batch{batch}.parquet" for batch in range(3)
    ]


def test_a_longer_batch_gets_more_minutes():
    short, long = plan(arrivals=10**7), plan(arrivals=10**7, batch_size=10)
    assert short.minutes("one-load0.5", 2) < short.minutes("one-load0.5", 0)
    assert short.minutes("one-load0.5", 0) < long.minutes("one-load0.5", 0)


def test_cells_are_sorted_by_what_happens_to_them():
    found = plan(
        {
            "plain": {},
            "kept": {"keep_traces": True, "service": {"distribution": "constant"}},
            "late": {"travel_time": 1.0, "horizons": [1.0, 2.0, 3.0]},
        }
    )
    assert found.kept == ["kept-load0.5"]
    assert found.passing == ["plain-load0.5", "late-load0.5"]
    assert found.exact == {"plain-load0.5": [2, 3]}
    assert found.scenarios == {
        "all": ["plain", "kept", "late"],
        "many_horizons": ["late"],
        "delayed": ["late"],
        "exact": ["plain"],
        "of_shares": [],
        "any": ["plain", "kept", "late"],
        # And the families.
        "homogeneous": ["plain"],
        "constant_service": ["kept"],
    }
    assert found.designs == {"bernoulli"}


def test_a_study_has_the_tables_and_figures_that_it_can_fill():
    rules = {shown.rule for shown in [*plan().tables, *plan().figures]}
    assert rules == {shown.rule for shown in CATALOGUE} - {"truncation", "delay", "share_curve"}
    inexact = plan(service={"distribution": "constant"})
    assert {"bias_decomposition", "bias_decomposition_figure"}.isdisjoint(
        shown.rule for shown in [*inexact.tables, *inexact.figures]
    )
    (coverage,) = (table for table in inexact.tables if table.name == "coverage")
    assert inexact.inputs(coverage) == {
        "estimates": "results/estimates.parquet", "truth": "results/truth.parquet",
    }  # fmt: skip
    network = plan((), loss_network={"servers": [16, 300, 2000]})
    assert [table.name for table in network.tables] == ["claims_table"]
    assert set(network.inputs(network.tables[0])) == {
        "regret",
        "regret_decomposition",
        "single_use",
    }
    assert network.traced == 300
    assert "servers" not in network.path_settings
    assert network.loss_paths["regret"][0] == "results/loss/N16/regret.parquet"
    logs = plan({"own": {"kind": "external", "log": "a.csv", "config": "a.yaml"}})
    assert logs.targets == ["results/external/own/estimates.csv"]


def test_targets_are_what_tables_and_figures_write():
    found = plan({"one": {}, "two": {"travel_time": 1.0}})
    assert {
        "results/estimates.parquet", "results/tables/mse.md", "results/figures/violins-two.pdf",
        "results/figures/delay.png", "results/tables/bias_decomposition.csv",
    } <= set(found.targets)  # fmt: skip
    assert not [path for path in found.targets if "truncation" in path or "loss" in path]
    assert len(set(found.targets)) == len(found.targets)


def test_what_tables_are_given():
    found = plan({"one": {"service": {"distribution": "pareto", "shape": 2.5}}})
    asked = Table("mine", "a:b", (), {}, given=("notes", "seed", "structural", "families"))
    given = found.given(asked)
    assert "Pareto" in given["notes"]["one"]
    assert given["seed"] == 1
    assert "replay" in given["structural"]
    assert given["families"] == {"one": ["heavy_tailed"]}


def test_the_catalogue_takes_more_but_nothing_twice(monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", list(CATALOGUE))
    monkeypatch.setattr(study_plan, "CATALOGUE", catalogue.CATALOGUE)
    mine = Figure("mine", "Mine", "my_module:draw", of="exact", each=True)
    catalogue.add(mine)
    assert {"results/figures/mine-one.png", "results/figures/mine-one.pdf"} <= set(plan().targets)
    with pytest.raises(ValueError, match="mine is in the catalogue"):
        catalogue.add(mine)
