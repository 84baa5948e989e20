"""The network's parameters, the fluid bound and the event list."""

import math

import numpy as np
import pytest
from scipy import stats

from queuebench.loss_network.events import (
    draw_blocks,
    draw_events,
    dropped_time,
    measured_span,
    required_events,
)
from queuebench.loss_network.fluid import fluid_reward
from tests.loss_network.loss_reference import network


@pytest.mark.parametrize(
    ("changes", "inequality"),
    [
        ({"low_rate": 0.3}, "service_rate < high_rate \\+ low_rate"),
        ({"high_rate": 1.0}, "high_rate < service_rate"),
        ({"high_rate": 1.2}, "high_rate < service_rate"),
        ({"low_reward": 2.0}, "low_reward < high_reward"),
        ({"low_reward": 3.0}, "low_reward < high_reward"),
        ({"high_rate": 0.0}, "high_rate > 0"),
        ({"low_rate": -1.0}, "low_rate > 0"),
        ({"service_rate": math.nan}, "service_rate > 0"),
        ({"high_reward": math.inf}, "high_reward > 0"),
        ({"low_reward": 0.0}, "low_reward > 0"),
    ],
)
def test_a_bad_network_is_refused_with_the_inequality(changes, inequality):
    with pytest.raises(ValueError, match=inequality):
        network(4, **changes)


@pytest.mark.parametrize("servers", [0, -3, 2.5])
def test_servers_must_be_a_positive_integer(servers):
    with pytest.raises(ValueError, match="servers >= 1"):
        network(servers)


def test_windows_must_be_positive():
    with pytest.raises(ValueError, match="multiplier > 0"):
        network(16).window(0)
    with pytest.raises(ValueError, match="servers >= 2"):
        network(1).window(4)
    assert network(16).window(4) == 4 * math.log(16) / 16


def test_fluid_bound():
    assert fluid_reward(network(64)) == pytest.approx(108.8, rel=1e-14)


def test_a_longer_list_begins_with_the_shorter_one():
    net = network(16)
    short, long = draw_events(net, 70_000, 5, 2), draw_events(net, 140_000, 5, 2)
    for a, b in zip(short, long, strict=True):
        np.testing.assert_array_equal(a, b[:70_000])
    assert sum(len(block.time) for block in draw_blocks(net, 140_000, 5, 2)) == 140_000
    assert not np.array_equal(short.mark, draw_events(net, 70_000, 5, 3).mark)
    assert not np.array_equal(short.mark, draw_events(net, 70_000, 6, 2).mark)


def test_events_have_the_laws_of_the_model():
    # Three tests at fixed seed, each with a false alarm of 1e-4.
    net = network(20)
    events = draw_events(net, 300_000, 1, 0)
    shares = np.array([0.7, 0.6, 1.0]) / 2.3
    kinds = np.bincount(events.kind, minlength=3)
    assert stats.chisquare(kinds, shares * 300_000).pvalue > 1e-4
    marks = np.bincount(events.mark, minlength=21)
    assert marks[0] == 0
    assert stats.chisquare(marks[1:]).pvalue > 1e-4
    gaps = np.diff(events.time, prepend=0) * net.event_rate
    assert stats.kstest(gaps, "expon").pvalue > 1e-4


def test_marks_cover_a_single_server():
    assert set(draw_events(network(1), 100, 1, 0).mark) == {1}


def test_a_list_needs_an_event():
    with pytest.raises(ValueError, match="count >= 1"):
        draw_events(network(4), 0, 1, 0)


def test_what_is_dropped_at_each_end():
    net = network(16)
    assert dropped_time(net) == 1
    assert dropped_time(net, (1, 4, math.inf)) == 1
    assert dropped_time(net, (1, 32)) == net.window(32) > 1
    assert required_events(net, (1, 4)) == 368


def test_a_short_list_is_refused_with_the_events_it_needs():
    net = network(16)
    with pytest.raises(ValueError, match="events >= 368 must hold"):
        measured_span(net, draw_events(net, 367, 1, 0))
    first, last = measured_span(net, draw_events(net, 368, 1, 0))
    assert first == 1
    assert last > first
