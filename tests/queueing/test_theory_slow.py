"""The rest of the delayed table, and the longest runs: what `test_theory` does quickly, at length."""

import pytest
from test_theory import alone, assert_mean_within_one_percent, power_of, seen

__all__ = ["alone"]

DELAYED = {
    ("fresh", 0.0): {2: 2.78, 3: 2.217, 5: 1.84, 20: 1.468},
    ("constant_age", 1.0): {2: 3.36, 3: 3.135, 5: 3.26, 20: 5.84},
    ("constant_age", 2.0): {2: 3.85, 3: 3.885, 5: 4.465, 20: 10.3},
    ("constant_age", 4.0): {2: 4.70, 3: 5.244, 5: 6.73, 20: 19.6},
    ("bulletin_board", 2.0): {2: 3.39, 3: 3.231, 5: 3.62, 20: 7.8},
    ("bulletin_board", 4.0): {2: 3.92, 3: 4.140, 5: 5.30, 20: 13.2},
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "lag"), DELAYED)
def test_the_table_of_delayed_information(alone, kind, lag):
    """Every cell within 1 %, at least four standard errors of the run; false alarm once in 450 seeds."""
    for d, expected in DELAYED[kind, lag].items():
        cell = alone(power_of(d), 0.9, 20, **seen(kind, lag))
        assert_mean_within_one_percent(cell, expected, 8_000_000 if d == 20 else 4_000_000)
