"""What is said of estimators that assume different things."""

import numpy as np
import pytest

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


def test_only_what_is_compared_is_spoken_of():
    (found,) = check_agreement({"replay": made(0.2, 0.05, 1), "mixed_dq": made(0.1, 3.0, 3)})
    assert found.text.endswith("replay assumes the structure described, mixed_dq does not")
    (found,) = check_agreement({"lstd_dq": made(0.2, 0.05, 1), "mixed_dq": made(9.1, 3.0, 3)})
    assert found.text.endswith(
        "lstd_dq assumes that queue lengths are the state of the system, mixed_dq does not"
    )
    (found,) = check_agreement({"replay": made(0.2, 0.05, 1), "lstd_dq": made(0.1, 3.0, 3)})
    assert found.text.endswith(
        "replay assumes the structure described, lstd_dq that queue lengths are the state of the system"
    )


def test_estimators_may_differ_jointly_though_no_two_do():
    """Both differences to replay are one standard error, but for a tenth the same noise: their sum is odd."""
    common, other = np.random.default_rng(4).normal(size=(2, 20))
    common, other = common - common.mean(), 0.1 * (other - other.mean())
    error = common.std(ddof=1) / np.sqrt(20)
    estimates = {
        "replay": Estimate(0.0, parts=np.zeros(20)),
        "lstd_dq": Estimate(error, parts=common + error),
        "mixed_dq": Estimate(-0.3 * error, parts=other - common - 0.3 * error),
    }
    (found,) = check_agreement(estimates)
    assert (found.kind, found.name) == ("warning", "estimators_disagree")
    assert found.text.startswith("replay, lstd_dq and mixed_dq differ jointly (p = ")
    assert "no two of them" in found.text


@pytest.mark.filterwarnings("error")
def test_estimators_without_any_difference_say_nothing_wrong():
    found = check_agreement(
        {name: Estimate(0.0, parts=np.zeros(20)) for name in ("replay", "lstd_dq", "mixed_dq")}
    )
    assert [one.name for one in found] in ([], ["estimators_agree"])
