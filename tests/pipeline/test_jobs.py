"""What jobs depend on: an order of keys that means nothing does not count, nor does what does not enter."""

from functools import partial
from pathlib import Path

import pytest

from queuebench.pipeline import jobs
from queuebench.study.cells import parse_study, resolve
from queuebench.study.settings import ExternalLog

SCRIPTS = Path(__file__).parents[2] / "workflow/scripts"
batch_params = partial(jobs.estimation_params, script=SCRIPTS / "simulate_and_estimate.py")
estimation_params = partial(jobs.estimation_params, script=SCRIPTS / "estimate.py")
exact_params = partial(jobs.exact_params, reads=[2, 3], script=SCRIPTS / "exact.py")
simulation_params = partial(jobs.simulation_params, script=SCRIPTS / "simulate.py")

STUDY = {
    "seed": 1,
    "horizons": [3.0, 5.0],
    "system": {"servers": 4, "loads": [0.6]},
    "designs": {"b": {"kind": "bernoulli"}, "s": {"kind": "switchback", "period": 9.0}},
    "estimators": ["naive", "dq", "switchback"],
    "scenarios": {"one": {}},
}


def cell(**keys):
    return resolve(parse_study({**STUDY, **keys}))[0]


@pytest.mark.parametrize("key", ["designs", "estimators", "horizons"])
def test_order_means_nothing(key):
    value = STUDY[key]
    other = dict(reversed(value.items())) if isinstance(value, dict) else value[::-1]
    of_traces = lambda cell: simulation_params(cell, design="b")  # noqa: E731
    for params in (batch_params, estimation_params, exact_params, of_traces):
        # Snakemake compares what a param's repr says.
        assert repr(params(cell())) == repr(params(cell(**{key: other})))


def test_one_horizon_is_the_same_by_either_key():
    by_horizon, by_horizons = cell(horizon=5.0, horizons=None), cell(horizon=5.0, horizons=[5.0])
    for params in (batch_params, estimation_params, exact_params):
        assert repr(params(by_horizon)) == repr(params(by_horizons))


def test_a_seed_solves_nothing_exactly_again():
    assert exact_params(cell()) == exact_params(cell(seed=2))
    assert batch_params(cell()) != batch_params(cell(seed=2))


def test_a_description_that_is_nested_without_end_ends_no_workflow(tmp_path):
    """Its job says what is wrong with it; the workflow is parsed before."""
    log = ExternalLog(log="log.csv", config=str(tmp_path / "log.yaml"))
    without = jobs.external_code(log, SCRIPTS / "external.py")
    (tmp_path / "log.yaml").write_text("structure: " + "[" * 5000)
    assert jobs.external_code(log, SCRIPTS / "external.py") == without
