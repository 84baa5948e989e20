"""T(p) and T'(p) at several shares: rows computed elsewhere, and what quadrature leaves of the effect."""

import numpy as np
import pytest

from queuebench.queueing.oracle import effect_curve
from queuebench.study.shares import gauss_shares, quadrature_weights

SHARES = np.unique([0.0, *gauss_shares(2), *gauss_shares(3), 1.0])


def curve(servers, load, control, treatment, tolerance):
    found = effect_curve(servers, load, control, treatment, SHARES, tolerance=tolerance)
    responses = {share: one.policy.c_w for share, one in zip(SHARES, found, strict=True)}
    slopes = {share: one.dq for share, one in zip(SHARES, found, strict=True)}
    return responses[1.0] - responses[0.0], slopes


def quadrature(number, slopes):
    shares = gauss_shares(number)
    return float(quadrature_weights(shares) @ [slopes[share] for share in shares])


def test_six_servers_two_against_four():
    effect, slopes = curve(6, 0.75, 2, 4, 1e-6)
    assert effect == pytest.approx(-0.382504, abs=1e-6)
    at = [slopes[p] for p in SHARES[1:-1]]
    assert at == pytest.approx([-0.526793, -0.472781, -0.360753, -0.290726, -0.272936], abs=1e-6)
    assert quadrature(2, slopes) == pytest.approx(-0.381754, abs=1e-6)
    assert quadrature(3, slopes) == pytest.approx(-0.382482, abs=1e-6)


@pytest.mark.slow(seconds=250)
def test_four_servers_random_against_two():
    """The other computation cut the chain: its effect and slopes are short by up to 0.2 %."""
    effect, slopes = curve(4, 0.8, 1, 2, 1e-4)
    assert effect == pytest.approx(-2.66984, abs=2e-4)
    assert effect == pytest.approx(-2.66439, rel=2.5e-3)
    at = [slopes[p] for p in SHARES[1:-1]]
    assert at == pytest.approx([-5.9608, -3.9567, -1.6897, -0.9390, -0.7954], abs=2e-4)
    assert at == pytest.approx([-5.9577, -3.9566, -1.6897, -0.9390, -0.7954], rel=6e-4)
    assert quadrature(2, slopes) == pytest.approx(-2.44781, abs=2e-4)
    assert quadrature(3, slopes) == pytest.approx(-2.62771, abs=2e-4)


@pytest.mark.parametrize("treatment", [3, 4, 5])
@pytest.mark.parametrize(("servers", "load"), [(6, 0.5), (6, 0.7), (10, 0.7), (20, 0.5)])
def test_three_shares_leave_a_twentieth_of_what_a_coin_flip_leaves(servers, load, treatment):
    effect, slopes = curve(servers, load, 2, treatment, 2e-5)
    assert abs(quadrature(3, slopes) - effect) < abs(slopes[0.5] - effect) / 20
    assert abs(quadrature(2, slopes) - effect) < abs(slopes[0.5] - effect) / 20


@pytest.mark.slow(seconds=20)
@pytest.mark.parametrize("treatment", [3, 4, 5])
def test_three_shares_at_load_nine_tenths(treatment):
    """Two shares leave up to 0.11 of it here."""
    effect, slopes = curve(6, 0.9, 2, treatment, 2e-5)
    assert abs(quadrature(3, slopes) - effect) < abs(slopes[0.5] - effect) / 20
