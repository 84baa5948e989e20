"""The oracle in the study: truth, bias decomposition, and the end-to-end proof that all parts are right."""

import numpy as np
import pandas as pd
import pytest

from queuebench.estimators import all_estimators
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.pipeline.stages.exact import choices, solve_cell
from queuebench.results.tables.bias_decomposition import bias_decomposition
from queuebench.results.tables.truth import TruthMismatchError, truth_table

KNOWN = {entry.name: entry.exact for entry in all_estimators() if entry.exact}


def test_it_applies_to_homogeneous_power_of_d_only(make_cell):
    assert choices(make_cell()) == [2, 3]
    assert choices(make_cell(treatment={"policy": "join_shortest_queue"})) == [2, 20]
    for keys in (
        {"treatment": {"policy": "round_robin"}},
        {"travel_time": 0.1},
        {"speeds": {"kind": "linear", "ratio": 2.0}},
        {"service": {"distribution": "constant"}},
        {"information": {"kind": "constant_age", "age": 1.0}},
        {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.1, "period": 50.0}},
        {"truth": {"exact_states": 0}},
    ):
        assert choices(make_cell(**keys)) is None


def test_out_of_reach_is_said_with_the_number_of_states(make_cell):
    found = solve_cell(make_cell(load=0.9, truth={"exact_states": 1000}), [2, 3])
    assert not found["solved"]
    assert "states" in found["reason"]


def simulated(gte):
    return pd.DataFrame(
        [{"scenario": "tested", "load": 0.7, "source": "simulated", "gte": gte, "gte_se": 0.01,
          "response_control": 1.0, "response_treatment": 1.0 + gte, "gte_queue": gte,
          "gte_queue_se": 0.02, "little_se": 0.001}]
    )  # fmt: skip


def test_the_truth_is_exact_where_it_is_known(make_cell):
    cell = make_cell(truth={"exact_tolerance": 1e-3})
    found = {"scenario": "tested", "load": 0.7} | solve_cell(cell, choices(cell))
    table = truth_table(simulated(-0.26), [found])
    row = table.iloc[0]
    assert row["source"] == "exact"
    assert abs(row["gte"] + 0.252782) < row["gte_se"] + 1e-6
    assert row["response_control_se"] + row["response_treatment_se"] == row["gte_se"]
    # One side exact, the other simulated: not the error of two quantities from one run.
    assert row["little_se"] == pytest.approx(np.hypot(0.02, row["gte_se"]))
    assert row["z_against_exact"] == pytest.approx((-0.26 + 0.252782) / 0.01, abs=0.1)
    with pytest.raises(TruthMismatchError, match="standard errors from the exact"):
        truth_table(simulated(-0.35), [found])
    unsolved = {"scenario": "tested", "load": 0.7, "solved": False, "reason": "too many states"}
    assert truth_table(simulated(-0.26), [unsolved])["source"].tolist() == ["simulated"]


CELLS = [
    {"load": 0.6, "system": {"servers": 3}, "d": (1, 2)},
    {"load": 0.8, "system": {"servers": 5}, "d": (2, 4)},
    {"load": 0.5, "system": {"servers": 12, "treated_share": 0.3}, "d": (2, 5)},
]


@pytest.mark.parametrize("keys", CELLS)
@pytest.mark.parametrize(
    ("replicates", "arrivals", "errors"),
    [(16, 10_000, 5.5), pytest.param(64, 40_000, 4, marks=pytest.mark.slow(seconds=25))],
)
def test_simulation_agrees_with_the_oracle(make_cell, tmp_path, keys, replicates, arrivals, errors):
    """Replicates within some standard errors of every estimand: 4 of 64 long ones, or 5.5 of 16.

    Twenty rows in each of three cells: by Student's law a false alarm once in 100 seeds of the long
    ones, in 270 of the others. The horizon that is chosen on the same data leaves a bias of its own,
    so its row is checked for its estimand only.
    """
    control, treatment = ({"policy": "power_of_d", "d": d} for d in keys["d"])
    cell = make_cell(
        load=keys["load"], system=dict(keys["system"]), control=control, treatment=treatment,
        arrivals=arrivals, horizons=[3.0, 6.0, 12.0], truth={"exact_tolerance": 1e-5},
    )  # fmt: skip
    outputs = [tmp_path / "e.parquet", tmp_path / "d.parquet"]
    simulate_and_estimate(cell, range(replicates), outputs, tmp_path / "log")
    found = {"scenario": "tested", "load": keys["load"]} | solve_cell(cell, choices(cell))
    estimates = pd.read_parquet(outputs[0])
    table = bias_decomposition(estimates, [found], KNOWN)
    assert len(table) == 1 + 6 * 3 + 1
    judged = table[table["estimator"] != "mixed_dq_auto"]
    for _, row in judged.iterrows():
        bound = errors * row["residual_se"] + row["residual_error"]
        assert abs(row["residual"]) < bound, row["estimator"]
    total = table["gte"] + table["interference_bias"] + table["truncation_bias"]
    np.testing.assert_allclose(total, table["estimand"], atol=1e-12)
    at_its_own = estimates[estimates["estimator"] == "mixed_dq_auto"]
    items = {item["horizon_arrivals"]: item for item in found["truncated"]}
    estimands = [
        alpha * items[length]["response"] + (1 - alpha) * items[length]["queue"]
        for alpha, length in zip(at_its_own["alpha"], at_its_own["horizon_arrivals"], strict=True)
    ]
    auto = table.set_index("estimator").loc["mixed_dq_auto"]
    assert auto["estimand"] == pytest.approx(np.mean(estimands), rel=1e-12)
