import numpy as np
import pytest
from scipy import stats

from queuebench.base.randomness import stream
from queuebench.queueing.arrivals import (
    PoissonArrivals,
    SinusoidalArrivals,
    integrated_rate,
    relative_rate,
)


def drawn(process, sizes):
    parts = [np.empty(size) for size in sizes]
    for part in parts:
        process.fill(part)
    return np.concatenate(parts)


@pytest.mark.parametrize("kind", ["poisson", "sinusoidal"])
def test_times_do_not_depend_on_blocks(kind):
    def process():
        if kind == "poisson":
            return PoissonArrivals(stream(1), 3.0, -20.0)
        return SinusoidalArrivals(stream(1), 3.0, -20.0, 0.9, 11.0)

    np.testing.assert_array_equal(drawn(process(), [999]), drawn(process(), [1, 500, 498]))


@pytest.mark.parametrize("amplitude", [0.0, 0.4, 0.99])
def test_inversion_is_exact_and_increasing(amplitude):
    times = drawn(SinusoidalArrivals(stream(2), 5.0, -30.0, amplitude, 7.0), [20_000])
    levels = drawn(
        PoissonArrivals(stream(2), 5.0, integrated_rate(-30.0, amplitude, 7.0)), [20_000]
    )
    reached = np.array([integrated_rate(t, amplitude, 7.0) for t in times])
    np.testing.assert_allclose(reached, levels, rtol=0, atol=1e-10)
    assert np.all(np.diff(times) >= 0)


def test_counts_per_phase_follow_the_rate_curve():
    """Chi-squared test of 500 cycles in 20 phases; a false alarm once in 1000 seeds."""
    amplitude, period, cycles = 0.6, 10.0, 500
    times = drawn(SinusoidalArrivals(stream(4), 8.0, 0.0, amplitude, period), [60_000])
    times = times[times < cycles * period]
    counts = np.histogram(times % period, bins=20, range=(0, period))[0]
    edges = np.array([integrated_rate(t, amplitude, period) for t in np.linspace(0, period, 21)])
    expected = 8.0 * cycles * np.diff(edges)
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), df=20) > 0.001


@pytest.mark.parametrize(("amplitude", "period"), [(0.4, 200.0), (0.99, 0.3)])
def test_the_relative_rate_is_the_sinusoid(amplitude, period):
    times = np.cumsum(np.random.default_rng(3).exponential(size=20_000))
    rate = relative_rate(times, amplitude, period)
    sinusoid = 1.0 + amplitude * np.sin(2.0 * np.pi / period * times)
    np.testing.assert_allclose(rate, sinusoid, rtol=0, atol=1e-15 * times[-1] / period + 1e-15)
    np.testing.assert_array_equal(rate[777:], relative_rate(times[777:], amplitude, period))
