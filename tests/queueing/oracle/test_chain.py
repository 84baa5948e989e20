"""Routing probabilities, the stationary law and the Poisson equation of one chain."""

from itertools import combinations

import numpy as np
import pytest

from queuebench.queueing.oracle.chain import build_chain, routing_table
from queuebench.queueing.oracle.horizons import arm_difference, truncated_differences
from queuebench.queueing.oracle.poisson import relative_values
from queuebench.queueing.oracle.states import full_set
from queuebench.queueing.oracle.stationary import (
    balance_residual,
    random_routing_values,
    start_law,
    stationary_law,
)


@pytest.fixture(scope="module")
def solved():
    table = (routing_table(4, 1) + routing_table(4, 3)) / 2
    chain = build_chain(full_set(4, 8), table, 4 * 0.7)
    return chain, stationary_law(chain, start_law(chain), 1e-10)[0]


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_routing_table_counts_samples(d):
    samples = list(combinations(range(5), d))
    inside = [sum(max(sample) < k for sample in samples) for k in range(6)]
    np.testing.assert_allclose(routing_table(5, d), np.array(inside) / len(samples), rtol=1e-12)


@pytest.mark.parametrize("d", [0, 6])
def test_routing_table_refuses_impossible_samples(d):
    with pytest.raises(ValueError, match="between 1 and the number of servers, 5"):
        routing_table(5, d)


def test_law_is_a_balanced_probability(solved):
    chain, law = solved
    assert law.min() >= 0
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert np.abs(balance_residual(chain, law)).sum() < 1e-10


def test_busy_servers_match_the_load_that_gets_in(solved):
    chain, law = solved
    states = chain.states
    idle_present = states.length[states.first[:-1]] == 0
    second = np.minimum(states.first[:-1] + 1, states.count.size - 1)
    busy = np.where(idle_present, np.where(np.diff(states.first) > 1, states.count[second], 0), 4)
    full = states.count[states.first[1:] - 1] * (states.length[states.first[1:] - 1] == states.cut)
    admitted = chain.rate * (1 - law @ chain.table[full])
    assert law @ busy == pytest.approx(admitted, rel=1e-9)


def test_relative_values_satisfy_their_equation(solved):
    chain, law = solved
    values, residual = relative_values(chain, law, 1e-10)
    states = chain.states
    assert residual <= 1e-10
    assert values[0] == 0
    x = np.repeat(np.arange(states.size), np.diff(states.first))
    beyond = np.append(states.count[1:], 0)
    beyond[states.first[1:] - 1] = 0
    arrival = chain.rate * (chain.table[states.count] - chain.table[beyond])
    drift = np.zeros(states.size)
    np.add.at(drift, x, arrival * (values[states.up] - values[x]))
    np.add.at(drift, x, (states.count - beyond) * (values[states.down] - values[x]))
    equation = states.jobs() - law @ states.jobs() + drift
    assert law @ np.abs(equation) < 1e-9


def test_random_routing_values_are_those_of_independent_queues():
    chain = build_chain(full_set(2, 60), routing_table(2, 1), 2 * 0.5)
    law, _ = stationary_law(chain, start_law(chain), 1e-10)
    values, _ = relative_values(chain, law, 1e-10)
    low = chain.states.jobs() < 20  # far from the cut, which the formula does not have
    np.testing.assert_allclose(values[low], random_routing_values(chain)[low], atol=1e-5)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_random_routing_values_are_the_largest(d):
    """The bound on what a residual does to the mean cost rests on this."""
    chain = build_chain(full_set(6, 8), routing_table(6, d), 6 * 0.7)
    law, _ = stationary_law(chain, start_law(chain), 1e-10)
    values, _ = relative_values(chain, law, 1e-10)
    assert (values <= random_routing_values(chain) + 1e-9).all()


def test_truncated_differences_end_at_the_poisson_solution():
    control, treatment = routing_table(3, 1), routing_table(3, 3)
    chain = build_chain(full_set(3, 30), (control + treatment) / 2, 3 * 0.6)
    law, _ = stationary_law(chain, start_law(chain), 1e-11)
    values, _ = relative_values(chain, law, 1e-11)
    dq = arm_difference(chain, law, control, treatment) @ values
    queue, response = truncated_differences(chain, law, control, treatment, 1000)
    assert queue[-1] == pytest.approx(dq, abs=1e-9)
    assert response[-1] == pytest.approx(dq, abs=1e-9)
    assert queue[0] == 0


def test_unmet_tolerances_show_in_the_errors_returned(solved):
    chain, law = solved
    assert stationary_law(chain, start_law(chain), 1e-12, max_sweeps=10)[1] > 1e-12
    assert relative_values(chain, law, 1e-12, max_sweeps=4)[1] > 1e-12
