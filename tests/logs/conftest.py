"""Simulated replicates and descriptions of the logs written from them."""

import json

import pytest

from queuebench.experiment import simulate_batch
from queuebench.trace import Trace

DESCRIPTION = {
    "columns": {
        "arrival_time": "arrival_time",
        "arm": "arm",
        "response_time": "response_time",
        "server": "server",
    },
    "treatment": "B",
    "mean_service_time": 1.0,
    "start": 0.0,
}


@pytest.fixture
def simulate(make_cell, tmp_path):
    """Return a function that simulates one replicate and returns its cell and replicate."""

    def run(design="bernoulli", **keys):
        keys.setdefault("system", {"servers": 6})
        keys.setdefault("arrivals", 3000)
        cell = make_cell(**keys)
        path = tmp_path / "trace.arrow"
        simulate_batch(cell, design, range(1), path)
        return cell, next(iter(Trace(path)))

    return run


@pytest.fixture
def describe(tmp_path):
    """Return a function that writes the description of a log, overriding some of its keys."""

    def write(columns=None, drop=(), **keys):
        values = json.loads(json.dumps(DESCRIPTION))
        values["columns"].update(columns or {})
        for name in drop:
            values["columns"].pop(name, None) or values.pop(name, None)
        path = tmp_path / "log.yaml"
        path.write_text(json.dumps(values | keys))
        return path

    return write
