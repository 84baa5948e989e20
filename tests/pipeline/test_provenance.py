"""Results say which study made them."""

import pytest
import yaml

from queuebench.pipeline.provenance import stamp, take_over
from queuebench.study.cells import load_study, parse_study, resolve

STUDY = {
    "seed": 7,
    "system": {"servers": 4, "loads": [0.6]},
    "designs": {"b": {"kind": "bernoulli"}, "s": {"kind": "switchback", "period": 9.0}},
    "truth": {"exact_tolerance": 1.0e-5},
    "scenarios": {"plain": {}, "fast": {"arrivals": 2000, "designs": {"s": None}}},
    "loss_network": {"servers": [16]},
}


def study(**keys):
    return parse_study({**STUDY, **keys})


def test_the_study_beside_the_results_is_the_study(tmp_path):
    path = tmp_path / "results/study.yaml"
    assert take_over(study(), path) is None
    again = load_study(path)
    assert resolve(again) == resolve(study())
    assert again.loss_network == study().loss_network
    assert f"study {stamp(resolve(study()))['study']}" in path.read_text()
    # Run as it is, it is the same study.
    before = path.read_bytes()
    assert take_over(again, path) is None
    assert path.read_bytes() == before


@pytest.mark.parametrize("config", ["config", "paper", "coverage", "rivals", "smoke"])
def test_the_shipped_studies_are_read_back(tmp_path, config):
    shipped = load_study(f"config/{config}.yaml")
    take_over(shipped, tmp_path / "study.yaml")
    assert resolve(load_study(tmp_path / "study.yaml")) == resolve(shipped)


def test_another_study_is_said(tmp_path):
    path = tmp_path / "results/study.yaml"
    take_over(study(), path)
    scenarios = {"plain": {}, "slow": {}}
    said = take_over(study(seed=8, scenarios=scenarios, batch_size=2), path)
    assert f"{path.parent}/ holds the study with seed 7 and scenarios plain, fast" in said
    for difference in (
        "seed (7, now 8)", "batch_size (100, now 2)", "scenarios.slow (new)", "scenarios.fast (gone)",
    ):  # fmt: skip
        assert difference in said
    assert load_study(path).seed == 8


@pytest.mark.parametrize("content", ["", "seed: [", "\x00", "nothing: 1"])
def test_a_file_that_is_no_study_is_replaced_and_said(tmp_path, content):
    path = tmp_path / "study.yaml"
    path.write_text(content)
    assert "could not be read" in take_over(study(), path)
    assert yaml.safe_load(path.read_text())["seed"] == 7


def test_what_changes_no_number_is_no_other_study():
    first = stamp(resolve(study()))
    assert stamp(resolve(study(batch_size=3, keep_traces=True))) == first
    assert stamp(resolve(study(seed=8))) != first
    assert stamp(resolve(study(arrivals=3000))) != first
