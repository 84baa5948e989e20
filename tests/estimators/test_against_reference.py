"""Every estimator against its textbook double loop, on small simulated records.

The arithmetic is the same up to the order of additions, so agreement is asked to 1e-9 of the scale of
the Q values.
"""

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queuebench.estimators import EstimationError, estimators_for
from queuebench.estimators.common import costs as costs_module
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.study.cells import Cell
from queuebench.trace import Trace
from tests.references import estimators as reference

DESIGNS = {
    "bernoulli": {"kind": "bernoulli"},
    "group": {"kind": "group"},
    "switchback": {"kind": "switchback", "period": 2.5, "burn_in": 1.0},
}


def estimates(trace_path, design, horizon):
    trace = Trace(trace_path)
    setting = setting_of(Cell.from_dict(trace.cell), design)
    for replicate in trace:
        record = Record(replicate, setting)
        yield (
            replicate,
            record,
            {
                entry.name: entry.function(record, horizon if entry.uses_horizon else None)
                for entry in estimators_for(setting.design, periodic=setting.amplitude > 0)
            },
        )


def reference_costs(replicate, cell, minimum):
    columns = {
        name: list(replicate.column(name))
        for name in ("server", "queue_length", "response_time", "arrival_time", "in_system")
    }
    speeds = list(Setup(cell).system.speeds)
    mu = reference.mu_hat(
        columns["server"], columns["arrival_time"], columns["response_time"], speeds,
        replicate.record_end, carry=replicate.carry.to_pylist(),
        travel_time=cell.experiment.travel_time,
    )  # fmt: skip
    return {
        "wdq": reference.fitted_cost(
            columns["server"], columns["queue_length"], columns["response_time"], speeds, minimum
        ),
        "wdq_markov": reference.markov_cost(
            columns["server"], columns["queue_length"], mu, cell.experiment.travel_time
        ),
        "wdq_observed": reference.observed_cost(columns["response_time"]),
        "qdq": reference.queue_length_cost(
            columns["in_system"], reference.lambda_hat(columns["arrival_time"])
        ),
    }


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**31),
    arrivals=st.sampled_from([100, 400]),
    horizon=st.sampled_from([0.01, 1.0, 4.0]),
    unequal=st.booleans(),
    travel_time=st.sampled_from([0.0, 0.5]),
    share=st.sampled_from([0.3, 0.5]),
)
def test_differences_in_q(
    make_cell, monkeypatch, tmp_path, seed, arrivals, horizon, unequal, travel_time, share
):
    minimum = 15
    monkeypatch.setattr(costs_module.pool_bins, "__defaults__", (minimum,))
    cell = make_cell(
        load=0.8, seed=seed, arrivals=arrivals, travel_time=travel_time, warmup=20.0,
        system={"servers": 4, "treated_share": share},
        speeds={"kind": "two_speed", "ratio": 1.5} if unequal else {"kind": "equal"},
    )  # fmt: skip
    path = tmp_path / "trace.arrow"
    simulate_batch(cell, "bernoulli", range(2), path)
    for replicate, record, found in estimates(path, "bernoulli", horizon):
        treated = list(replicate.column("treated"))
        length = cell.horizon_arrivals(horizon)
        costs = reference_costs(replicate, cell, minimum)
        values = {name: reference.truncated_q(cost, length) for name, cost in costs.items()}
        scale = max(np.abs(value).max() for value in values.values())
        tolerance = {"rel": 1e-9, "abs": 1e-9 * scale}
        for name, cost in costs.items():
            expected = reference.dq(cost, treated, length)
            assert found[name].value == pytest.approx(expected, **tolerance)
        for mixed, response in (("mixed_dq", "wdq"), ("mixed_dq_markov", "wdq_markov")):
            expected, alpha = reference.mixed_dq(costs[response], costs["qdq"], treated, length)
            assert found[mixed].alpha == pytest.approx(alpha, rel=1e-7)
            assert found[mixed].value == pytest.approx(expected, rel=1e-7, abs=1e-7 * scale)
        sums = record.windows(horizon)
        batches = len(sums.moments)
        if sums.enough_batches:
            for name in ("wdq", "qdq"):
                error = reference.batch_means_se(values[name], treated, batches)
                assert found[name].standard_error == pytest.approx(error, rel=1e-8)
        else:
            assert np.isnan(found["wdq"].standard_error)
            assert found["wdq"].note
        responses = list(replicate.column("response_time"))
        assert found["naive"].value == pytest.approx(reference.naive(responses, treated))


def test_batch_means_of_the_naive_estimator(make_cell, tmp_path):
    cell = make_cell(arrivals=2000, system={"servers": 4}, horizon=2.0, warmup=20.0)
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    ((replicate, record, found),) = estimates(tmp_path / "t.arrow", "bernoulli", 2.0)
    error = reference.batch_means_se(
        list(replicate.column("response_time")), list(replicate.column("treated")),
        len(record.responses.count) // 10,
    )  # fmt: skip
    assert found["naive"].standard_error == pytest.approx(error, rel=1e-9)


def test_group(make_cell, tmp_path):
    cell = make_cell(arrivals=500, system={"servers": 6}, designs={"group": DESIGNS["group"]})
    simulate_batch(cell, "group", range(3), tmp_path / "t.arrow")
    for replicate, _, found in estimates(tmp_path / "t.arrow", "group", None):
        expected = reference.group(
            list(replicate.column("response_time")), list(replicate.column("treated"))
        )
        assert found["group"].value == pytest.approx(expected, rel=1e-12)


def test_switchback(make_cell, tmp_path):
    cell = make_cell(
        arrivals=700, system={"servers": 6}, designs={"switchback": DESIGNS["switchback"]}
    )
    simulate_batch(cell, "switchback", range(3), tmp_path / "t.arrow")
    for replicate, _, found in estimates(tmp_path / "t.arrow", "switchback", None):
        columns = [
            list(replicate.column(name)) for name in ("arrival_time", "treated", "response_time")
        ]
        for name, burn_in in (("switchback", 0.0), ("switchback_burn_in", 1.0)):
            expected = reference.switchback(*columns, 2.5, replicate.record_end, burn_in)
            assert found[name].value == pytest.approx(expected, rel=1e-12)
            assert found[name].standard_error > 0


def test_sums_are_refreshed_over_long_records(make_cell, tmp_path):
    """A short window slides thousands of times past the point where sums are added up afresh."""
    cell = make_cell(arrivals=60_000, system={"servers": 4})
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    ((replicate, record, found),) = estimates(tmp_path / "t.arrow", "bernoulli", 5.0)
    length = cell.horizon_arrivals(5.0)
    cost = reference_costs(replicate, cell, 200)["wdq"]
    centred = np.array(cost) - np.mean(cost)
    sums = np.concatenate([[0.0], np.cumsum(centred)])
    values = sums[length + 1 :] - sums[: -length - 1]
    treated = replicate.column("treated")[: len(values)]
    expected = values[treated].mean() - values[~treated].mean()
    assert found["wdq"].value == pytest.approx(expected, rel=1e-8)


def test_pooling_of_short_bins():
    jobs = np.array([[500.0, 120.0, 90.0, 300.0, 40.0, 10.0, 0.0]])
    response = jobs * np.array([[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.0]])
    fitted = costs_module.pool_bins(jobs, response, fewest=200)[0]
    pooled = (120 * 2 + 90 * 3) / 210
    top = (300 * 4 + 40 * 5 + 10 * 6) / 350
    np.testing.assert_allclose(fitted, [1.0, pooled, pooled, top, top, top, top])
    few = costs_module.pool_bins(np.array([[3.0, 1.0]]), np.array([[3.0, 5.0]]), fewest=200)
    np.testing.assert_allclose(few, [[2.0, 2.0]])


def test_a_horizon_longer_than_half_the_record_is_an_error(make_cell, tmp_path):
    cell = make_cell(arrivals=1000, system={"servers": 4})
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    trace = Trace(tmp_path / "t.arrow")
    record = Record(next(iter(trace)), setting_of(cell, "bernoulli"))
    with pytest.raises(EstimationError, match="longer than half the record of 1000"):
        record.windows(500.0)


def test_arms_must_have_two_starts(make_cell, tmp_path):
    cell = make_cell(
        arrivals=12, system={"servers": 4, "treated_share": 1e-6}, horizon=0.5, warmup=5.0
    )
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    record = Record(next(iter(Trace(tmp_path / "t.arrow"))), setting_of(cell, "bernoulli"))
    with pytest.raises(EstimationError):
        record.windows(0.5)
    naive = next(entry for entry in estimators_for("bernoulli") if entry.name == "naive")
    with pytest.raises(EstimationError, match="no arrivals"):
        naive.function(record, None)


def test_mixture_of_identical_costs_takes_one_half():
    from queuebench.estimators.common.costs import Cost
    from queuebench.estimators.common.windows import MomentSums
    from queuebench.estimators.differences_in_q import optimal_weight

    sums = MomentSums(4, np.zeros(4), np.full((4, 4), 8.0))
    assert optimal_weight(sums, Cost.FITTED) == 0.5


@pytest.mark.parametrize("name", ["naive", "wdq"])
def test_registering_a_name_twice_is_an_error(name):
    from queuebench.estimators import register

    with pytest.raises(ValueError, match="registered already"):
        register(name, design="bernoulli")(lambda record, horizon: None)


def test_batches_cover_the_rule_of_the_specification():
    from queuebench.estimators.common.batch_means import batch_count

    for units, length in itertools.product(
        [100, 5000, 40_000, 10**6, 10**9], [0, 1, 60, 540, 3000]
    ):
        batches = batch_count(units, length)
        if batches:
            assert 10 <= batches <= 100
            assert units // batches >= 3 * length
            assert batches == 10 or units // batches >= 10 * length
        else:
            assert units // 10 < max(10, 3 * length)


def test_costs_under_a_periodic_rate(make_cell, tmp_path):
    """Centred in every phase of the cycle; the queue cost divides by the rate at the time."""
    amplitude, cycle = 0.5, 20.0
    cell = make_cell(
        arrivals=3000, system={"servers": 4}, warmup=20.0,
        arrival_process={"kind": "sinusoidal", "amplitude": amplitude, "period": cycle},
    )  # fmt: skip
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    ((replicate, _, found),) = estimates(tmp_path / "t.arrow", "bernoulli", 5.0)
    arrival = replicate.column("arrival_time")
    relative = 1 + amplitude * np.sin(2 * np.pi * arrival / cycle)
    rate = reference.lambda_hat(list(arrival))
    cost = np.array(
        reference.queue_length_cost(list(replicate.column("in_system")), list(rate * relative))
    )
    treated, length = list(replicate.column("treated")), cell.horizon_arrivals(5.0)
    uncentred = reference.dq(list(cost), treated, length)
    assert found["qdq_uncentred"].value == pytest.approx(uncentred, rel=1e-8)
    phase = (arrival / cycle % 1.0 * costs_module.PHASES).astype(int)
    for part in range(costs_module.PHASES):
        cost[phase == part] -= cost[phase == part].mean()
    assert found["qdq"].value == pytest.approx(reference.dq(list(cost), treated, length), rel=1e-8)
