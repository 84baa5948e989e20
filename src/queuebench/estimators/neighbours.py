"""Differences in neighbours: a choice is charged with the responses at the two servers it was between.

With ``z_i = (A_i / p - (1 - A_i) / (1 - p)) 1[the choices differ]`` and ``N_i`` the jobs that start i may
interfere with, the estimate is the mean over starts of ``z_i sum_{j in N_i} (y_j - mean y)``, y the observed
responses. Source: Peng, Ye and Zheng, Differences-in-Neighbors for Network Interference in Experiments
(arXiv 2503.02271), whose neighbours are those of a given graph. That a queue has no such graph, the two sets
below, the centring and leaving out equal choices are this project's adaptation.

* `neighbours_window`: jobs that, within the horizon, join one of the two servers the arms would choose, the
  only ones whose state the choice changes at once;
* `neighbours_busy`: jobs that join one of these two until that server is next idle; none at a server that is
  idle and not joined.

Why centred: how many jobs a set holds depends on the choice, as later jobs avoid the server it went to, so
that without centring a constant added to all responses would be multiplied by that number's effect. The
number of jobs in the whole system within the window does not depend on the choice; a job not in the set
went to another server, and ``mean y`` stands for its response there. For servers that do not interact (each
job's choices drawn whatever the queues) the sum until the next idle moment solves the server's Poisson
equation: there a cycle from idle to idle has sum zero, so nothing is lost by stopping at it, and Differences
in Q without truncation is what is estimated.

Assumptions: both choices, and departures of all jobs; no interference through other servers, which does not
hold where later jobs look at more than one queue: both forms are biased there. Nothing about service or
information.

One pass: for each server a sum over starts, treated and control starts counted apart as integers, times the
response of a job that joins it. Standard error: batch means of the influence, over blocks of responses j.
"""

import numpy as np

from queuebench.base.jit import inlined, kernel
from queuebench.estimators.common.batch_means import BLOCKS, block_of
from queuebench.estimators.common.costs import last_departures
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.weighted_windows import empty_sums, pooled_sums
from queuebench.estimators.coupled import estimate_fixed

_COLUMNS = (
    "arrival_time", "treated", "server", "server_if_control", "server_if_treated", "response_time",
)  # fmt: skip
_NOWHERE = -1
_ONE_COST = np.ones(1)


@register(
    "neighbours_window", design="bernoulli", uses_horizon=True, needs_choices=True,
    observed_costs=True, nanoseconds=20.0, assumes=[*RANDOMISED, "equal_service"],
)  # fmt: skip
def neighbours_window(record, horizon):
    """Neighbours are the jobs that join either chosen server within the horizon."""
    length = record.horizon_arrivals(horizon)
    # The first responses lack starts before the record, so they are not averaged.
    return _estimate(record, lambda part: _window_traces(part, length), length, dropped=length)


@register(
    "neighbours_busy",
    design="bernoulli",
    needs_choices=True,
    observed_costs=True,
    nanoseconds=20.0,
    assumes=[*RANDOMISED, "equal_service", "complete"],
)
def neighbours_busy(record, horizon=None):
    """Neighbours are the jobs that join either chosen server until it is next idle."""
    setting = record.setting
    return _estimate(record, _busy_traces, setting.horizon_arrivals(setting.batch_horizon))


def _estimate(record, traces, length, dropped=0):
    """Estimate from traces ``e_j``, the sums of z over the starts that job j is a neighbour of.

    ``traces(record)`` yields traces and responses of a record without gaps, some arrivals at a time.
    """

    def add_up(part, batches, _):
        sums, before = empty_sums(batches, 1, 1), -dropped
        for trace, response in traces(part):
            _add(before, max(1, (part.arrivals - dropped) // batches), trace, response, *sums)
            before += len(trace)
        return sums

    return estimate_fixed(pooled_sums(record, length, add_up, lost=dropped), 0, _ONE_COST)


def _window_traces(record, length):
    """Yield traces and responses, some arrivals at a time."""
    near = np.zeros((len(record.setting.classes), 2), np.int64)
    ring = np.full((length + 1, 2), _NOWHERE), np.zeros(length + 1, np.int64)
    before = 0
    for _, treated, server, *choices, response in record.replicate.chunks(*_COLUMNS):
        trace = np.empty(len(treated))
        share = record.setting.treated_share
        _fill_window(before, treated, server, *choices, share, *ring, near, trace)
        before += len(treated)
        yield trace, response


def _busy_traces(record):
    """Yield traces and responses, some arrivals at a time."""
    servers = len(record.setting.classes)
    near, free = np.zeros((servers, 2), np.int64), np.full(servers, -np.inf)
    last_departures(record.replicate.carry, free)
    for arrival, treated, server, *choices, response in record.replicate.chunks(*_COLUMNS):
        trace = np.empty(len(treated))
        share = record.setting.treated_share
        _fill_busy(arrival, treated, server, *choices, response, share, free, near, trace)
        yield trace, response


@kernel
def _fill_window(
    before, treated, server, control, treatment, share, ring, ring_arm, near, trace
):  # fmt: skip
    """Fill in traces; `near` counts, by server and arm, the starts of the window that are near it."""
    width = len(ring)
    slot = before % width
    for i in range(len(trace)):
        arm = np.int64(treated[i])
        if ring[slot, 0] != _NOWHERE:
            near[ring[slot, 0], ring_arm[slot]] -= 1
            near[ring[slot, 1], ring_arm[slot]] -= 1
        ring[slot, 0] = _NOWHERE
        if control[i] != treatment[i]:
            ring[slot, 0] = control[i]
            ring[slot, 1] = treatment[i]
            ring_arm[slot] = arm
            near[control[i], arm] += 1
            near[treatment[i], arm] += 1
        trace[i] = _weigh(near, server[i], share)
        slot = slot + 1 if slot + 1 < width else 0


@kernel
def _fill_busy(arrival, treated, server, control, treatment, response, share, free, near, trace):
    """Fill in traces; `near` counts, by server and arm, the starts since it was last idle."""
    for i in range(len(trace)):
        joined = server[i]
        if free[joined] <= arrival[i]:
            near[joined, 0] = near[joined, 1] = 0
        if control[i] != treatment[i]:
            arm = np.int64(treated[i])
            other = control[i] if joined == treatment[i] else treatment[i]
            near[joined, arm] += 1
            if free[other] > arrival[i]:
                near[other, arm] += 1
        free[joined] = max(free[joined], arrival[i] + response[i])
        trace[i] = _weigh(near, joined, share)


@inlined
def _weigh(near, server, share):
    return near[server, 1] / share - near[server, 0] / (1.0 - share)


@kernel
def _add(unit, batch_length, trace, response, count, total, weight, product, moments):
    """Add a chunk of responses; `unit` is the number of the first one that is averaged."""
    batches = len(moments)
    for i in range(len(trace)):
        if unit >= 0:
            block = block_of(unit, batch_length, batches)
            count[block] += 1.0
            total[block, 0] += response[i]
            weight[block, 0] += trace[i]
            product[block, 0, 0] += trace[i] * response[i]
            moments[block // BLOCKS, 0, 0, 0] += trace[i] * trace[i]
        unit += 1
