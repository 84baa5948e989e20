"""Whether estimators disagree, on numbers whose law is known and on estimates of a record."""

import numpy as np
import pytest
from scipy import stats

from queuebench.estimators.common.disagreement import PAIRS, disagreement
from queuebench.estimators.common.hotelling import hotelling
from queuebench.estimators.common.registry import Estimate


def made(value, parts):
    parts = np.asarray(parts, float)
    return Estimate(value, parts=parts - parts.mean() + value)


def test_two_estimators_are_compared_by_students_paired_test():
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 17))
    found = disagreement({"replay": made(0.3, one), "lstd_dq": made(-0.2, other)})
    shifted = (other - other.mean() - 0.2) - (one - one.mean() + 0.3)
    t, p_value = stats.ttest_1samp(shifted, 0.0)
    assert found.p_value == pytest.approx(p_value, rel=1e-9)
    assert found.t["structural", "model_based"] == pytest.approx(-t, rel=1e-9)
    assert np.isnan(found.t["structural", "model_free"])
    assert found.freedom == 16
    assert found.names == {"structural": "replay", "model_based": "lstd_dq"}


def test_the_reference_does_not_matter():
    rng = np.random.default_rng(2)
    parts = rng.normal(size=(3, 30))
    names = ["replay", "lstd_dq", "mixed_dq_coupled"]
    values = dict(zip(names, (made(k / 5, row) for k, row in enumerate(parts)), strict=True))
    found = disagreement(values)
    centred = np.array([values[name].parts for name in names])
    from_last = hotelling(np.column_stack([centred[0] - centred[2], centred[1] - centred[2]]))
    assert found.p_value == pytest.approx(from_last, rel=1e-9)
    assert set(found.t) == set(PAIRS)


def test_the_level_is_kept_however_correlated_the_errors_are():
    """2000 draws of three equal estimates whose errors share nine tenths of their variance.

    The rejections are binomial(2000, 0.05): within 4 standard errors but for a chance of 1 in 16 000.
    """
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(2000):
        parts = 3 * rng.normal(size=20) + rng.normal(size=(3, 20)) * [[0.1], [1.0], [3.0]]
        values = [Estimate(row.mean(), parts=row) for row in parts]
        names = ("replay", "lstd_dq", "mixed_dq_coupled")
        rejected += disagreement(dict(zip(names, values, strict=True))).p_value < 0.05
    assert rejected / 2000 == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 2000))


def test_batches_of_the_same_time_are_compared():
    one = made(0.0, [1.0, 2.0, 3.0, 4.0, 9.0, 5.0])
    other = made(1.0, [5.0, 4.0, 8.0])
    merged = made(0.0, [1.5, 3.5, 7.0])
    expected = disagreement({"replay": merged, "lstd_dq": other})
    found = disagreement({"replay": one, "lstd_dq": other})
    assert found.p_value == pytest.approx(expected.p_value)
    assert found.freedom == 2


def test_estimators_with_different_numbers_of_batches_keep_the_level():
    """2000 records whose noise is shared, in 30 and 12 batches; bounds as above."""
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(2000):
        noise = rng.normal(size=60)
        fine = noise.reshape(30, 2).mean(axis=1) + 0.3 * rng.normal(size=30)
        coarse = noise.reshape(12, 5).mean(axis=1) + 0.3 * rng.normal(size=12)
        estimates = {
            "replay": Estimate(fine.mean(), parts=fine),
            "mixed_dq": Estimate(coarse.mean(), parts=coarse),
        }
        rejected += disagreement(estimates).p_value < 0.05
    assert rejected / 2000 == pytest.approx(0.05, abs=0.02)


def test_too_little_to_compare_says_nothing():
    alone = disagreement({"replay": made(0.0, [1.0, 2.0])})
    assert np.isnan(alone.p_value)
    assert all(np.isnan(t) for t in alone.t.values())
    short = {"replay": Estimate(0.0), "lstd_dq": Estimate(1.0), "mixed_dq": made(0.0, [1.0, 2.0])}
    assert np.isnan(disagreement(short).p_value)


def test_mixed_dq_stands_in_where_the_coupled_form_is_missing():
    rng = np.random.default_rng(4)
    values = {"replay": made(0.0, rng.normal(size=12)), "mixed_dq": made(9.0, rng.normal(size=12))}
    assert disagreement(values).t["structural", "model_free"] < -5
    values["mixed_dq_coupled"] = made(0.0, rng.normal(size=12))
    assert abs(disagreement(values).t["structural", "model_free"]) < 5
