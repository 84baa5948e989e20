"""Every policy against a plain version of itself, and what holds between them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuebench.loss_network.events import HIGH, LOW, TICK, draw_events
from queuebench.loss_network.online import online_marginals
from queuebench.loss_network.path import count_path
from queuebench.loss_network.policies import policies, policy, register
from queuebench.loss_network.policies.offline import optimise
from queuebench.loss_network.policies.sensor import sensor_bounds
from queuebench.loss_network.policies.trunk_reservation import reserve
from queuebench.loss_network.regret import path_regret
from tests.loss_network.loss_reference import (
    POLICIES,
    best_by_enumeration,
    make_events,
    network,
    offline_by_values,
    path_reward,
    random_events,
    reward,
    run,
    sample_fluid,
    scan,
    value_functions,
)

lists = st.tuples(st.integers(1, 30), st.integers(1, 120), st.integers(0, 10**6))


def same(path, expected):
    busy, taken = expected
    return path.busy.tolist() == list(busy) and path.taken.tolist() == list(taken)


def run_policy(name, net, events, window):
    entry = policy(name)
    return entry.run(net, events, window if entry.lookahead == "window" else None)


@given(lists)
@settings(max_examples=300, deadline=None)
def test_pfi_agrees_with_a_forward_scan(drawn):
    servers, count, seed = drawn
    events = random_events(servers, count, seed)
    path = run_policy("pfi", network(servers), events, None)
    assert same(path, scan(events, servers, "pfi"))


@given(lists, st.sampled_from([0.5, 1, 2, 3, 7, 20, 1000, math.inf]))
@settings(max_examples=400, deadline=None)
@pytest.mark.parametrize("name", ["sss", "sss_stop"])
def test_the_sensor_agrees_with_a_forward_scan(name, drawn, window):
    # Times are whole numbers, so events at exactly t + W are common.
    servers, count, seed = drawn
    events = random_events(servers, count, seed)
    path = run_policy(name, network(servers), events, window)
    assert same(path, scan(events, servers, name, window))


@pytest.mark.parametrize("servers", [2, 16, 100, 400])
def test_policies_agree_with_forward_scans_on_a_model_list(servers):
    net = network(servers)
    events = draw_events(net, 4000, 3, 0)
    for multiplier in (1, 8, 40):
        window = net.window(multiplier)
        for name in ("sss", "sss_stop"):
            path = run_policy(name, net, events, window)
            assert same(path, scan(events, servers, name, window))
    assert same(run_policy("pfi", net, events, None), scan(events, servers, "pfi"))


@pytest.mark.slow
def test_policies_agree_with_forward_scans_with_many_servers():
    net = network(4096)
    events = draw_events(net, 60_000, 3, 0)
    for multiplier in (1, 4, 8, 32):
        window = net.window(multiplier)
        path = run_policy("sss", net, events, window)
        assert same(path, scan(events, 4096, "sss", window))
    assert same(run_policy("pfi", net, events, None), scan(events, 4096, "pfi"))


@given(lists)
@settings(max_examples=200, deadline=None)
def test_stopped_sensor_with_an_infinite_window_is_pfi(drawn):
    servers, count, seed = drawn
    net, events = network(servers), random_events(servers, count, seed)
    stopped = run_policy("sss_stop", net, events, math.inf)
    assert same(stopped, run_policy("pfi", net, events, None))


def test_an_event_at_exactly_the_end_of_the_window_is_inside():
    # Two ticks leave two servers idle; the H jobs at 3 and 4 make the hypothetical fail at 4.
    kinds = [TICK, TICK, LOW, HIGH, HIGH]
    events = make_events([0, 1, 2, 3, 4], kinds, [1] * 5)
    net = network(100)
    assert not run_policy("sss", net, events, 2.0).taken[2]
    assert run_policy("sss", net, events, 1.999).taken[2]


@given(st.integers(1, 6), st.integers(1, 14), st.integers(0, 10**6), st.booleans())
@settings(max_examples=150, deadline=None)
def test_offline_is_the_best_of_all_sequences(servers, count, seed, opposite):
    events = random_events(servers, count, seed)
    if np.count_nonzero(events.kind != TICK) > 9:
        events = random_events(servers, count, seed, tick_share=0.6)
    for rewards in ({}, {"high_reward": 1.7, "low_reward": 0.6}, {"high_reward": 1.01}):
        net = network(servers, **rewards)
        path = optimise(net, events, opposite, width=2, block=3)
        best = best_by_enumeration(net, events)
        assert reward(net, events, path.taken) == pytest.approx(best, abs=1e-9)


@given(lists, st.booleans(), st.integers(1, 12), st.sampled_from([1.01, 1.7, 2, math.pi]))
@settings(max_examples=300, deadline=None)
def test_offline_agrees_with_plain_values_under_both_tie_rules(drawn, opposite, width, r_high):
    # Few levels and short blocks: certificates, widening and checkpoints are all at work.
    servers, count, seed = drawn
    net, events = network(servers, high_reward=float(r_high)), random_events(servers, count, seed)
    best, busy, taken = offline_by_values(net, events, opposite)
    path = optimise(net, events, opposite, width=width, block=17)
    assert reward(net, events, path.taken) == pytest.approx(best, abs=1e-8)
    assert same(path, (busy, taken))


@pytest.mark.parametrize("servers", [16, 300])
@pytest.mark.parametrize("opposite", [False, True])
def test_offline_agrees_with_plain_values_on_a_model_list(servers, opposite):
    net = network(servers)
    events = draw_events(net, 6000, 9, 1)
    best, busy, taken = offline_by_values(net, events, opposite)
    for width, block in ((4, 64), (32, 1000), (servers, 10**4)):
        path = optimise(net, events, opposite, width=width, block=block)
        assert reward(net, events, path.taken) == best
        assert same(path, (busy, taken))


@pytest.mark.parametrize(("servers", "window"), [(1, 3.0), (9, 5.0), (30, 9.0)])
def test_rolling_horizon_agrees_with_plain_values(servers, window):
    net = network(servers)
    terminal = np.concatenate([[0.0], np.cumsum(online_marginals(net))])
    for seed in range(4):
        events = random_events(servers, 400, seed, tick_share=0.45)
        stops = np.searchsorted(events.time, events.time + window, side="right")

        def decide(e, idle, events=events, stops=stops):
            if events.kind[e] == HIGH:
                return True
            value = value_functions(net, events, e + 1, stops[e], terminal)[0]
            gain = 1 + value[idle - 1] - value[idle]
            return gain > 1e-9

        path = run_policy("rolling_horizon", net, events, window)
        assert same(path, run(events, servers, decide))


def test_rolling_horizon_that_sees_nothing_is_the_online_optimum():
    net = network(64)
    events = draw_events(net, 20_000, 4, 0)
    blind = run_policy("rolling_horizon", net, events, 1e-12)
    assert same(blind, run_policy("online", net, events, None))


@pytest.mark.parametrize("threshold", [0, 1, 3, 9])
def test_trunk_reservation_is_a_threshold_on_the_number_idle(threshold):
    events = random_events(8, 300, 1)
    path = reserve(network(8), events, threshold)
    rule = run(events, 8, lambda e, idle: events.kind[e] == HIGH or idle > threshold)
    assert same(path, rule)


@pytest.mark.parametrize("servers", [1, 2, 5, 16, 64])
@pytest.mark.parametrize("rewards", [(2.0, 1.0), (1.7, 0.6)])
def test_the_regret_identity_is_exact_on_any_part_of_any_path(servers, rewards):
    net = network(servers, high_reward=rewards[0], low_reward=rewards[1])
    for seed in range(5):
        events = random_events(servers, 500, seed)
        for name in policies():
            path = run_policy(name, net, events, 6.0)
            for start, stop in ((0, 500), (100, 400), (17, 18), (50, 50)):
                counts = count_path(events, path, start, stop)
                left = sample_fluid(net, events, start, stop)
                left -= path_reward(net, events, path, start, stop)
                assert path_regret(net, counts) == pytest.approx(left, abs=1e-9)


@pytest.mark.parametrize("servers", [4, 16, 64, 256])
def test_offline_has_the_least_regret_on_whole_lists(servers):
    net = network(servers)
    for replicate in range(3):
        events = draw_events(net, 20_000, 8, replicate)
        regrets = {}
        for name in policies():
            path = run_policy(name, net, events, net.window(6))
            regrets[name] = path_regret(net, count_path(events, path, 0, 20_000))
        # Rewards 2 and 1: all sums are exact.
        assert regrets["offline"] == regrets["offline_opposite"] == min(regrets.values())


def test_every_path_starts_full_and_accepts_high_jobs_when_it_can():
    net = network(16)
    events = draw_events(net, 5000, 2, 0)
    for name in POLICIES:
        path = run_policy(name, net, events, net.window(4))
        assert path.busy[0] == 16
        assert path.busy.min() >= 0
        assert path.busy.max() == 16
        refused = (events.kind == HIGH) & ~path.taken
        if name != "offline_opposite":
            assert np.all(path.busy[:-1][refused] == 16)


@pytest.mark.parametrize("name", ["sss", "sss_stop", "rolling_horizon"])
def test_windows_that_are_not_positive_are_refused(name):
    events = random_events(4, 5, 0)
    with pytest.raises(ValueError, match="window > 0"):
        policy(name).run(network(4), events, 0.0)
    with pytest.raises(ValueError, match="window > 0"):
        sensor_bounds(network(4), events, -1.0, 2)


def test_a_negative_threshold_is_refused():
    with pytest.raises(ValueError, match="threshold >= 0"):
        reserve(network(4), random_events(4, 5, 0), -1)


def test_the_registry_names_its_policies():
    assert set(POLICIES) <= set(policies())
    with pytest.raises(ValueError, match="unknown policy 'sos'; known are offline"):
        policy("sos")
    with pytest.raises(ValueError, match="registered already"):
        register("pfi", lookahead="all")(run)
    with pytest.raises(ValueError, match="lookahead must be"):
        register("new", lookahead="some")
