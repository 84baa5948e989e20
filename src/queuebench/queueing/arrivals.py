"""Arrival times: Poisson at a constant rate, or at a sinusoidal rate by exact inversion."""

import math

import numpy as np

from queuebench.jit import kernel


class PoissonArrivals:
    """Poisson arrivals at a constant rate, drawn block by block.

    Parameters
    ----------
    rng : numpy.random.Generator
        The stream of interarrival times.
    rate : float
        Arrivals per mean service time.
    start : float
        Time from which arrivals are drawn.
    """

    def __init__(self, rng, rate, start):
        self._rng = rng
        self._scale = 1.0 / rate
        self._now = start

    def fill(self, out):
        """Fill an array with the next arrival times, increasing."""
        self._rng.standard_exponential(out=out)
        self._now = accumulate(out, self._scale, self._now)


class SinusoidalArrivals:
    """Poisson arrivals at rate ``rate * (1 + amplitude * sin(2 pi t / period))``.

    The integrated rate is inverted by safeguarded Newton steps (Cinlar's time change), so there are
    no rejected candidates and one draw belongs to one arrival, as common random numbers need.
    """

    def __init__(self, rng, rate, start, amplitude, period):
        self._rng = rng
        self._scale = 1.0 / rate
        self._amplitude = amplitude
        self._period = period
        self._now = start
        self._elapsed = integrated_rate(start, amplitude, period)

    def fill(self, out):
        """Fill an array with the next arrival times, increasing."""
        self._rng.standard_exponential(out=out)
        self._elapsed = accumulate(out, self._scale, self._elapsed)
        self._now = _invert(out, self._now, self._amplitude, self._period)


@kernel
def integrated_rate(t, amplitude, period):
    """Return ``t + a P / (2 pi) * (1 - cos(2 pi t / P))``, the integral of the relative rate."""
    omega = 2.0 * math.pi / period
    return t + amplitude / omega * (1.0 - math.cos(omega * t))


def relative_rate(t, amplitude, period):
    """Return ``1 + a sin(2 pi t / P)``, the rate at time `t` over its average."""
    return 1.0 + amplitude * np.sin(2.0 * np.pi / period * t)


@kernel
def accumulate(steps, scale, now):
    """Turn standard exponential steps into a running sum in place.

    One addition after the other, so that the result does not depend on where blocks begin.
    """
    for i in range(len(steps)):
        now += steps[i] * scale
        steps[i] = now
    return now


@kernel
def _invert(levels, now, amplitude, period):
    """Replace levels of the integrated rate by the times at which they are reached."""
    omega = 2.0 * math.pi / period
    swing = amplitude / omega
    for i in range(len(levels)):
        level = levels[i]
        # The integral differs from t by something between 0 and twice the swing.
        low = max(now, level - 2.0 * swing)
        high = level
        t = max(now, low)
        for _ in range(100):
            gap = t + swing * (1.0 - math.cos(omega * t)) - level
            if gap > 0.0:
                high = min(high, t)
            else:
                low = max(low, t)
            step = gap / (1.0 + amplitude * math.sin(omega * t))
            following = t - step
            if not low <= following <= high:
                following = 0.5 * (low + high)
            if abs(following - t) <= 4e-16 * max(1.0, abs(t)):
                break
            t = following
        now = max(now, t)
        levels[i] = now
    return now
