"""Hashes of small traces, so that a change of the stream or of a single rounding is noticed.

If one changes on purpose, say so in the commit and take the new hash from the failure.
"""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import carry_path

DESIGNS = {
    "bernoulli": {"kind": "bernoulli"},
    "group": {"kind": "group"},
    "switchback": {"kind": "switchback", "period": 7.0, "burn_in": 2.0},
}
SCENARIOS = {
    "plain": {},
    "delayed": {"information": {"kind": "constant_age", "age": 1.0}},
    "travelling": {"travel_time": 0.5, "information": {"kind": "bulletin_board", "period": 2.0}},
    "unequal": {
        "speeds": {"kind": "two_speed", "ratio": 2.0},
        "treatment": {"policy": "shortest_expected_delay", "d": 3},
    },
    "varying": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.6, "period": 50.0}},
    "pareto": {"service": {"distribution": "pareto", "shape": 2.5}},
    "erlang": {
        "service": {"distribution": "erlang", "stages": 3},
        "control": {"policy": "round_robin"},
        "treatment": {"policy": "join_idle_queue"},
    },
    "hyperexponential": {
        "service": {"distribution": "hyperexponential", "scv": 4.0},
        "control": {"policy": "power_of_d", "d": 1},
        "treatment": {"policy": "join_shortest_queue"},
    },
}
# Logarithms, sines and powers may differ in the last bit from one processor to another.
ROUNDED = ("varying", "pareto", "hyperexponential")
PINNED = {
    ("plain", "bernoulli"): "364c8a2e07194c4d",
    ("plain", "group"): "81000784d7269be9",
    ("plain", "switchback"): "3fa47bd316c1c744",
    ("delayed", "bernoulli"): "c9b806a85fbd4fa9",
    ("delayed", "group"): "b8abf4b440d4534a",
    ("delayed", "switchback"): "fca3f9a62f30beb6",
    ("travelling", "bernoulli"): "aedc14884c2d561f",
    ("travelling", "group"): "b771e90b7fc7fbe3",
    ("travelling", "switchback"): "e50533fd39611fd2",
    ("unequal", "bernoulli"): "3b133a73170c9092",
    ("unequal", "group"): "263a2921c04b7035",
    ("unequal", "switchback"): "5e6c3d3f43d9c522",
    ("varying", "bernoulli"): "137f12b786bf0c26",
    ("varying", "group"): "9166b5f8c3a45b35",
    ("varying", "switchback"): "e65140ddf752efdb",
    ("pareto", "bernoulli"): "f74931550392b18a",
    ("pareto", "group"): "038424560a6336cf",
    ("pareto", "switchback"): "5ca700855e2c84e7",
    ("erlang", "bernoulli"): "efec2482c76978d1",
    ("erlang", "group"): "4f6a6d65135c366d",
    ("erlang", "switchback"): "27c628c3b45a9672",
    ("hyperexponential", "bernoulli"): "c390aaa9895c8072",
    ("hyperexponential", "group"): "5914683c8caee62d",
    ("hyperexponential", "switchback"): "cbd6715f9411bd2e",
}


def trace_hash(path, decimals):
    """Hash the columns of a trace and the jobs it began with, floats to some decimals."""
    digest = hashlib.sha256()
    for column in _columns(path):
        if column.null_count:
            digest.update(str(column.null_count).encode())
            continue
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype == float and decimals is not None:
            values = np.round(values, decimals)
        digest.update(values.tobytes())
    return digest.hexdigest()[:16]


def _columns(path):
    table = pa.ipc.open_file(path).read_all().combine_chunks()
    carry = pa.ipc.open_file(carry_path(path)).read_all().combine_chunks()
    jobs = carry.column("jobs").combine_chunks()
    return [column.combine_chunks() for column in table.columns] + jobs.flatten().flatten()


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_traces_are_what_they_were(make_cell, tmp_path, scenario, design):
    cell = make_cell(
        load=0.9,
        system={"servers": 12},
        arrivals=5000,
        warmup=20.0,
        designs={design: DESIGNS[design]},
        **SCENARIOS[scenario],
    )
    simulate_batch(cell, design, range(2), tmp_path / "t.arrow")
    decimals = 6 if scenario in ROUNDED else None
    assert trace_hash(tmp_path / "t.arrow", decimals) == PINNED[scenario, design]
