"""State sets: every vector once, every neighbour where it belongs."""

from math import comb

import numpy as np
import pytest

from queuebench.queueing.oracle.adapt import grow, seed_chain
from queuebench.queueing.oracle.chain import routing_table
from queuebench.queueing.oracle.states import (
    ARRIVAL_CENSORED,
    DEPARTURE_CENSORED,
    balanced_states,
    full_set,
)


def servers_by_length(states, x):
    """Return the sorted queue lengths of state ``x``."""
    steps = slice(states.first[x], states.first[x + 1])
    exactly = -np.diff(np.append(states.count[steps], 0))
    return tuple(np.repeat(states.length[steps], exactly))


def adapted_set():
    chain, law = seed_chain(6, routing_table(6, 2), 6 * 0.8, 1e-5)
    return grow(chain, law, 1e-5, 10**6)[0].states


@pytest.mark.parametrize(("servers", "cut"), [(1, 2), (2, 5), (4, 3), (7, 2)])
def test_full_set_has_every_vector_once(servers, cut):
    states = full_set(servers, cut)
    seen = {servers_by_length(states, x) for x in range(states.size)}
    assert len(seen) == states.size == comb(servers + cut, cut)
    assert all(len(q) == servers and max(q) <= cut for q in seen)


@pytest.mark.parametrize("make", [lambda: full_set(5, 3), adapted_set], ids=["full", "adapted"])
def test_neighbours_differ_by_one_job_at_one_server(make):
    states = make()
    vectors = [servers_by_length(states, x) for x in range(states.size)]
    known = set(vectors)
    assert len(known) == states.size
    for x, q in enumerate(vectors):
        for s in range(states.first[x], states.first[x + 1]):
            for flag, target, move in (
                (ARRIVAL_CENSORED, states.up[s], 1),
                (DEPARTURE_CENSORED, states.down[s], -1),
            ):
                if states.length[s] + move < 0:
                    assert target == x
                    continue
                moved = list(q)
                moved[q.index(states.length[s])] += move
                neighbour = tuple(sorted(moved))
                assert (neighbour not in known) == bool(states.censored[s] & flag)
                if neighbour in known:
                    assert vectors[target] == neighbour
                elif target != x:  # a substitute: the same event at another server
                    assert sum(vectors[target]) == sum(q) + move


def test_levels_hold_their_number_of_jobs():
    states = adapted_set()
    for x, jobs in enumerate(states.jobs()):
        assert sum(servers_by_length(states, x)) == jobs


def test_full_set_turns_arrivals_away_only_at_the_cut():
    states = full_set(4, 3)
    turned_away = (states.censored & ARRIVAL_CENSORED) > 0
    np.testing.assert_array_equal(turned_away, states.length == 3)
    assert not (states.censored & DEPARTURE_CENSORED).any()


def test_balanced_states_are_even():
    width, length, count = balanced_states(3, range(5))
    assert width.tolist() == [1, 2, 2, 1, 2]
    assert length.tolist() == [0, 0, 1, 0, 1, 1, 1, 2]
    assert count.tolist() == [3, 3, 1, 3, 2, 3, 3, 1]
