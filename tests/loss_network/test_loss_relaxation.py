"""The upper bound on a window's worth, against its definition and against what policies reach."""

import numpy as np
import pytest

from queuebench.loss_network.events import HIGH, LOW, TICK, draw_events
from queuebench.loss_network.online import online_marginals, online_optimum
from queuebench.loss_network.path import count_path
from queuebench.loss_network.policies import policy
from queuebench.loss_network.regret import batch_means, path_regret
from queuebench.loss_network.relaxation import lookahead_gain_bound
from tests.loss_network.loss_reference import network, random_events


def follow_online(net, events, start, stop, idle):
    """Reward of the online optimum on a part of a list, plus the relative value of its end."""
    threshold = online_optimum(net).threshold
    relative = np.concatenate([[0.0], np.cumsum(online_marginals(net))])
    total = 0.0
    for e in range(start, stop):
        if events.kind[e] == TICK:
            idle += events.mark[e] <= net.servers - idle
        elif events.kind[e] == HIGH and idle > 0:
            total, idle = total + net.high_reward, idle - 1
        elif events.kind[e] == LOW and idle > threshold:
            total, idle = total + net.low_reward, idle - 1
    return total + relative[idle]


def advantages(net, events, window, start, stop):
    """Per L arrival, number idle and decision: what it gains over the online optimum's."""
    threshold = online_optimum(net).threshold
    found = {}
    for e in range(start, stop):
        if events.kind[e] == LOW:
            end = np.searchsorted(events.time, events.time[e] + window, side="right")
            after = [follow_online(net, events, e + 1, end, j) for j in range(net.servers + 1)]
            for j in range(1, net.servers + 1):
                refuse, accept = after[j], net.low_reward + after[j - 1]
                online = accept if j > threshold else refuse
                found[e, j] = (refuse - online, accept - online)
    return found


def greatest(net, events, gains, start, stop):
    best = np.zeros(net.servers + 1)
    for e in reversed(range(start, stop)):
        after = best.copy()
        for j in range(net.servers + 1):
            if events.kind[e] == TICK:
                best[j] = after[j + (events.mark[e] <= net.servers - j)]
            elif events.kind[e] == HIGH:
                best[j] = after[max(j - 1, 0)]
            elif j > 0:
                refuse, accept = gains[e, j]
                best[j] = max(refuse + after[j], accept + after[j - 1])
    return best.max()


@pytest.mark.parametrize(("servers", "window"), [(1, 2.0), (2, 4.0), (7, 5.0), (12, 9.0)])
def test_the_bound_is_the_greatest_sum_of_advantages(servers, window):
    net = network(servers)
    for seed in range(3):
        events = random_events(servers, 150, seed, tick_share=0.45)
        gains = advantages(net, events, window, 10, 120)
        expected = greatest(net, events, gains, 10, 120)
        bound = lookahead_gain_bound(net, events, window, 10, 120)
        assert bound == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", ["online", "sss", "sss_stop", "rolling_horizon"])
def test_no_policy_has_more_advantage_than_the_bound(name):
    net = network(8)
    events = draw_events(net, 600, 3, 0)
    window = net.window(3)
    gains = advantages(net, events, window, 50, 400)
    path = policy(name).run(net, events, window)
    total = sum(
        gains[e, 8 - path.busy[e]][int(path.taken[e])]
        for e in range(50, 400)
        if events.kind[e] == LOW and path.busy[e] < 8
    )
    bound = lookahead_gain_bound(net, events, window, 50, 400)
    assert total <= bound + 1e-9
    if name == "online":
        assert total == 0


def test_without_a_window_nothing_is_gained():
    net = network(64)
    events = draw_events(net, 20_000, 4, 0)
    assert lookahead_gain_bound(net, events, 1e-12, 1000, 19_000) == 0


@pytest.mark.parametrize("servers", [16, 64])
def test_with_a_long_window_the_bound_is_the_worth_of_foresight(servers):
    # The bound counts from the online optimum's exact regret, the offline one from the list, so
    # they differ by the noise of the online optimum on this list: 5 standard errors from 40
    # batches, a false alarm of 1e-5.
    net = network(servers)
    events = draw_events(net, 200_000, 4, 0)
    start, stop = 5000, 195_000
    duration = events.time[stop] - events.time[start]
    bound = lookahead_gain_bound(net, events, net.window(32), start, stop) / duration
    path = policy("offline").run(net, events, None)
    offline = path_regret(net, count_path(events, path, start, stop)) / duration
    blind = policy("online").run(net, events, None)
    noise = batch_means(net, events, blind, events.time[start], events.time[stop], 40)
    slack = 5 * noise.standard_error
    assert online_optimum(net).regret - bound == pytest.approx(offline, abs=slack)


def test_windows_must_be_positive():
    with pytest.raises(ValueError, match="window > 0"):
        lookahead_gain_bound(network(4), random_events(4, 9, 0), 0.0, 0, 5)
