"""Relations between the estimands, error bounds that hold, and refusals."""

import numpy as np
import pytest

from queuebench.queueing.oracle import (
    TooManyStatesError,
    effect_curve,
    solve,
)
from tests.queueing.oracle import feasibility
from tests.queueing.oracle.feasibility import applies, estimate_states

CELL = (4, 0.6, 1, 3)


@pytest.fixture(scope="module")
def fine():
    return solve(*CELL, tolerance=1e-7, horizons=(4, 30))


def test_a_share_of_zero_is_control_and_of_one_treatment(fine):
    control, treatment = effect_curve(*CELL, (0.0, 1.0), tolerance=1e-6)
    for mixed, pure in ((control, fine.control), (treatment, fine.treatment)):
        bound = mixed.policy.c_w_error + pure.c_w_error
        assert mixed.policy.c_w == pytest.approx(pure.c_w, abs=bound)


def test_dq_is_the_slope_of_the_effect_curve(fine):
    step = 0.01
    below, above = effect_curve(*CELL, (0.5 - step, 0.5 + step), tolerance=1e-8)
    slope = (above.policy.c_w - below.policy.c_w) / (2 * step)
    third_derivative = 100 * abs(fine.gte)
    assert fine.dq == pytest.approx(slope, abs=third_derivative * step**2 / 6)


def test_the_effect_is_the_mean_slope(fine):
    nodes, weights = np.polynomial.legendre.leggauss(8)
    curve = effect_curve(*CELL, (nodes + 1) / 2, tolerance=1e-5)
    mean_slope = weights / 2 @ [mixed.dq for mixed in curve]
    assert mean_slope == pytest.approx(fine.gte, abs=1e-3 * abs(fine.gte))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-3, 1e-4, 1e-5])
def test_error_bounds_hold(fine, tolerance):
    rough = solve(*CELL, tolerance=tolerance, horizons=(4, 30))
    assert rough.states < fine.states
    for policy in ("control", "treatment"):
        found, true = getattr(rough, policy), getattr(fine, policy)
        assert abs(found.c_w - true.c_w) <= found.c_w_error + true.c_w_error
        assert abs(found.c_q - true.c_q) <= found.c_q_error + true.c_q_error
    assert abs(rough.gte - fine.gte) <= rough.gte_error + fine.gte_error
    assert rough.gte_error <= tolerance
    assert abs(rough.naive - fine.naive) <= rough.mixed.naive_error + fine.mixed.naive_error
    assert abs(rough.dq - fine.dq) <= rough.mixed.dq_error + fine.mixed.dq_error
    for horizon in (4, 30):
        error = np.add(rough.mixed.truncated_error[horizon], fine.mixed.truncated_error[horizon])
        assert (
            np.abs(np.subtract(rough.truncated[horizon], fine.truncated[horizon])) <= error
        ).all()


def test_adapted_set_agrees_with_the_full_set():
    adapted = solve(6, 0.7, 2, 3, tolerance=1e-7, horizons=(25,))
    full = solve(6, 0.7, 2, 3, cut=10, tolerance=1e-7, horizons=(25,))
    assert adapted.gte == pytest.approx(full.gte, abs=adapted.gte_error + full.gte_error)
    assert adapted.naive == pytest.approx(
        full.naive, abs=adapted.mixed.naive_error + full.mixed.naive_error
    )
    assert adapted.dq == pytest.approx(full.dq, abs=adapted.mixed.dq_error + full.mixed.dq_error)
    error = np.add(adapted.mixed.truncated_error[25], full.mixed.truncated_error[25])
    assert (np.abs(np.subtract(adapted.truncated[25], full.truncated[25])) <= error).all()


@pytest.mark.parametrize("cut", [8, 12, 16])
def test_a_cut_errs_by_no_more_than_it_says(cut):
    result = solve(3, 0.5, 1, 2, cut=cut, tolerance=1e-8)
    assert abs(result.control.c_w - 2) <= result.control.c_w_error
    assert result.control.c_w_error < 5 * abs(result.control.c_w - 2)
    assert 0 < result.control.mass_at_cut <= 3 * 0.5**cut


def test_swapping_the_arms_changes_the_signs(fine):
    swapped = solve(4, 0.6, 3, 1, tolerance=1e-7)
    assert swapped.gte == pytest.approx(-fine.gte, abs=1e-12)
    assert swapped.naive == pytest.approx(-fine.naive, abs=1e-12)
    assert swapped.dq == pytest.approx(-fine.dq, abs=1e-9)


def test_mixture_weighs_the_two_costs(fine):
    queue, response = fine.truncated[30]
    assert fine.mixture(2.5, 30) == pytest.approx(2.5 * response - 1.5 * queue)
    assert fine.truncation_bias(1, 30) == pytest.approx(response - fine.dq)
    assert fine.interference_bias == pytest.approx(fine.dq - fine.gte)
    with pytest.raises(KeyError, match=r"horizon 31 was not solved; solved: \[4, 30\]"):
        fine.mixture(1, 31)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(load=1.0), "load is 1.0"),
        (dict(load=0.0), "load is 0.0"),
        (dict(servers=0), "servers is 0"),
        (dict(d_control=0), "d is 0"),
        (dict(d_treatment=5), "d is 5"),
        (dict(treated_share=1.5), "treated_share is 1.5"),
        (dict(cut=1), "cut is 1"),
        (dict(tolerance=0), "tolerance is 0"),
        (dict(horizons=(-1,)), "horizons are"),
        (dict(horizons=(2.5,)), "horizons are"),
        (dict(max_states=0), "max_states is 0"),
    ],
)
def test_arguments_out_of_range_are_named(change, message):
    arguments = dict(servers=4, load=0.5, d_control=1, d_treatment=2, tolerance=1e-2) | change
    with pytest.raises(ValueError, match=message):
        solve(**arguments)


def test_a_full_set_out_of_reach_says_how_large_it_is():
    with pytest.raises(
        TooManyStatesError, match=r"about 30,045,015 states and about \d+\.\d GiB"
    ) as error:
        solve(20, 0.9, 2, 3, cut=10, max_states=10**6)
    assert error.value.states == 30_045_015


def test_an_adapted_set_out_of_reach_says_how_large_it_would_be():
    with pytest.raises(TooManyStatesError, match=r"states and .* GiB") as error:
        solve(10, 0.8, 1, 2, max_states=20_000)
    assert error.value.states > 20_000
    assert error.value.max_states == 20_000


def test_reach_is_judged_beforehand():
    assert applies(5, 0.5, 2, 3, tolerance=1e-6)
    assert not applies(15, 0.9, 1, 2, tolerance=1e-3)
    assert estimate_states(3, 0.7, 1, 2, cut=40).states == 12_341


def test_the_predicted_size_is_about_right(monkeypatch):
    monkeypatch.setattr(feasibility, "PROBE_STATES", 5_000)
    predicted = estimate_states(6, 0.7, 2, 6, tolerance=1e-7)
    needed = solve(6, 0.7, 2, 6, tolerance=1e-7).states
    assert predicted.kind == "predicted"
    assert needed / 2 < predicted.states < needed * 2
