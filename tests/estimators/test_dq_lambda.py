"""DQ(lambda) against the backward view: every start's discounted Q value, with whole matrices."""

import numpy as np
import pytest

from queuebench.estimators import EstimationError
from queuebench.estimators.common.batch_means import batch_count
from queuebench.estimators.dq_lambda import dq_lambda, dq_lambda_coupled, trace_sums
from queuebench.queueing.oracle import solve
from tests.references import estimators as reference
from tests.references.records import records

HORIZON = 2.0
SHARE = 0.4


@pytest.fixture
def record(make_cell, tmp_path):
    cell = make_cell(
        load=0.8, arrivals=600, warmup=20.0, system={"servers": 4, "treated_share": SHARE},
        treatment={"policy": "power_of_d", "d": 3}, speeds={"kind": "two_speed", "ratio": 1.5},
    )  # fmt: skip
    return records(cell, tmp_path / "t.arrow")[0]


def plain_weights(record, coupled):
    names = ("treated", "server_if_control", "server_if_treated")
    treated, control, treatment = (record.replicate.column(name) for name in names)
    z = [1 / SHARE if arm else -1 / (1 - SHARE) for arm in treated]
    same = control == treatment
    return np.array([0.0 if coupled and s else w for s, w in zip(same, z, strict=True)])


def plain_costs(record):
    names = ("server", "queue_length", "response_time", "arrival_time", "in_system")
    server, met, response, arrival, in_system = (list(record.replicate.column(n)) for n in names)
    fitted = reference.fitted_cost(server, met, response, record.setting.structure.speeds)
    queue = reference.queue_length_cost(in_system, reference.lambda_hat(arrival))
    costs = np.column_stack([fitted, queue])
    return costs - costs.mean(axis=0)


def discounts(n, decay):
    """Return the matrix of ``decay^(j - i)`` for a cost j (column) after a start i (row)."""
    steps = np.arange(n)[None, :] - np.arange(n)[:, None]
    return np.where(steps >= 0, decay ** np.maximum(steps, 0), 0.0)


def plain_estimate(z, cost, decay, averaged):
    """Return estimate and weight when the costs of a mask are averaged, start by start."""
    reach = discounts(len(z), decay)
    m = averaged.sum()
    own = cost * averaged[:, None]
    effects = (z @ reach @ own - z @ reach @ averaged * own.sum(axis=0) / m) / m
    # The sum of z^2 Q Q' over the pairs of costs whose later one is averaged.
    moment, before = np.zeros((2, 2)), np.zeros_like(cost)
    for j in range(len(z)):
        at = reach[:, j][:, None] * cost[j]
        if averaged[j]:
            squares = (z**2)[:, None] * np.hstack([at, before])
            moment += squares[:, :2].T @ (at + before) + squares[:, 2:].T @ at
        before += at
    gap = moment[0, 0] + moment[1, 1] - 2 * moment[0, 1]
    alpha = (moment[1, 1] - moment[0, 1]) / gap
    return alpha * effects[0] + (1 - alpha) * effects[1], alpha


@pytest.mark.parametrize("estimator", [dq_lambda, dq_lambda_coupled])
def test_against_the_backward_view(record, estimator):
    """Value, weight and the jackknife over batches of costs."""
    length, n = record.setting.horizon_arrivals(HORIZON), record.arrivals
    z = plain_weights(record, estimator is dq_lambda_coupled)
    cost, decay = plain_costs(record), length / (length + 1)
    averaged = np.arange(n) >= length
    found = estimator(record, HORIZON)
    value, alpha = plain_estimate(z, cost, decay, averaged)
    assert found.alpha == pytest.approx(alpha, rel=1e-9)
    assert found.value == pytest.approx(value, rel=1e-9)
    batches = batch_count(n - length, length)
    batch = np.minimum((np.arange(n) - length) // ((n - length) // batches), batches - 1)
    left_out = [
        plain_estimate(z, cost, decay, averaged & (batch != one))[0] for one in range(batches)
    ]
    assert found.standard_error == pytest.approx(np.sqrt((batches - 1) * np.var(left_out)))
    assert found.freedom == batches - 1 >= 9


def test_second_moments_are_those_of_the_q_values(make_cell, tmp_path):
    """With a horizon of no arrivals nothing is remembered: the moments are those of single costs."""
    cell = make_cell(load=0.8, arrivals=1200, warmup=20.0, system={"servers": 4})
    (record,) = records(cell, tmp_path / "t.arrow")
    cost = plain_costs(record)
    part = trace_sums(record, 0.1).whole(1)
    z = 2.0 * (
        record.replicate.column("server_if_control") != record.replicate.column("server_if_treated")
    )
    expected = (z[:, None] * cost).T @ (z[:, None] * cost)
    np.testing.assert_allclose(part.moment[1:, 1:], np.triu(expected), rtol=1e-9)


def test_against_the_oracle(make_cell, tmp_path):
    """N = 4, load 0.6, d = 2 against 3; both forms estimate the DQ estimand.

    Within four standard errors over 12 records (a false alarm once in 5000 seeds for normal estimates
    and an error known to a fifth) and 10 % for what the fading memory forgets.
    """
    cell = make_cell(
        load=0.6, arrivals=60_000, system={"servers": 4},
        control={"policy": "power_of_d", "d": 2}, treatment={"policy": "power_of_d", "d": 3},
    )  # fmt: skip
    exact = solve(4, 0.6, 2, 3, 0.5, tolerance=1e-6).mixed.dq
    made = records(cell, tmp_path / "t.arrow", 12)
    for estimator in (dq_lambda, dq_lambda_coupled):
        found = [estimator(record, 100.0) for record in made]
        values = np.array([one.value for one in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - exact) < 4 * error + 0.1 * abs(exact)
        # The jackknife's errors against the spread of 12 values, known to 21 %.
        errors = np.mean([one.standard_error for one in found])
        assert errors == pytest.approx(values.std(ddof=1), rel=0.85)


def test_errors(make_cell, tmp_path):
    cell = make_cell(arrivals=200, warmup=10.0, system={"servers": 4, "treated_share": 1e-9})
    (record,) = records(cell, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="longer than half the record"):
        dq_lambda(record, 50.0)
    with pytest.raises(EstimationError, match="an arm has no arrivals"):
        dq_lambda(record, HORIZON)


def test_arms_that_never_differ(make_cell, tmp_path):
    two = {"policy": "power_of_d", "d": 2}
    cell = make_cell(arrivals=5000, warmup=10.0, control=two, treatment=two)
    (record,) = records(cell, tmp_path / "t.arrow")
    found = dq_lambda_coupled(record, HORIZON)
    assert found.value == found.standard_error == 0.0
    assert found.note == "the arms never chose differently"
