"""Doubly robust Differences in Q: the residuals start by start, with values fitted by whole matrices."""

import numpy as np
import pytest
from references import estimators as reference

from queuebench.estimators import EstimationError, doubly_robust
from queuebench.estimators.batch_means import batch_count
from queuebench.estimators.coupled import mixed_dq_coupled
from queuebench.estimators.doubly_robust import FOLDS, doubly_robust_dq, fitted_values
from queuebench.estimators.doubly_robust_trace import doubly_robust_dq_lambda
from queuebench.estimators.lstd import Features
from queuebench.estimators.record import Record
from queuebench.estimators.setting import setting_of
from queuebench.experiment import simulate_batch
from queuebench.oracle import solve
from queuebench.trace import Trace

HORIZON = 2.0
SHARE = 0.4


def records(cell, path, replicates=1):
    simulate_batch(cell, "bernoulli", range(replicates), path)
    setting = setting_of(cell, "bernoulli")
    return [Record(replicate, setting) for replicate in Trace(path)]


@pytest.fixture(params=[0.0, 0.5])
def record(request, make_cell, tmp_path):
    cell = make_cell(
        load=0.8, arrivals=2500, warmup=20.0, system={"servers": 4, "treated_share": SHARE},
        treatment={"policy": "power_of_d", "d": 3}, travel_time=request.param,
        speeds={"kind": "two_speed", "ratio": 1.5},
    )  # fmt: skip
    return records(cell, tmp_path / "t.arrow")[0]


def states(record):
    """Return phi and phi(treatment's choice) - phi(control's), whole; `test_lstd` checks them."""
    parts = [(phi, apart) for phi, apart, _ in Features(record).chunks()]
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


def columns(record, *names):
    return [np.array(record.replicate.column(name)) for name in names]


def plain_costs(record):
    server, met, response, arrival, in_system = columns(
        record, "server", "queue_length", "response_time", "arrival_time", "in_system"
    )
    speeds = record.setting.structure.speeds
    fitted = reference.fitted_cost(list(server), list(met), list(response), speeds)
    queue = reference.queue_length_cost(list(in_system), reference.lambda_hat(list(arrival)))
    cost = np.column_stack([fitted, queue])
    return cost - cost.mean(axis=0), fitted


def fold_of(i, n):
    return min(i // (n // FOLDS), FOLDS - 1)


def plain_values(record):
    """Return theta of every fold and cost, from the transitions of the other folds."""
    phi, _ = states(record)
    cost, _ = plain_costs(record)
    n = len(phi)
    folds = np.array([fold_of(i, n) for i in range(n - 1)])
    theta = np.zeros((phi.shape[1], FOLDS, 2))
    for fold in range(FOLDS):
        now, after = phi[:-1][folds != fold], phi[1:][folds != fold]
        later = cost[1:][folds != fold]
        centred = now - now.mean(axis=0)
        matrix = centred.T @ (now - after)
        seen = np.diag(matrix) > 1e-4 * np.diag(matrix).max()
        right = centred.T @ (later - later.mean(axis=0))
        theta[seen, fold] = np.linalg.solve(matrix[np.ix_(seen, seen)], right[seen])
    return theta


def plain_parts(record, theta):
    """Return z, surprise, the difference of values and phi' theta by fold of all arrivals, and costs."""
    phi, apart = states(record)
    cost, fitted = plain_costs(record)
    treated, control, treatment, met_0, met_1, server, met = columns(
        record, "treated", "server_if_control", "server_if_treated", "queue_if_control",
        "queue_if_treated", "server", "queue_length",
    )  # fmt: skip
    classes = record.setting.classes
    response = {(classes[s], q): value for s, q, value in zip(server, met, fitted, strict=True)}
    n = len(phi)
    z, surprise, apart_of = np.zeros(n), np.zeros((n, 2)), np.zeros((n, 2))
    for i in range(n):
        if control[i] != treatment[i]:
            z[i] = 1 / SHARE if treated[i] else -1 / (1 - SHARE)
        choice = [response.get((classes[control[i]], met_0[i]), np.nan),
                  response.get((classes[treatment[i]], met_1[i]), np.nan)]  # fmt: skip
        surprise[i, 0] = fitted[i] - choice[int(treated[i])]
        apart_of[i] = apart[i] @ theta[:, fold_of(i, n)] + np.array([choice[1] - choice[0], 0.0])
    return z, surprise, apart_of, np.einsum("nf,fkc->knc", phi, theta), cost


def plain_residuals(record, theta, length):
    """Return z, and of every start the residual and the difference of values, by loops."""
    z, surprise, apart, value, cost = plain_parts(record, theta)
    n = len(z)
    residual = np.zeros((n - length, 2))
    for i in range(n - length):
        own = value[fold_of(i, n)]
        differences = [cost[j + 1] + own[j + 1] - own[j] for j in range(i, i + length)]
        residual[i] = np.sum(differences, axis=0) + surprise[i]
    return z[: n - length], residual, apart[: n - length]


def plain_effects(z, residual, apart):
    return np.mean(z[:, None] * (residual - residual.mean(axis=0)) + apart, axis=0)


def plain_estimate(z, residual, apart):
    effects = plain_effects(z, residual, apart)
    centred = z[:, None] * (residual - residual.mean(axis=0))
    covariance = centred.T @ centred
    gap = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    alpha = (covariance[1, 1] - covariance[0, 1]) / gap
    return alpha * effects[0] + (1 - alpha) * effects[1], alpha


def test_values_against_whole_matrices(record):
    found, expected = fitted_values(record), plain_values(record)
    phi, _ = states(record)
    for fold in range(FOLDS):
        values = phi @ expected[:, fold]
        np.testing.assert_allclose(phi @ found[:, fold], values, atol=1e-6 * np.abs(values).max())


def test_residuals_start_by_start(record):
    """Each temporal difference by itself, where the estimator uses that they telescope."""
    length = record.setting.horizon_arrivals(HORIZON)
    z, residual, apart = plain_residuals(record, fitted_values(record), length)
    value, alpha = plain_estimate(z, residual, apart)
    found = doubly_robust_dq(record, HORIZON)
    assert found.alpha == pytest.approx(alpha, rel=1e-8)
    assert found.value == pytest.approx(value, rel=1e-8)
    batches = batch_count(len(z), length)
    batch = np.minimum(np.arange(len(z)) // (len(z) // batches), batches - 1)
    left_out = [
        plain_estimate(*(part[batch != one] for part in (z, residual, apart)))[0]
        for one in range(batches)
    ]
    assert found.standard_error == pytest.approx(np.sqrt((batches - 1) * np.var(left_out)))
    assert found.freedom == batches - 1 >= 9


def test_traces_start_by_start(record):
    """Every start's discounted temporal differences, by matrices."""
    length = record.setting.horizon_arrivals(HORIZON)
    z, surprise, apart, value, cost = plain_parts(record, fitted_values(record))
    n = len(z)
    fold = [fold_of(j, n) for j in range(n - 1)]
    difference = np.array([cost[j + 1] + value[k, j + 1] - value[k, j] for j, k in enumerate(fold)])
    steps = np.subtract.outer(np.arange(n - 1), np.arange(n - 1))
    decay = length / (length + 1)
    trace = np.where(steps >= 0, decay ** np.maximum(steps, 0), 0.0) @ z[:-1]
    kept = slice(length, None)
    centred = trace[kept] - trace[kept].mean()
    direct = (apart + z[:, None] * surprise)[:-1][kept]
    effects = np.mean(centred[:, None] * difference[kept] + direct, axis=0)
    found = doubly_robust_dq_lambda(record, HORIZON)
    expected = found.alpha * effects[0] + (1 - found.alpha) * effects[1]
    assert found.value == pytest.approx(expected, rel=1e-8)
    assert found.standard_error > 0.0


def test_without_values_it_is_the_coupled_mixture(make_cell, tmp_path, monkeypatch):
    """But for the cost of the arrival itself, which is compared between its choices directly."""
    cell = make_cell(load=0.8, arrivals=20_000, warmup=20.0)
    (record,) = records(cell, tmp_path / "t.arrow")
    monkeypatch.setattr(
        doubly_robust, "_fit", lambda record: np.zeros((Features(record).number, FOLDS, 2))
    )
    found, coupled = doubly_robust_dq(record, 5.0), mixed_dq_coupled(record, 5.0)
    assert abs(found.value - coupled.value) < 0.5 * coupled.standard_error
    assert found.alpha == pytest.approx(coupled.alpha, rel=0.2)


def test_against_the_oracle(make_cell, tmp_path, monkeypatch):
    """N = 4, load 0.6, d = 2 against 3, with the values as fitted and with wrong ones.

    The horizon is longer than the memory, so wrong values (here twice the fitted ones) do not
    matter. Within four standard errors over 12 records (a false alarm once in 500 seeds, as a
    standard error of 12 is known to 21 %) and 2 % for the truncation, 15 % for what traces forget.
    """
    cell = make_cell(
        load=0.6, arrivals=30_000, system={"servers": 4},
        control={"policy": "power_of_d", "d": 2}, treatment={"policy": "power_of_d", "d": 3},
    )  # fmt: skip
    exact = solve(4, 0.6, 2, 3, 0.5, tolerance=1e-6).mixed.dq
    made = records(cell, tmp_path / "t.arrow", 12)
    for factor in (1.0, 2.0):
        for record in made:
            fitted_values(record)[:] *= factor
        for estimator, forgotten in ((doubly_robust_dq, 0.02), (doubly_robust_dq_lambda, 0.15)):
            found = [estimator(record, 15.0) for record in made]
            values = np.array([one.value for one in found])
            error = values.std(ddof=1) / np.sqrt(len(values))
            assert abs(values.mean() - exact) < 4 * error + forgotten * abs(exact)
            # The jackknife's errors against the spread of 12 values, known to 21 %.
            errors = np.mean([one.standard_error for one in found])
            assert errors == pytest.approx(values.std(ddof=1), rel=0.85)


def test_errors(make_cell, tmp_path):
    cell = make_cell(arrivals=200, warmup=10.0, system={"servers": 4, "treated_share": 1e-9})
    (record,) = records(cell, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="an arm has no arrivals"):
        doubly_robust_dq(record, HORIZON)
    few = make_cell(arrivals=9, warmup=10.0, system={"servers": 4})
    (record,) = records(few, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="cross-fitting needs at least 10 arrivals, not 9"):
        doubly_robust_dq(record, 0.5)


def test_arms_that_never_differ(make_cell, tmp_path):
    two = {"policy": "power_of_d", "d": 2}
    cell = make_cell(arrivals=5000, warmup=10.0, control=two, treatment=two)
    (record,) = records(cell, tmp_path / "t.arrow")
    found = doubly_robust_dq(record, HORIZON)
    assert found.value == found.standard_error == 0.0
    assert found.note == "the arms never chose differently"
