"""Horvitz-Thompson on exposures against a plain loop, and where it is unbiased."""

import numpy as np
import pytest

from queuebench.estimators import EstimationError
from queuebench.estimators.common.batch_means import batch_count
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.differences_in_means import naive
from queuebench.estimators.horvitz_thompson import horvitz_thompson, run_length
from queuebench.logs.record.replicate import LogReplicate
from tests.references.records import records


@pytest.mark.parametrize(
    ("arrivals", "share", "run"),
    [(10, 0.5, 1), (3999, 0.5, 1), (4000, 0.5, 2), (100_000, 0.5, 6), (10**9, 0.5, 19),
     (100_000, 0.1, 2), (100_000, 0.9, 2)],
)  # fmt: skip
def test_run_length(arrivals, share, run):
    assert run_length(arrivals, share) == run


def plain_estimate(treated, response, run, batches):
    """Return the weighted means' difference and its batch-means error, one job at a time."""
    exposed = [[], []]
    for j in range(run - 1, len(treated)):
        arms = set(treated[j - run + 1 : j + 1])
        if len(arms) == 1:
            exposed[int(arms.pop())].append(j)
    mean = [np.mean([response[j] for j in jobs]) for jobs in exposed]
    total = sum(len(jobs) for jobs in exposed)
    size = len(treated) // batches
    influence = np.zeros(batches)
    for arm, jobs in enumerate(exposed):
        for j in jobs:
            change = (response[j] - mean[arm]) * total / len(jobs)
            influence[min(j // size, batches - 1)] += change if arm else -change
    return mean[1] - mean[0], np.sqrt(batches * influence.var(ddof=1)) / total


@pytest.mark.parametrize("share", [0.5, 0.4])
def test_double_loop(make_cell, tmp_path, share):
    cell = make_cell(
        load=0.8, arrivals=9000, warmup=20.0, horizon=5.0,
        system={"servers": 4, "treated_share": share},
    )  # fmt: skip
    (record,) = records(cell, tmp_path / "t.arrow")
    treated, response = (list(record.replicate.column(n)) for n in ("treated", "response_time"))
    run = run_length(9000, share)
    assert run > 1
    batches = batch_count(9000, cell.horizon_arrivals(5.0))
    value, error = plain_estimate(treated, response, run, batches)
    found = horvitz_thompson(record)
    assert found.value == pytest.approx(value, rel=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-9)
    assert found.freedom == batches - 1


def test_short_records_are_compared_naively(make_cell, tmp_path):
    cell = make_cell(arrivals=900, warmup=20.0, system={"servers": 4})
    (record,) = records(cell, tmp_path / "t.arrow")
    assert horvitz_thompson(record).value == pytest.approx(naive(record).value, rel=1e-12)


def test_unbiased_where_the_past_is_forgotten(make_cell, tmp_path):
    """Responses ``3 + sum_k w_k A_{j-k} + noise`` with a memory of three arrivals, in 40 records.

    The effect is the sum of w. Within four standard errors: a false alarm once in 3000 seeds; the
    naive comparison sees the first of w only.
    """
    cell = make_cell(arrivals=8000, warmup=20.0, system={"servers": 4})
    setting = setting_of(cell, "bernoulli")
    rng, weights = np.random.default_rng(7), np.array([0.2, 0.5, 0.3])
    values, plain = [], []
    for _ in range(40):
        treated = rng.random(8000) < 0.5
        assert run_length(8000, 0.5) == 3
        response = 3.0 + np.convolve(treated, weights)[:8000] + rng.exponential(size=8000)
        columns = {"treated": treated, "response_time": response}
        record = Record(LogReplicate(0, 8000, 0.0, 1.0, None, columns), setting)
        values.append(horvitz_thompson(record).value)
        plain.append(naive(record).value)
    error = np.std(values, ddof=1) / np.sqrt(40)
    assert abs(np.mean(values) - weights.sum()) < 4 * error
    assert abs(np.mean(plain) - weights[0]) < 4 * error


def test_an_arm_without_arrivals_is_an_error(make_cell, tmp_path):
    cell = make_cell(arrivals=200, warmup=10.0, system={"servers": 4, "treated_share": 1e-9})
    (record,) = records(cell, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="an arm has no arrivals"):
        horvitz_thompson(record)


def test_alternating_arms_leave_nothing_to_compare(make_cell):
    setting = setting_of(make_cell(arrivals=8000, system={"servers": 4}), "bernoulli")
    columns = {"treated": np.arange(8000) % 2 == 0, "response_time": np.ones(8000)}
    found = horvitz_thompson(Record(LogReplicate(0, 8000, 0.0, 1.0, None, columns), setting))
    assert np.isnan(found.value)
    assert found.note == "an arm never had 3 arrivals in a row"
