"""What theory says of the effect from the slope and the level at one share.

Let T(p) be the mean response at share p, b the share of the better arm (p, or 1 - p where treatment makes
responses longer) and m the size of the slope there, so that T falls as b grows. If T is monotone and convex,
it lies above its tangent and below T(b) beyond b::

    T(0) >= T(b) + b m,   T(b) - (1 - b) m <= T(1) <= T(b),

so that the effect's size is at least ``b m``. It is not bounded above: T(0), the worse arm alone, may be as
long as one likes. If T' is concave too (the curvature lessens as b grows), the mean of T' is below its value
in the middle (Hermite and Hadamard), and the size is at least m where b is a half or more. And if arrivals
are Poisson and the worse arm alone is no worse than a random choice of server, T(0) is at most ::

    R = 1/N sum_i (s_i + r_i s_i (1 + c^2) / (2 (1 - r_i))),

with s_i the mean service time at server i, r_i its load and c the coefficient of variation of services
(Pollaczek and Khinchine), and the size at most ``R - max(T(b) - (1 - b) m, min s_i)``.

One share cannot test the first two assumptions: they hold in every system that was solved exactly. The log
may contradict the third, and then there is no such bound. That T is lower in windows in which by chance
more jobs were treated says nothing of it: shares of windows differ too little.
"""

import math
from typing import NamedTuple

import numpy as np

_NO_WORSE = 0.03
"""By how much a law of places may lie below that of a random choice by noise."""
_WINDOW = 100
"""Arrivals of a window in which arrivals are counted as bursty or not."""
_NOISE = 4.0
"""Standard errors that are taken for noise."""


class Bounds(NamedTuple):
    """Bounds on the effect, in the log's unit and with its sign; NaN where there is none.

    Attributes
    ----------
    least : float
        The effect is at least as strong if T is monotone and convex in the share.
    curved : float
        It is at least as strong if the curvature lessens besides.
    most : float
        It is at most as strong if T is monotone and convex, arrivals are Poisson and the worse arm alone is
        no worse than a random choice of server.
    """

    least: float
    curved: float
    most: float


def effect_bounds(lower, upper, share, arrivals, level, worst, fastest=0.0):
    """Return bounds on the effect from a slope.

    Parameters
    ----------
    lower, upper : float
        Ends of the slope's interval, in the log's unit.
    share : float
        Treated share at which it was found.
    arrivals : int
        Behind the share, for its noise.
    level : float
        Mean response at this share, at the lower end of its interval.
    worst : float
        Upper end for R, the mean response under a random choice; infinite or NaN where there is none.
    fastest : float, optional
        Mean service time at the fastest server.

    Returns
    -------
    Bounds or None
        None where the interval of the slope holds 0.
    """
    if lower <= 0.0 <= upper:
        return None
    sign = math.copysign(1.0, lower)
    weak, strong = sorted((abs(float(lower)), abs(float(upper))))
    better = share if sign < 0 else 1.0 - share
    most = worst - max(level - (1.0 - better) * strong, fastest)
    middle = better >= 0.5 - _NOISE * 0.5 / math.sqrt(arrivals)
    return Bounds(
        sign * better * weak,
        sign * weak if middle else math.nan,
        sign * most if math.isfinite(worst) and most > better * weak else math.nan,
    )


def random_response(system, worse, errors):
    """Return the upper end of R, the mean response under a random choice of server.

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    worse : {0, 1}
        The worse arm.
    errors : float
        Standard errors of the load that are put on top.

    Returns
    -------
    float
        NaN where servers do not work first come, first served, or the log contradicts that arrivals are
        Poisson or that the worse arm is no worse than a random choice; infinite where the load may be 1.
    """
    servers, gaps = len(system.slowness), np.diff(system.arrival)
    uniform = np.arange(1, servers + 1) / servers
    if not system.first_come or np.any(system.places[worse] < uniform - _NO_WORSE):
        return math.nan
    if _burstiness(gaps) > 1.0 + _NOISE * math.sqrt(2.0 * _WINDOW / len(gaps)):
        return math.nan
    square = float(np.mean(system.service**2))
    slow = system.slowness * (1.0 + errors * math.sqrt(square / len(gaps)))
    load = slow / (servers * gaps.mean())
    if load.max() >= 1.0:
        return math.inf
    return float(np.mean(slow + load * slow * square / (2.0 * (1.0 - load))))


def _burstiness(gaps):
    """Return the variance of the time that so many arrivals take over that of Poisson arrivals."""
    windows = len(gaps) // _WINDOW
    times = gaps[: windows * _WINDOW].reshape(windows, _WINDOW).sum(axis=1)
    return float(times.var() / (_WINDOW * gaps.mean() ** 2))


def bounds_text(found, unit):
    """Return bounds as a sentence.

    Parameters
    ----------
    found : Bounds
    unit : str
    """
    better, worse, near, far = (
        ("treatment", "control", "below", "above")
        if found.least < 0
        else ("control", "treatment", "above", "below")
    )
    parts = [
        f"theory says that the effect is {near} {found.least:.4g} {unit} if the mean response falls as more "
        f"jobs have the {better}, and by less and less, which one share cannot test"
    ]
    if not math.isnan(found.curved):
        parts.append(f"{near} {found.curved:.4g} {unit} if its curvature lessens too")
    if not math.isnan(found.most):
        parts.append(
            f"and {far} {found.most:.4g} {unit} if besides the first jobs arrive as a Poisson process and "
            f"{worse} alone is no worse than a random choice of server, which the log does not contradict"
        )
    return "; ".join(parts)
