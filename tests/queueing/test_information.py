"""The moment a dispatcher sees: one function for the kernel and for whatever rebuilds queues."""

import numpy as np
import pytest

from queuebench.queueing.structure import Structure


def structure(information, age):
    alike = ("join_shortest_queue",) * 2
    return Structure(np.ones(2), alike, ({}, {}), information=information, age=age)


@pytest.mark.parametrize("period", [0.7, 1.3, 1 / 3])
def test_a_board_never_shows_the_future(period):
    """At a refresh the product ``period * floor(t / period)`` is often rounded to above t."""
    k = np.arange(1, 200_000)
    times = np.concatenate([period * k, np.nextafter(period * k, 0.0), period * (k + 0.5)])
    future = period * np.floor(times / period) > times
    assert future.any()  # else the test would say nothing
    seen = structure("bulletin_board", period).view(times)
    assert (seen <= times).all()
    np.testing.assert_array_equal(seen[~future], (period * np.floor(times / period))[~future])
    np.testing.assert_array_equal(seen[future], times[future])


def test_an_age_is_taken_off_and_fresh_information_is_of_now():
    times = np.linspace(-3.0, 5.0, 9)
    times.flags.writeable = False
    np.testing.assert_array_equal(structure("constant_age", 0.7).view(times), times - 0.7)
    for kind, age in (("fresh", 0.0), ("fresh", 2.0), ("bulletin_board", 0.0)):
        np.testing.assert_array_equal(structure(kind, age).view(times), times)
