"""Treated shares and the weights that add up slopes at them."""

import numpy as np
import pytest

from queuebench.study.shares import fault_of, gauss_shares, quadrature_weights


def test_gauss_shares_and_weights_are_the_published_ones():
    assert gauss_shares(1) == pytest.approx([0.5])
    assert gauss_shares(2) == pytest.approx([0.2113249, 0.7886751], abs=1e-7)
    assert gauss_shares(3) == pytest.approx([0.1127017, 0.5, 0.8872983], abs=1e-7)
    assert quadrature_weights([0.5]) == pytest.approx([1.0])
    assert quadrature_weights(gauss_shares(2)) == pytest.approx([0.5, 0.5])
    assert quadrature_weights(gauss_shares(3)) == pytest.approx([5 / 18, 8 / 18, 5 / 18])


@pytest.mark.parametrize("shares", [[0.3, 0.9], [0.1, 0.5, 0.6], [0.2, 0.4, 0.6, 0.8]])
def test_weights_are_exact_for_polynomials(shares):
    weights = quadrature_weights(shares)
    for degree in range(len(shares)):
        assert weights @ np.power(shares, degree) == pytest.approx(1 / (degree + 1), rel=1e-12)


@pytest.mark.parametrize("number", [2, 5, 20, 50])
def test_gauss_weights_are_exact_to_twice_the_degree(number):
    shares = gauss_shares(number)
    weights = quadrature_weights(shares)
    assert (weights > 0).all()
    for degree in (0, 1, 2 * number - 1):
        assert weights @ shares**degree == pytest.approx(1 / (degree + 1), rel=1e-10)


def test_shares_with_one_arm_only_have_no_weight():
    inner = quadrature_weights([0.25, 0.5])
    assert quadrature_weights([0.0, 0.25, 0.5, 1.0]) == pytest.approx([0.0, *inner, 0.0])


@pytest.mark.parametrize(
    ("shares", "weights", "fault"),
    [
        ([0.5], None, "2 to 20 different"),
        ([0.5, 0.5], None, "2 to 20 different"),
        ([0.0, 1.0], None, "between 0 and 1"),
        ([0.2, 0.8], [1.0], "one for each of the 2 shares"),
        ([0.2, 0.8], [0.5, 0.6], "sum to 1, not to 1.1"),
        ([0.0, 0.5], [0.5, 0.5], "0 at the shares 0 and 1"),
        ([0.0, 0.5], [0.0, 1.0], ""),
        ([0.2, 0.8], None, ""),
    ],
)
def test_shares_and_weights_that_cannot_be_used(shares, weights, fault):
    found = fault_of(shares, weights)
    assert fault in found
    assert bool(fault) == bool(found)
