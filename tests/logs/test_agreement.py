"""What is said of estimators that assume different things."""

import numpy as np

from queuebench.estimators.registry import Estimate
from queuebench.logs.agreement import check_agreement


def made(value, spread, seed):
    parts = np.random.default_rng(seed).normal(0.0, spread, 20)
    return Estimate(value, parts=parts - parts.mean() + value)


def test_estimators_that_differ_by_more_than_their_errors_are_named():
    estimates = {
        "replay": made(0.26, 0.05, 1),
        "lstd_dq": made(-0.45, 0.3, 2),
        "mixed_dq": made(0.1, 3.0, 3),
    }
    (found,) = check_agreement(estimates)
    assert (found.kind, found.name, found.count) == ("warning", "estimators_disagree", 3)
    assert found.text.startswith("replay and lstd_dq differ by ")
    assert "mixed_dq assumes neither" in found.text


def test_estimators_that_agree_are_a_note():
    (found,) = check_agreement({"replay": made(0.2, 0.05, 1), "mixed_dq": made(0.1, 3.0, 3)})
    assert (found.kind, found.name) == ("note", "estimators_agree")
    assert found.text.startswith("replay and mixed_dq agree within their errors (p = ")


def test_a_single_estimator_says_nothing():
    assert check_agreement({"mixed_dq": made(0.1, 3.0, 3)}) == []
    assert check_agreement({}) == []
