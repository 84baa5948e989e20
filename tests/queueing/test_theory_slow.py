"""The rest of the delayed table, and the longest runs: what `test_theory` does quickly, at length."""

import numpy as np
import pytest

from queuebench.queueing.arrivals import relative_rate
from tests.queueing.test_theory import (
    BATCHES,
    ERRORS,
    alone,
    assert_mean_within_one_percent,
    power_of,
    seen,
    simulate,
)

__all__ = ["alone"]

DELAYED = {
    ("fresh", 0.0): {2: 2.78, 3: 2.217, 5: 1.84, 20: 1.468},
    ("constant_age", 1.0): {2: 3.36, 3: 3.135, 5: 3.26, 20: 5.84},
    ("constant_age", 2.0): {2: 3.85, 3: 3.885, 5: 4.465, 20: 10.3},
    ("constant_age", 4.0): {2: 4.70, 3: 5.244, 5: 6.73, 20: 19.6},
    ("bulletin_board", 2.0): {2: 3.39, 3: 3.231, 5: 3.62, 20: 7.8},
    ("bulletin_board", 4.0): {2: 3.92, 3: 4.140, 5: 5.30, 20: 13.2},
}


@pytest.mark.slow(seconds=25)
@pytest.mark.parametrize(("kind", "lag"), DELAYED)
def test_the_table_of_delayed_information(alone, kind, lag):
    """Every cell within 1 %, at least four standard errors of the run; false alarm once in 450 seeds."""
    for d, expected in DELAYED[kind, lag].items():
        cell = alone(power_of(d), 0.9, 20, **seen(kind, lag))
        assert_mean_within_one_percent(cell, expected, 8_000_000 if d == 20 else 4_000_000)


@pytest.mark.slow(seconds=60)
def test_time_and_arrival_averages_at_length(make_cell):
    """N = 20, d = 2 against 3, load 0.7, a = 0.4, P = 200: the effect in each of its meanings.

    The values to compare with are those of a simulation of the Markov chain by thinning, event by
    event and integrated over time, written for this purpose: -0.3844 +- 0.0016 over time and
    -0.4584 +- 0.0021 over arrivals. Bounds are 4.5 standard errors of the difference; a false alarm
    once in 8000 seeds.
    """
    process = {"kind": "sinusoidal", "amplitude": 0.4, "period": 200.0}
    runs, cycles = 8, 800
    batches = BATCHES // runs
    sums = []
    for seed in range(runs):
        cell = make_cell(0.7, arrival_process=process, seed=seed)
        control, treatment = (simulate(cell, arm, duration=200.0 * cycles) for arm in (0, 1))
        arrival = control["arrival_time"]
        batch = (arrival / (200.0 * cycles / batches)).astype(int)
        response = treatment["response_time"] - control["response_time"]
        seen_by_arrivals = (treatment["in_system"] - control["in_system"]) / cell.rate
        over_time = seen_by_arrivals / relative_rate(arrival, 0.4, 200.0)
        columns = (np.ones(len(arrival)), response, over_time, seen_by_arrivals)
        sums += list(np.transpose([np.bincount(batch, column) for column in columns]))
    jobs, *totals = np.transpose(sums)
    means = [total.sum() / jobs.sum() for total in totals]
    influence = [
        (total - mean * jobs) / jobs.mean() for total, mean in zip(totals, means, strict=True)
    ]
    errors = [values.std(ddof=1) / np.sqrt(len(jobs)) for values in influence]
    assert len(jobs) == BATCHES
    assert max(errors) < 0.002
    for mean, error, (value, value_error) in zip(
        means, errors, [(-0.3844, 0.0016), (-0.3844, 0.0016), (-0.4584, 0.0021)], strict=True
    ):
        assert abs(mean - value) < ERRORS * np.hypot(error, value_error)
    # Little's law: over jobs and over time they are the same, job for job nearly.
    little = (influence[0] - influence[1]).std(ddof=1) / np.sqrt(len(jobs))
    assert abs(means[0] - means[1]) < ERRORS * little
    assert little < 0.001
    apart = (influence[2] - influence[0]).std(ddof=1) / np.sqrt(len(jobs))
    assert means[2] - means[0] < -0.06
    assert apart < 0.001
