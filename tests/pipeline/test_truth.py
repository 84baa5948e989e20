import numpy as np
import pytest

from queuebench.estimators.common.setting import truth_arrivals
from queuebench.pipeline.stages.truth import simulate_truth


def test_closed_forms_within_their_standard_errors(make_cell):
    """N = 1 is M/M/1 under any policy; false alarm (four standard errors) once in 16 000 seeds."""
    cell = make_cell(
        load=0.6, system={"servers": 1}, control={"policy": "power_of_d", "d": 1},
        treatment={"policy": "round_robin"}, truth={"relative": 0.02, "max_arrivals": 400_000},
    )  # fmt: skip
    truth = simulate_truth(cell)
    assert truth.gte == 0.0
    assert truth.response_control == pytest.approx(2.5, rel=0.04)


def test_the_table_of_exact_values(make_cell):
    """N = 20, d = 2 against 3; false alarm (four standard errors) once in 8000 seeds."""
    for load, gte in ((0.5, -0.138099), (0.7, -0.252782), (0.8, -0.357239)):
        truth = simulate_truth(make_cell(load=load, truth={"relative": 0.01}))
        assert abs(truth.gte - gte) < 4 * truth.gte_se
        assert truth.gte_se <= max(0.01 * abs(truth.gte), 0.002 * truth.response_control)
        assert not truth.capped


def test_equal_arms_stop_early_with_no_effect(make_cell):
    policy = {"policy": "power_of_d", "d": 2}
    truth = simulate_truth(make_cell(control=policy, treatment=policy))
    assert truth.gte == 0.0
    assert truth.arrivals < 1_000_000


def test_a_truth_is_as_long_as_the_estimators_compared_with_it_deserve(make_cell):
    keys = {"arrivals": 1600, "truth": {"records": 100, "max_arrivals": 1_000_000}}
    both = make_cell(estimators=["naive", "replay"], replicates=7, **keys)
    assert truth_arrivals(both) == 160_000
    assert truth_arrivals(make_cell(estimators=["naive"], replicates=900, **keys)) == 10_000
    keys["truth"]["max_arrivals"] = 100_000
    assert truth_arrivals(make_cell(estimators=["replay"], **keys)) == 100_000
    policy = {"policy": "power_of_d", "d": 2}
    truth = simulate_truth(make_cell(control=policy, treatment=policy), least_arrivals=600_000)
    assert 600_000 <= truth.arrivals < 1_000_000
    assert not truth.capped


def test_the_cap_is_said(make_cell):
    said = []
    cell = make_cell(load=0.95, truth={"relative": 1e-6, "max_arrivals": 100_000})
    truth = simulate_truth(cell, said.append)
    assert truth.capped
    assert truth.arrivals == 100_000
    assert "cap of 100000" in said[-1]


def test_time_and_arrival_averages_differ_under_a_varying_rate(make_cell):
    process = {"kind": "sinusoidal", "amplitude": 0.4, "period": 200.0}
    truth = simulate_truth(make_cell(load=0.7, arrival_process=process))
    assert abs(truth.gte - truth.gte_queue) < 4 * np.hypot(truth.gte_se, truth.gte_queue_se)
    assert truth.gte_queue_seen < truth.gte_queue - 4 * truth.gte_queue_se
