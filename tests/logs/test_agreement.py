"""What is said of estimators that assume, or estimate, different things."""

import math

import numpy as np
import pytest

from queuebench.estimators.common.registry import Estimate
from queuebench.logs.checks.agreement import check_agreement


def made(value, spread, seed, check=math.nan):
    parts = np.random.default_rng(seed).normal(0.0, spread, 20)
    return Estimate(value, parts=parts - parts.mean() + value, check=check)


def test_two_estimates_of_the_slope_test_what_one_assumes():
    (found,) = check_agreement({"lstd_dq": made(0.2, 0.1, 1), "mixed_dq": made(9.1, 3.0, 3)})
    assert (found.kind, found.name, found.count) == ("warning", "estimators_disagree", 2)
    assert found.text.startswith("lstd_dq and mixed_dq differ by ")
    assert "not the state of the system, as lstd_dq assumes" in found.text
    assert found.text.endswith("mixed_dq does not assume it")


def test_agreement_on_a_slope_is_no_evidence_for_the_effect():
    (found,) = check_agreement({"lstd_dq": made(0.2, 0.3, 2), "mixed_dq": made(0.1, 3.0, 3)})
    assert (found.kind, found.name) == ("note", "estimators_agree")
    assert found.text.endswith(
        "both estimate the same slope, so that says nothing of how far it is from the effect"
    )


def test_a_replay_that_passes_is_not_doubted_for_a_slope():
    estimates = {"replay": made(0.26, 0.05, 1, check=0.4), "mixed_dq": made(4.1, 3.0, 3)}
    (found,) = check_agreement(estimates)
    assert (found.kind, found.name) == ("note", "slope_misses_effect")
    assert found.text.startswith("replay's check passes; mixed_dq keeps interference bias")


def test_an_unchecked_replay_and_a_slope_leave_open_which_is_wrong():
    (found,) = check_agreement({"replay": made(0.26, 0.05, 1), "lstd_dq": made(4.1, 3.0, 3)})
    assert (found.kind, found.name) == ("warning", "slope_or_structure")


def test_a_rejected_replay_is_compared_with_nothing():
    estimates = {"replay": made(0.26, 0.05, 1, check=0.001), "mixed_dq": made(4.1, 3.0, 3)}
    assert check_agreement(estimates) == []


def test_a_replay_within_the_noise_of_a_slope_is_a_note():
    estimates = {"replay": made(0.2, 0.05, 1, check=0.3), "mixed_dq": made(0.1, 3.0, 3)}
    (found,) = check_agreement(estimates)
    assert (found.kind, found.name) == ("note", "slope_agrees_with_effect")


def test_a_single_estimator_says_nothing():
    assert check_agreement({"mixed_dq": made(0.1, 3.0, 3)}) == []
    assert check_agreement({}) == []


@pytest.mark.filterwarnings("error")
def test_estimators_without_any_difference_say_nothing_wrong():
    names = ("replay", "lstd_dq", "mixed_dq")
    found = check_agreement({name: Estimate(0.0, parts=np.zeros(20)) for name in names})
    assert all(one.kind == "note" for one in found)


def test_a_carry_over_between_blocks_forbids_counting_it():
    biased, corrected = made(3.0, 0.1, 1), made(0.2, 0.1, 2)
    both = {"switchback": biased, "switchback_burn_in": made(0.2, 0.1, 3)}
    for estimates in (both, both | {"switchback_corrected": corrected}):
        (found,) = check_agreement(estimates)
        assert (found.kind, found.name) == ("warning", "carry_over")
        assert found.forbids == ("switchback",)
    assert "switchback and switchback_corrected differ by" in found.text


def test_a_burn_in_that_is_too_short():
    estimates = {"switchback_burn_in": made(3.0, 0.1, 1), "switchback_corrected": made(0.2, 0.1, 2)}
    (found,) = check_agreement(estimates)
    assert (found.kind, found.name, found.forbids) == ("warning", "burn_in", ())


def test_blocks_without_a_carry_over_are_a_note():
    plain = made(0.2, 3.0, 1)
    estimates = {"switchback": plain, "switchback_burn_in": plain}
    assert check_agreement(estimates) == []
    (found,) = check_agreement(estimates | {"switchback_corrected": made(0.1, 3.0, 2)})
    assert (found.kind, found.name) == ("note", "no_carry_over_seen")


def test_a_clear_difference_forbids_what_supposes_that_queue_lengths_say_all():
    (found,) = check_agreement({"lstd_dq": made(0.2, 0.1, 1), "mixed_dq": made(9.1, 3.0, 3)})
    assert {"lstd_dq", "mixed_dq", "mixed_dq_coupled", "wdq"} <= set(found.forbids)
    assert not {"qdq", "qdq_coupled", "wdq_observed", "naive"} & set(found.forbids)
    (found,) = check_agreement({"lstd_dq": made(0.2, 0.1, 1), "mixed_dq": made(2.2, 3.0, 3)})
    assert (found.name, found.forbids) == ("estimators_disagree", ())
