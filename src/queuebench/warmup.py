"""Compiling every kernel a study may use, once, into numba's cache."""

import tempfile
from pathlib import Path

from queuebench.batches import simulate_and_estimate
from queuebench.config import parse_study, resolve
from queuebench.truth import simulate_truth

_TINY = {
    "seed": 0,
    "replicates": 1,
    "arrivals": 2000,
    "warmup": 10.0,
    "horizon": 3.0,
    "system": {"servers": 4, "loads": [0.5]},
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "truth": {"relative": 1.0, "max_arrivals": 50_000},
    "designs": {
        "bernoulli": {"kind": "bernoulli"},
        "group": {"kind": "group"},
        "switchback": {"kind": "switchback", "period": 20.0},
    },
    "scenarios": {
        "poisson": {},
        "sinusoidal": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.5, "period": 50.0}},
    },
}


def compile_kernels(log=None):
    """Run a tiny study through every kernel.

    A kernel is compiled once for all policies and features, so any study that passes through all
    kernels will do.

    Parameters
    ----------
    log : str or pathlib.Path, optional
        Where progress is written.
    """
    with tempfile.TemporaryDirectory() as folder:
        for cell in resolve(parse_study(_TINY)):
            simulate_and_estimate(cell, range(1), Path(folder) / "estimates.parquet", log)
            simulate_truth(cell)
