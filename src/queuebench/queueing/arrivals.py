"""Arrival times: Poisson, constant or sinusoidal (by exact inversion), or as recorded."""

import math

import numpy as np

from queuebench.base.jit import inlined, kernel

_NEAR = 1 / 16
"""Angle up to which the series of sine and cosine that are used are exact to rounding."""


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
        phase = 2.0 * math.pi / period * start
        self._last = self._anchor = (start, math.sin(phase), math.cos(phase))
        self._elapsed = integrated_rate(start, amplitude, period)

    def fill(self, out):
        """Fill an array with the next arrival times, increasing."""
        self._rng.standard_exponential(out=out)
        self._elapsed = accumulate(out, self._scale, self._elapsed)
        self._last, self._anchor = _invert(
            out, self._last, self._anchor, self._amplitude, self._period
        )


@kernel
def integrated_rate(t, amplitude, period):
    """Return ``t + a P / (2 pi) * (1 - cos(2 pi t / P))``, the integral of the relative rate."""
    omega = 2.0 * math.pi / period
    return t + amplitude / omega * (1.0 - math.cos(omega * t))


def relative_rate(times, amplitude, period):
    """Return ``1 + a sin(2 pi t / P)``, the rate over its average, at increasing times."""
    out = np.empty(len(times))
    _fill_rates(times, amplitude, 2.0 * math.pi / period, out)
    return out


@kernel
def _fill_rates(times, amplitude, omega, out):
    held, held_sine, held_cosine = math.inf, 0.0, 0.0
    for i in range(len(times)):
        angle = omega * (times[i] - held)
        if not abs(angle) <= _NEAR:
            # From a grid, so that the result does not depend on where the array begins.
            grid = 2.0 * _NEAR * (math.floor(omega * times[i] / (2.0 * _NEAR)) + 0.5)
            held, held_sine, held_cosine = grid / omega, math.sin(grid), math.cos(grid)
            angle = omega * (times[i] - held)
        sine, _ = _turned(held_sine, held_cosine, angle)
        out[i] = 1.0 + amplitude * sine


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
def _invert(levels, last, anchor, amplitude, period):
    """Replace levels of the integrated rate by the times at which they are reached.

    A step of second order from the last arrival, with the sine and cosine found there, is nearly
    always so good a start that one Newton step ends below rounding: ``bend * step**2`` bounds what is
    left after it.

    `last` and `anchor` are a time, its sine and its cosine: of the last arrival, and of a time from
    which those of times close by follow without calling sine and cosine again. Both are returned for
    the next block.
    """
    omega = 2.0 * math.pi / period
    swing = amplitude / omega
    bend = 0.5 * amplitude * omega / (1.0 - amplitude)
    held, held_sine, held_cosine = anchor
    now, sine, cosine = last
    for i in range(len(levels)):
        level = levels[i]
        # The integral differs from t by something between 0 and twice the swing.
        low = max(now, level - 2.0 * swing)
        high = level
        inverse = 1.0 / (1.0 + amplitude * sine)
        step = (level - (now + swing * (1.0 - cosine))) * inverse
        t = now + step * (1.0 - 0.5 * amplitude * omega * cosine * step * inverse)
        t = max(low, min(high, t))
        for _ in range(100):
            angle = omega * (t - held)
            if abs(angle) > _NEAR:
                held, held_sine, held_cosine = t, math.sin(omega * t), math.cos(omega * t)
                angle = 0.0
            sine, cosine = _turned(held_sine, held_cosine, angle)
            gap = t + swing * (1.0 - cosine) - level
            if gap > 0.0:
                high = min(high, t)
            else:
                low = max(low, t)
            following = t - gap / (1.0 + amplitude * sine)
            if not low <= following <= high:
                following = 0.5 * (low + high)
            step = following - t
            t = following
            scale = max(1.0, abs(t))
            if bend * step * step <= 1e-17 * scale or abs(step) <= 4e-16 * scale:
                break
        now = max(now, t)
        levels[i] = now
    return (now, sine, cosine), (held, held_sine, held_cosine)


@inlined
def _turned(sine, cosine, angle):
    """Return sine and cosine of an angle that is larger by one of at most `_NEAR`."""
    square = angle * angle
    fall = square * (0.5 - square * (1 / 24 - square * (1 / 720 - square / 40320)))
    rise = 1 / 120 - square * (1 / 5040 - square / 362880)
    rise = angle * (1.0 - square * (1 / 6 - square * rise))
    return sine + (cosine * rise - sine * fall), cosine - (sine * rise + cosine * fall)


class RecordedArrivals:
    """The jobs of a recorded workload, in a circle from a random place on, at a given average rate.

    Parameters
    ----------
    rng : numpy.random.Generator
        Chooses the place.
    rate : float
        Average arrivals per mean service time.
    start : float
        Time from which jobs arrive.
    gaps, sizes : ndarray of float64, shape (n,)
        Time since the previous arrival and service requirement of each job, both of mean 1.
    """

    def __init__(self, rng, rate, start, gaps, sizes):
        self._gaps, self._sizes = gaps, sizes
        self._scale = 1.0 / rate
        self._now = start
        self._next = int(rng.integers(len(gaps)))
        self._jobs = np.empty(0, np.int64)

    def fill(self, out):
        """Fill an array with the next arrival times."""
        self._jobs = (self._next + np.arange(len(out))) % len(self._gaps)
        self._next = (self._next + len(out)) % len(self._gaps)
        np.take(self._gaps, self._jobs, out=out)
        self._now = accumulate(out, self._scale, self._now)

    def fill_requirements(self, out):
        """Fill an array with the requirements of the jobs that the last `fill` let arrive."""
        np.take(self._sizes, self._jobs, out=out)
