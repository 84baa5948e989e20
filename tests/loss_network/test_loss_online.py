"""Exact values without lookahead, against rational arithmetic and the optimality equations."""

from fractions import Fraction

import numpy as np
import pytest

from queuebench.loss_network.fluid import fluid_reward
from queuebench.loss_network.online import (
    logarithmic_threshold,
    online_marginals,
    online_optimum,
    trunk_reservation,
)
from tests.loss_network.loss_reference import network


def exact_regret(servers, threshold, r_high=2, most_idle=300):
    """Regret at the default rates from the stationary law in rational numbers.

    Beyond `most_idle` the weights are below 1.3**-280 of the largest and left out.
    """
    high, low = Fraction(7, 10), Fraction(6, 10)
    weights = [Fraction(1)]
    for idle in range(1, min(servers, most_idle) + 1):
        rate = high + low if idle > threshold else high
        weights.append(weights[-1] * (servers - idle + 1) / (servers * rate))
    total = sum(weights)
    mean = sum(idle * w for idle, w in enumerate(weights)) / total
    return float((r_high - 1) * servers * high * weights[0] / total + mean)


@pytest.mark.parametrize("servers", [1, 2, 3, 16, 64])
@pytest.mark.parametrize("r_high", [2, 1000])
def test_regret_and_best_threshold_agree_with_rational_arithmetic(servers, r_high):
    net = network(servers, high_reward=float(r_high))
    exact = [exact_regret(servers, k, r_high) for k in range(servers + 1)]
    computed = [trunk_reservation(net, k).regret for k in range(servers + 1)]
    assert computed == pytest.approx(exact, rel=1e-12)
    best = online_optimum(net)
    assert exact[best.threshold] == pytest.approx(min(exact), rel=1e-14)
    assert best.regret == pytest.approx(min(exact), rel=1e-12)


@pytest.mark.parametrize(
    ("servers", "regret", "digits", "threshold"),
    [
        (16, 3.928, 3, 2),
        (64, 6.8261, 4, 4),
        (256, 10.3449, 4, 7),
        (1024, 14.1525, 4, 11),
        (4096, 17.967, 3, 14),
    ],
)
def test_published_values_to_their_digits(servers, regret, digits, threshold):
    best = online_optimum(network(servers))
    assert round(best.regret, digits) == regret
    assert best.threshold == threshold
    assert best.regret == pytest.approx(exact_regret(servers, threshold), rel=1e-9)


def test_a_million_servers():
    net = network(10**6)
    best = online_optimum(net)
    # Near full occupancy only: beyond 2000 idle the weights are below the last digit.
    weights = [1.0]
    for idle in range(1, 2000):
        rate = 1.3 if idle > best.threshold else 0.7
        weights.append(weights[-1] * (10**6 - idle + 1) / (10**6 * rate))
    total = sum(weights)
    mean = sum(idle * w for idle, w in enumerate(weights)) / total
    assert best.regret == pytest.approx(0.7e6 / total + mean, rel=1e-9)
    for k in (best.threshold - 1, best.threshold + 1):
        assert trunk_reservation(net, k).regret > best.regret


def test_rates_balance():
    net = network(64)
    exact = trunk_reservation(net, 6)
    accepted_high = 64 * 0.7 - exact.rejected_high
    reward = 2 * accepted_high + exact.accepted_low
    assert fluid_reward(net) - reward == pytest.approx(exact.regret, rel=1e-10)


@pytest.mark.parametrize("servers", [1, 2, 16, 256])
def test_relative_values_solve_the_optimality_equation(servers):
    net = network(servers)
    best = online_optimum(net)
    gain = fluid_reward(net) - best.regret
    marginals = online_marginals(net)
    value = np.concatenate([[0.0], np.cumsum(marginals)])
    for idle in range(servers + 1):
        flow = 0.0
        if idle > 0:
            flow += servers * 0.7 * max(0.0, 2 + value[idle - 1] - value[idle])
            flow += servers * 0.6 * max(0.0, 1 + value[idle - 1] - value[idle])
        if idle < servers:
            flow += (servers - idle) * (value[idle + 1] - value[idle])
        assert flow == pytest.approx(gain, rel=1e-9)
    assert np.count_nonzero(marginals > 1) == best.threshold


def test_the_logarithmic_rule_rounds_to_the_nearest_integer():
    assert logarithmic_threshold(network(1024), 3) == 21  # 20.79
    assert logarithmic_threshold(network(64), 3) == 12  # 12.48
    assert logarithmic_threshold(network(2), 5) == 2  # 3.47, but there are two servers
    with pytest.raises(ValueError, match="delta > 0"):
        logarithmic_threshold(network(2), 0)


def test_thresholds_out_of_range_are_refused():
    with pytest.raises(ValueError, match="0 <= threshold <= servers"):
        trunk_reservation(network(4), 5)
