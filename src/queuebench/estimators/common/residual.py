"""How much longer than the mean a service still takes, by its age, fitted on a record.

``e(a) = E[S - a | S >= a] / E[S] - 1`` for the service times S of a speed class, from the services that last
at least as long, at the edges of bins of age, and interpolated between them. It is zero without memory.
Where it is within `_ERRORS` standard errors of zero it is taken to be zero: features made of nothing but its
noise would be nearly collinear with queue lengths. Services are rebuilt by Lindley's recursion read
backwards (`queuebench.queueing.rebuild`).

Assumptions: first come, first served.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import inlined, kernel
from queuebench.estimators.common.costs import FEWEST_JOBS
from queuebench.queueing.rebuild import Rebuilder

_FINE = 16
"""Bins per mean service time, up to four of them."""
_LINEAR = 4 * _FINE
_GROWTH = 1.2  # of the bins after those
_ERRORS = 4.0
EDGES = np.concatenate([np.arange(_LINEAR) / _FINE, 4.0 * _GROWTH ** np.arange(40)])
"""Ages in mean service times of the class, up to 4 900."""


class Excess(NamedTuple):
    """Mean remaining service times, less the mean of all services.

    Attributes
    ----------
    mean : ndarray of float64, shape (N,)
        Mean service time of every server's class.
    at_edges : ndarray of float64, shape (classes, edges)
        By the ages `EDGES`, in mean service times of the class; constant from where fewer than
        `FEWEST_JOBS` services last as long.
    """

    mean: np.ndarray
    at_edges: np.ndarray


def fit_excess(record) -> Excess:
    """Fit the excess of the remaining service times on a record in one pass.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        With a structure.
    """
    setting, replicate = record.setting, record.replicate
    classes = setting.classes
    mean = (np.bincount(classes, record.costs.mean_service) / np.bincount(classes))[classes]
    carried = [as_numpy(replicate.carry.field(name)) for name in ("server", "departure")]
    rebuilder = Rebuilder(setting.structure, carried)
    unit = mean * setting.structure.speeds  # of a requirement
    sums = np.zeros((classes.max() + 1, 3, len(EDGES)))  # services, their sum and sum of squares
    for arrival, server, response in replicate.chunks("arrival_time", "server", "response_time"):
        requirement = np.empty(len(arrival))
        rebuilder.rebuild(
            *(np.array(column) for column in (arrival, server, response)), requirement
        )
        _add(requirement, server, unit, classes, sums)
    return Excess(mean, np.array([_excess(*of_class) for of_class in sums]))


def _excess(count, total, squares):
    """Return e at every edge from the number, the sum and the sum of squares of the services by bin."""
    longer, total, squares = (np.cumsum(part[::-1])[::-1] for part in (count, total, squares))
    mean = total / np.maximum(longer, 1.0)
    variance = np.maximum(squares / np.maximum(longer, 1.0) - mean**2, 0.0)
    excess = mean - EDGES - 1.0
    excess[excess**2 * longer < _ERRORS**2 * variance] = 0.0
    known = max(1, np.count_nonzero(longer >= FEWEST_JOBS))
    # Where nothing at all lasts longer, no time remains.
    excess[known:] = excess[known - 1] if np.any(longer[known:]) else -1.0
    return excess


@kernel
def _add(requirement, server, unit, classes, sums):
    for i in range(len(requirement)):
        s = server[i]
        size = requirement[i] / unit[s]
        b = bin_of(size)
        sums[classes[s], 0, b] += 1.0
        sums[classes[s], 1, b] += size
        sums[classes[s], 2, b] += size * size


@inlined
def bin_of(age):
    """Return the last edge that an age has reached."""
    if age < 4.0:
        return np.int64(max(age, 0.0) * _FINE)
    far = _LINEAR + np.int64(math.log(age / 4.0) / math.log(_GROWTH))
    return min(far, _LINEAR + 39)


@inlined
def excess_at(age, edges, at_edges):
    """Return e at an age, both in mean service times of a class."""
    b = bin_of(age)
    if b + 1 >= len(edges):
        return at_edges[len(edges) - 1]
    share = (max(age, 0.0) - edges[b]) / (edges[b + 1] - edges[b])
    return at_edges[b] + min(max(share, 0.0), 1.0) * (at_edges[b + 1] - at_edges[b])
