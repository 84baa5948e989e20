"""Single-use resources and the clairvoyant."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from queuebench.loss_network.single_use import single_use, single_use_hindsight, single_use_online
from tests.loss_network.clairvoyant import accept_intervals, clairvoyant, clairvoyant_limit
from tests.loss_network.loss_reference import network


@pytest.mark.parametrize(
    ("servers", "gap"), [(16, 0.991), (64, 1.517), (256, 1.569), (1024, 1.570)]
)
def test_single_use_gaps(servers, gap):
    assert single_use(network(servers)).gap == pytest.approx(gap, abs=1e-3)


@pytest.mark.parametrize("servers", [1, 16, 256])
def test_single_use_online_has_converged(servers):
    net = network(servers)
    coarse = single_use_online(net)
    assert coarse == pytest.approx(single_use_online(net, steps=20_000), abs=1e-4)


def test_one_unit_has_a_closed_form():
    # V' = 0.7*(2 - V) + 0.6*(1 - V) up to a price of V = r_L, then H jobs alone: V' = 0.7*(2 - V).
    change = -np.log(1 - 1.3 / 2.0) / 1.3
    late = 2 - np.exp(-0.7 * (1 - change))
    early = 2 / 1.3 * (1 - np.exp(-1.3))
    expected = early if change > 1 else late
    assert single_use_online(network(1)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("servers", [1, 5, 40])
def test_hindsight_against_the_joint_law(servers):
    counts = np.arange(200)
    high = stats.poisson.pmf(counts, 0.7 * servers)
    low = stats.poisson.pmf(counts, 0.6 * servers)
    taken = np.minimum(counts, servers)
    filled = np.minimum(counts[None, :], (servers - taken)[:, None])
    expected = np.sum(high[:, None] * low * (2 * taken[:, None] + filled))
    assert single_use_hindsight(network(servers)) == pytest.approx(expected, rel=1e-12)


def most_by_enumeration(servers, arrival, departure, reward):
    best = 0.0
    for choice in product((0, 1), repeat=len(arrival)):
        chosen = np.array(choice, bool)
        if not np.all(chosen[arrival == 0]):
            continue
        loads = [np.sum(chosen & (arrival <= t) & (departure > t)) for t in arrival]
        if max(loads) <= servers:
            best = max(best, reward[chosen].sum())
    return best


@pytest.mark.parametrize("seed", range(12))
def test_intervals_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    servers = int(rng.integers(1, 4))
    arrival = np.concatenate([np.zeros(servers), np.sort(rng.uniform(0, 3, 9))])
    departure = arrival + rng.exponential(1.0, len(arrival))
    reward = np.concatenate([np.zeros(servers), rng.choice([1.0, 2.0], 9)])
    accepted = accept_intervals(servers, arrival, departure, reward)
    np.testing.assert_allclose(accepted, np.round(accepted), atol=1e-7)
    best = most_by_enumeration(servers, arrival, departure, reward)
    assert reward @ accepted == pytest.approx(best, abs=1e-7)


def test_the_clairvoyant_beats_the_fluid_bound():
    reward, price = clairvoyant_limit(network(64))
    assert reward == pytest.approx(1.8970, abs=5e-5)
    assert price == pytest.approx(2.0295, abs=5e-5)
    rates = [clairvoyant(network(64), 30, 1, r) for r in range(6)]
    # Checked value 116. The reward of all arrivals has the variance 64*(0.7*4 + 0.6) per unit time,
    # that of those accepted is no larger: over 6*28 units the standard error is at most 1.14, so
    # the bound is more than five of them, a false alarm below 1e-6.
    assert np.mean([rate.reward for rate in rates]) == pytest.approx(116, abs=6)
    assert np.mean([rate.reward for rate in rates]) > rates[0].fluid


def test_the_clairvoyant_needs_ten_service_times():
    with pytest.raises(ValueError, match="horizon >= 10"):
        clairvoyant(network(4), 9, 1, 0)
