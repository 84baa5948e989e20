"""Coupled forms and rate-conservation controls against plain double loops."""

import numpy as np
import pytest

from queuebench.estimators import coupled, rate_conservation
from queuebench.estimators.common import costs as costs_module
from queuebench.estimators.common.batch_means import BLOCKS
from queuebench.estimators.common.occupancy import Occupancy
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.common.weighted_windows import CONTROLS, COSTS, Weighting, weighted_sums
from queuebench.estimators.coupled import least_variance
from queuebench.estimators.differences_in_q import mixed_dq, qdq, wdq
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace
from tests.references import estimators as reference

MINIMUM = 15
SHARE = 0.4
HORIZON = 2.0


@pytest.fixture
def make_records(make_cell, monkeypatch, tmp_path):
    monkeypatch.setattr(costs_module.pool_bins, "__defaults__", (MINIMUM,))

    def make(replicates=1, **keys):
        cell = make_cell(**keys)
        simulate_batch(cell, "bernoulli", range(replicates), tmp_path / "t.arrow")
        setting = setting_of(cell, "bernoulli")
        return cell, [Record(replicate, setting) for replicate in Trace(tmp_path / "t.arrow")]

    return make


UNEQUAL = {
    "load": 0.8, "arrivals": 600, "warmup": 20.0,
    "system": {"servers": 4, "treated_share": SHARE},
    "speeds": {"kind": "two_speed", "ratio": 1.5},
    "treatment": {"policy": "power_of_d", "d": 3},
}  # fmt: skip


def columns(record, *names):
    return [list(record.replicate.column(name)) for name in names]


def costs_of(record, speeds):
    server, met, response, arrival, in_system = columns(
        record, "server", "queue_length", "response_time", "arrival_time", "in_system"
    )
    return {
        "fitted": reference.fitted_cost(server, met, response, speeds, MINIMUM),
        "observed": reference.observed_cost(response),
        "queue": reference.queue_length_cost(in_system, reference.lambda_hat(arrival)),
    }


def weights(record, length, form):
    """Return z of every start, one arrival at a time."""
    treated, control, treatment, queue_0, queue_1 = columns(
        record, "treated", "server_if_control", "server_if_treated", "queue_if_control",
        "queue_if_treated",
    )  # fmt: skip
    classes = record.setting.classes
    found = []
    for i in range(record.arrivals - length):
        z = 1 / SHARE if treated[i] else -1 / (1 - SHARE)
        same = control[i] == treatment[i]
        if form == "met":
            alike = classes[control[i]] == classes[treatment[i]] and queue_0[i] == queue_1[i]
            same = same or alike
        found.append(0.0 if same and form != "all" else z)
    return np.array(found)


def coupled_effect(z, q):
    return float(np.mean(z * (q - q.mean())))


def occupied(record, travel_time):
    """Return the length of every server just before every arrival, counted job by job."""
    server, arrival, response = columns(record, "server", "arrival_time", "response_time")
    jobs = [(c["server"], c["arrival"], c["departure"]) for c in record.replicate.carry.to_pylist()]
    jobs += [(s, t, t + r) for s, t, r in zip(server, arrival, response, strict=True)]
    lengths = np.zeros((record.arrivals, len(record.setting.classes)), int)
    for i, now in enumerate(arrival):
        for s, dispatched, departure in jobs[: len(jobs) - record.arrivals + i]:
            lengths[i, s] += dispatched + travel_time <= now < departure
    return lengths


@pytest.mark.parametrize("travel_time", [0.0, 0.5])
def test_occupancy(make_records, travel_time):
    _, (record,) = make_records(**UNEQUAL, travel_time=travel_time)
    classes, mass = record.setting.classes, np.array([0.5, 1.0, 2.0, 4.0])
    follower = Occupancy(record.replicate.carry, travel_time, classes, mass, 4)
    names = ("arrival_time", "server", "response_time")
    arrival, server, response = (record.replicate.column(name) for name in names)
    found = np.empty((record.arrivals, 2, 4))
    for begin in range(0, record.arrivals, 250):  # in chunks, as a trace is read
        part = slice(begin, begin + 250)
        follower.fill(arrival[part], server[part], response[part], found[part])
    lengths = occupied(record, travel_time)
    for group in range(2):
        for k in range(4):
            expected = ((lengths == k) & (classes == group)) @ mass
            np.testing.assert_allclose(found[:, group, k], expected, atol=1e-12)


@pytest.mark.parametrize("form", ["coupled", "met"])
def test_double_loop(make_records, form):
    cell, (record,) = make_records(**UNEQUAL)
    length = cell.horizon_arrivals(HORIZON)
    z = weights(record, length, form)
    q = {
        name: np.array(reference.truncated_q(cost, length))
        for name, cost in costs_of(record, record.setting.structure.speeds).items()
    }
    assert 0.05 < np.mean(z != 0.0) < 0.9
    if form == "coupled":
        found = coupled.wdq_coupled(record, HORIZON), coupled.qdq_coupled(record, HORIZON)
        for estimate, name in zip(found, ("fitted", "queue"), strict=True):
            assert estimate.value == pytest.approx(coupled_effect(z, q[name]), rel=1e-9)
        mixed = coupled.mixed_dq_coupled(record, HORIZON)
    else:
        mixed = coupled.mixed_dq_coupled_met(record, HORIZON)
    centred = {name: value - value.mean() for name, value in q.items()}
    gap = centred["fitted"] - centred["queue"]
    alpha = -np.mean(z**2 * gap * centred["queue"]) / np.mean(z**2 * gap**2)
    assert mixed.alpha == pytest.approx(alpha, rel=1e-7)
    mixture = alpha * q["fitted"] + (1 - alpha) * q["queue"]
    assert mixed.value == pytest.approx(coupled_effect(z, mixture), rel=1e-7)


def test_standard_error_double_loop(make_records):
    cell, (record,) = make_records(**UNEQUAL)
    length = cell.horizon_arrivals(HORIZON)
    z = weights(record, length, "coupled")
    cost = costs_of(record, record.setting.structure.speeds)["fitted"]
    q = np.array(reference.truncated_q(cost, length))
    effect = coupled_effect(z, q)
    influence = (z - z.mean()) * (q - q.mean()) - effect
    batches = len(weighted_sums(record, HORIZON).moments)
    size = len(z) // batches
    totals = np.zeros(batches)
    for i, value in enumerate(influence):
        totals[min(i // size, batches - 1)] += value
    error = np.sqrt(batches * totals.var(ddof=1)) / len(z)
    estimate = coupled.wdq_coupled(record, HORIZON)
    assert estimate.standard_error == pytest.approx(error, rel=1e-9)
    assert estimate.freedom == batches - 1
    sums = weighted_sums(record, HORIZON)
    mixture = np.eye(COSTS)[0]
    blocks = sums.influence(Weighting.CHOICE, mixture)
    assert blocks.sum() == pytest.approx(0.0, abs=1e-6)
    assert blocks.reshape(batches, BLOCKS).sum(axis=1) == pytest.approx(totals)


def test_all_arrivals_at_equal_shares_give_the_plain_estimators(make_records):
    """With equal numbers in both arms z weighs like means; here only nearly, so within the excess."""
    keys = UNEQUAL | {"system": {"servers": 4}, "arrivals": 4000}
    _, (record,) = make_records(**keys)
    effects = weighted_sums(record, HORIZON).whole(Weighting.ALL).effects()
    assert effects[0] == pytest.approx(wdq(record, HORIZON).value, rel=0.05)
    assert effects[3] == pytest.approx(qdq(record, HORIZON).value, rel=0.05)


def test_controls_double_loop(make_records):
    cell, (record,) = make_records(**UNEQUAL)
    length = cell.horizon_arrivals(HORIZON)
    met, arrival, server, response = columns(
        record, "queue_length", "arrival_time", "server", "response_time"
    )
    speeds = record.setting.structure.speeds
    mu = np.array(
        reference.mu_hat(
            server, arrival, response, list(speeds), record.replicate.record_end,
            carry=record.replicate.carry.to_pylist(),
        )
    )  # fmt: skip
    lengths, rate = occupied(record, 0.0), reference.lambda_hat(arrival)
    cost = costs_of(record, speeds)
    q = [np.array(reference.truncated_q(cost[name], length)) for name in ("fitted", "observed")]
    controls = []
    for k in range(CONTROLS):
        u = [(met[i] == k) - ((lengths[i] == k + 1) @ mu) / rate for i in range(record.arrivals)]
        controls.append(np.array(reference.truncated_q(u, length)))
    z = weights(record, length, "coupled")
    kept = [u - u.mean() for u in controls]
    spread = [np.mean(z**2 * u**2) for u in kept]
    kept = [u for u, v in zip(kept, spread, strict=True) if v > 1e-2 * max(spread)]
    base, others = q[0] - q[0].mean(), [q[1] - q[1].mean() - (q[0] - q[0].mean()), *kept]
    design = np.column_stack(others) * np.abs(z)[:, None]
    fitted = np.linalg.lstsq(design, -base * np.abs(z), rcond=None)[0]
    mixture = base + np.column_stack(others) @ fitted
    found = rate_conservation.mixed_dq_coupled_controls(record, HORIZON)
    assert found.value == pytest.approx(np.mean(z * (mixture - mixture.mean())), rel=1e-6)
    assert found.alpha == pytest.approx(1 - fitted[0], rel=1e-6)


@pytest.mark.parametrize("speeds", [{"kind": "equal"}, {"kind": "two_speed", "ratio": 2.0}])
def test_controls_have_mean_and_effect_zero(make_records, speeds):
    """Over 16 records, within five standard errors; a false alarm of one of twelve once in 800 seeds."""
    _, records = make_records(
        16, load=0.7, arrivals=30_000, speeds=speeds, system={"servers": 10}
    )  # fmt: skip
    wholes = [weighted_sums(record, 10.0).whole(Weighting.CHOICE) for record in records]
    own = slice(COSTS, COSTS + 3)
    for values in (
        np.array([whole.effects()[own] for whole in wholes]),
        np.array([(whole.total / whole.count)[own] for whole in wholes]),
    ):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
        assert np.all(np.abs(values.mean(axis=0)) < 5 * error)


def test_coupling_and_controls_take_variance_off(make_records):
    """N = 20, load 0.7: the coupled form's spread is about 0.4 of the plain one's."""
    _, records = make_records(12, load=0.7, arrivals=30_000)
    plain = [mixed_dq(record, 30.0).value for record in records]
    both = [rate_conservation.mixed_dq_coupled_controls(record, 30.0).value for record in records]
    assert np.std(both) < np.std(plain)


def test_least_variance_by_lagrange():
    """The weights of costs alone are ``C^-1 1 / (1' C^-1 1)``."""
    root = np.random.default_rng(1).normal(size=(6, 6))
    covariance = root @ root.T
    ones = np.ones(3)
    inverse = np.linalg.inv(covariance[:3, :3])
    expected = inverse @ ones / (ones @ inverse @ ones)
    np.testing.assert_allclose(least_variance(covariance, (0, 1, 2))[:3], expected, rtol=1e-9)
    weights = least_variance(covariance, (0, 1), (3, 5))
    gradient = covariance @ weights
    assert weights[[0, 1]].sum() == pytest.approx(1.0)
    assert weights[[2, 4]] == pytest.approx([0.0, 0.0])
    np.testing.assert_allclose(gradient[[3, 5]], 0.0, atol=1e-9)
    assert gradient[0] == pytest.approx(gradient[1])


def test_least_variance_of_equal_costs():
    assert least_variance(np.ones((2, 2)), (0, 1)) == pytest.approx([0.5, 0.5])


def test_arms_that_never_differ(make_records):
    two = {"policy": "power_of_d", "d": 2}
    _, (record,) = make_records(arrivals=5000, warmup=10.0, control=two, treatment=two)
    for estimator in (coupled.wdq_coupled, rate_conservation.mixed_dq_coupled_controls):
        estimate = estimator(record, HORIZON)
        assert estimate.value == estimate.standard_error == 0.0
        assert estimate.note == "the arms never chose differently"
