"""What queueing theory knows in closed form."""

from itertools import pairwise

import numpy as np
import pytest

from queuebench.queueing.oracle import mm1_response, solve
from queuebench.queueing.oracle.chain import routing_table
from queuebench.queueing.oracle.refine import adapted_stages, mean_response, refine
from tests.queueing.oracle.large_systems import large_system_response, large_system_tail


@pytest.mark.parametrize(("servers", "load"), [(1, 0.3), (1, 0.8), (2, 0.7), (4, 0.5)])
def test_random_routing_is_independent_queues(servers, load):
    stages = adapted_stages(servers, routing_table(servers, 1), servers * load, 1e-6, 10**6)
    solved = refine(stages, mean_response, 1e-6)
    error = solved.errors[0]
    assert error <= 1e-6
    assert solved.values[0] == pytest.approx(mm1_response(load), abs=error)
    assert solved.stage.mean_jobs == pytest.approx(
        servers * load / (1 - load), abs=error * servers * load
    )


def test_random_routing_needs_no_states():
    result = solve(4, 0.5, 1, 2, tolerance=1e-3)
    assert result.control.c_w == mm1_response(0.5)
    assert result.control.c_q == pytest.approx(4)
    assert result.control.states == result.control.c_w_error == 0
    assert result.gte_error == result.treatment.c_w_error > 0


def test_a_single_server_makes_all_policies_one():
    result = solve(1, 0.6, 1, 1, cut=60, tolerance=1e-9, horizons=(3,))
    assert result.control.c_w == pytest.approx(2.5, abs=result.control.c_w_error)
    assert (result.gte, result.naive, result.dq) == pytest.approx((0, 0, 0), abs=1e-12)


def test_equal_policies_have_no_effect():
    result = solve(3, 0.6, 2, 2, tolerance=1e-6, horizons=(5,))
    assert (result.gte, result.naive, result.dq) == pytest.approx((0, 0, 0), abs=1e-14)
    assert result.truncated[5] == pytest.approx((0, 0), abs=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_large_systems_approach_the_fixed_point(d):
    limit = large_system_response(0.6, d)
    gaps = [solve(n, 0.6, d, d, tolerance=1e-4).control.c_w - limit for n in (5, 10, 20, 40)]
    # The distance to the limit falls like one over the number of servers.
    assert all(0 < after < 0.65 * before for before, after in pairwise(gaps))


def test_fixed_point_formula():
    np.testing.assert_allclose(
        large_system_tail(0.9, 2, 4), [1, 0.9, 0.9**3, 0.9**7, 0.9**15], rtol=1e-12
    )
    np.testing.assert_allclose(large_system_tail(0.5, 1, 3), [1, 0.5, 0.25, 0.125])
    for d in (2, 5):
        tail = large_system_tail(0.8, d, 12)
        assert large_system_response(0.8, d) == pytest.approx(tail[1:].sum() / 0.8)
    assert large_system_response(0.8, 1) == mm1_response(0.8) == pytest.approx(5)


@pytest.mark.parametrize("load", [1.0, -0.1])
def test_unstable_loads_are_refused(load):
    with pytest.raises(ValueError, match="stable"):
        mm1_response(load)
    with pytest.raises(ValueError, match="stable"):
        large_system_response(load, 2)
