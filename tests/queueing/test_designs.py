import itertools

import numpy as np
import pytest

from queuebench.base.randomness import stream
from queuebench.queueing.designs import build_design, split_servers


def streams(purpose):
    return stream(3, purpose)


def assigned(kind, arrival, cuts=(), **parameters):
    design = build_design(kind, parameters, np.ones(4), 0.3, streams, -10.0)
    treated = np.zeros(len(arrival), np.uint8)
    edges = [0, *cuts, len(arrival)]
    for begin, end in itertools.pairwise(edges):
        design.assign(arrival[begin:end], treated[begin:end])
    return treated


@pytest.mark.parametrize(
    ("kind", "parameters"), [("bernoulli", {}), ("group", {}), ("switchback", {"period": 3.0})]
)
def test_arms_do_not_depend_on_blocks(kind, parameters):
    arrival = np.linspace(-10.0, 200.0, 1000)
    whole = assigned(kind, arrival, **parameters)
    np.testing.assert_array_equal(whole, assigned(kind, arrival, [314, 500], **parameters))
    assert 0 < whole.mean() < 1


def test_bernoulli_treats_the_asked_share():
    treated = assigned("bernoulli", np.arange(100_000.0))
    # Four standard errors: a false alarm once in 16 000 seeds.
    assert abs(treated.mean() - 0.3) < 4 * np.sqrt(0.3 * 0.7 / 100_000)


@pytest.mark.parametrize(
    "speeds",
    [np.ones(8), np.repeat([1.0, 3.0], 5), np.linspace(1, 2, 6), np.array([1, 1, 1, 2, 2, 3])],
)
def test_a_split_gives_both_halves_the_same_speeds(speeds):
    seen = set()
    for replicate in range(60):
        pools = split_servers(speeds, stream(0, replicate))
        assert sorted(np.concatenate(pools)) == list(range(len(speeds)))
        assert len(pools[0]) == len(pools[1])
        for speed in np.unique(speeds):
            counts = [int(np.sum(speeds[pool] == speed)) for pool in pools]
            assert abs(counts[0] - counts[1]) <= 1
        seen.add(tuple(pools[0]))
    assert len(seen) > 5


def test_an_odd_number_of_servers_cannot_be_split():
    with pytest.raises(ValueError, match="even number of servers, not 5"):
        split_servers(np.ones(5), stream(0))


SHARES = (0.0, 0.1, 0.5, 0.9)


def shares_design(order):
    parameters = {"shares": SHARES, "period": 50.0, "order": order}
    return build_design("shares", parameters, np.ones(4), 0.5, streams, -120.0)


def test_every_cycle_has_each_share_once_in_random_order():
    shares = shares_design("cycles").share(np.arange(-119.0, 40_000.0, 50.0))[3:]
    cycles = shares[: len(shares) // 4 * 4].reshape(-1, 4)
    assert np.array_equal(np.sort(cycles, axis=1), np.broadcast_to(SHARES, cycles.shape))
    # Each share is first in a quarter of 199 cycles; four standard errors, 1 in 4000 seeds over the shares.
    first = np.bincount(np.searchsorted(SHARES, cycles[:, 0])) / len(cycles)
    assert np.abs(first - 0.25).max() < 4 * np.sqrt(0.1875 / len(cycles))


def test_a_ramp_rises_once_and_stays():
    design, arrival = shares_design("ramp"), np.arange(-119.0, 400.0, 7.0)
    shares, block = design.share(arrival), design.block(arrival)
    assert np.array_equal(shares, np.array(SHARES)[block])
    assert np.all(np.diff(block) >= 0)
    assert block[0] == 0
    assert block[-1] == 3
    assert np.array_equal(
        np.flatnonzero(np.diff(block)), [np.searchsorted(arrival, 50.0 * k) - 1 for k in (1, 2, 3)]
    )


def test_within_a_block_every_arrival_is_treated_with_the_blocks_share():
    design, arrival = shares_design("cycles"), np.linspace(0.0, 50_000.0, 200_000)
    treated = np.zeros(len(arrival), np.uint8)
    design.assign(arrival, treated)
    share = design.share(arrival)
    for one in SHARES:
        own = treated[share == one]
        # Four and a half standard errors: a false alarm in one of 37 000 seeds for each of three shares.
        assert abs(own.mean() - one) <= 4.5 * np.sqrt(one * (1 - one) / len(own))
