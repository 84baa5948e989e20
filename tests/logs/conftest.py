"""Simulated replicates and descriptions of the logs written from them."""

import json

import numpy as np
import pytest

from queuebench.pipeline.stages.simulate import simulate_batch
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
    "estimators": "all",
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


@pytest.fixture
def small_log():
    """Return a function that makes the columns of a small first-come-first-served log."""

    def make(jobs=400, servers=2, seed=1):
        rng = np.random.default_rng(seed)
        arrival = np.cumsum(rng.exponential(1.0, jobs))
        server = rng.integers(servers, size=jobs)
        free, response = np.zeros(servers), np.empty(jobs)
        for i in range(jobs):
            free[server[i]] = max(arrival[i], free[server[i]]) + rng.exponential(servers * 0.7)
            response[i] = free[server[i]] - arrival[i]
        arm = np.where(rng.random(jobs) < 0.5, "B", "A")
        return {
            "arrival_time": arrival.tolist(),
            "arm": arm.tolist(),
            "server": server.tolist(),
            "response_time": response.tolist(),
        }

    return make
