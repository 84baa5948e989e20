"""The reference table of the queueing experiment: computed by two earlier, independent programs."""

import numpy as np
import pytest

from queuebench.queueing.oracle import solve

# servers, load, d control, d treatment, cut:
# response under control and under treatment, effect, naive, DQ
TABLE = {
    (3, 0.7, 1, 2, 40): (3.333307, 1.884792, -1.448515, -0.659793, -1.058795),
    (3, 0.7, 1, 2, 60): (3.3333333, None, -1.448541, -0.659793, -1.058795),
    (20, 0.5, 2, 3, 6): (1.275274, 1.137175, -0.138099, -0.132676, -0.137354),
    (20, 0.7, 2, 3, 6): (1.643859, 1.391077, -0.252782, -0.207878, -0.249317),
}
SLOW_TABLE = {
    (20, 0.5, 2, 3, 7): (1.275274, 1.137175, -0.138099, -0.132676, -0.137354),
    (20, 0.7, 2, 3, 7): (1.643859, 1.391077, -0.252782, -0.207878, -0.249317),
    (20, 0.8, 2, 3, 7): (2.007020, 1.649789, -0.357231, -0.254451, -0.349396),
    (20, 0.9, 2, 3, 7): (None, 2.2174, None, None, None),
}
# horizon in arrivals: queue-length cost, response cost
TRUNCATED = {
    2: (-0.066003, -0.598873),
    6: (-0.237108, -0.622980),
    21: (-0.670813, -0.828592),
    62: (-0.996477, -1.020290),
    63: (-0.999025, -1.021852),
    210: (-1.058570, -1.058653),
}


def half_a_digit(printed):
    """Return half a unit of the last digit printed."""
    return 0.5001 * 10.0 ** -len(repr(printed).split(".")[1])


def check(cell, expected, tolerance):
    *system, cut = cell
    result = solve(*system, cut=cut, tolerance=tolerance)
    found = (result.control.c_w, result.treatment.c_w, result.gte, result.naive, result.dq)
    for value, printed in zip(found, expected, strict=True):
        if printed is not None:
            assert value == pytest.approx(printed, abs=half_a_digit(printed))


@pytest.mark.parametrize("cell", TABLE, ids=str)
def test_reference_table(cell):
    # The seventh decimal of the three-server rows takes a closer solution.
    check(cell, TABLE[cell], tolerance=1e-8 if cell[0] == 3 else 1e-6)


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("cell", SLOW_TABLE, ids=str)
def test_reference_table_of_large_sets(cell):
    check(cell, SLOW_TABLE[cell], tolerance=1e-6)


def test_truncated_reference_values():
    result = solve(3, 0.7, 1, 2, cut=40, tolerance=1e-8, horizons=TRUNCATED)
    for horizon, printed in TRUNCATED.items():
        for value, digits in zip(result.truncated[horizon], printed, strict=True):
            assert value == pytest.approx(digits, abs=0.5001e-6)


@pytest.mark.slow(seconds=90)
def test_adapted_set_agrees_with_the_longest_cut():
    cut = solve(20, 0.8, 2, 3, cut=8, tolerance=1e-6)
    adapted = solve(20, 0.8, 2, 3, tolerance=1e-6)
    assert adapted.gte == pytest.approx(cut.gte, abs=adapted.gte_error + cut.gte_error)
    assert adapted.naive == pytest.approx(
        cut.naive, abs=adapted.mixed.naive_error + cut.mixed.naive_error
    )
    # The table's value for this cut lies on the edge between two last digits.
    assert cut.gte == pytest.approx(-0.357239, abs=1e-6)


@pytest.mark.slow(seconds=120)
def test_adapted_set_at_high_load():
    """20 servers at load 0.9: a cut set of any feasible size leaves too much probability out."""
    result = solve(20, 0.9, 2, 3, tolerance=1e-5)
    assert result.gte_error <= 1e-5
    assert result.gte == pytest.approx(-0.5655, abs=0.0010)  # simulated, with its standard error


def test_error_of_a_cut_covers_the_next_cuts():
    """At d = 2 the mass at the cut falls ever faster, at d = 1 by the load."""
    rough = solve(6, 0.8, 2, 3, cut=7, tolerance=1e-8, horizons=(20,))
    fine = solve(6, 0.8, 2, 3, cut=16, tolerance=1e-8, horizons=(20,))
    assert abs(rough.gte - fine.gte) <= rough.gte_error
    assert abs(rough.naive - fine.naive) <= rough.mixed.naive_error
    assert abs(rough.dq - fine.dq) <= rough.mixed.dq_error
    gap = np.abs(np.subtract(rough.truncated[20], fine.truncated[20]))
    assert (gap <= rough.mixed.truncated_error[20]).all()
