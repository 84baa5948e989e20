"""LSTD-DQ with the whole state: queue lengths, ages of the services in progress, and what is seen.

`queuebench.estimators.lstd` with more features, for systems in which queue lengths alone are not the state.
For each group of servers, divided by its size, after the features given there (of the jobs dispatched and not
completed):

* services in progress. With e, by how much the mean remaining time of a service given its age exceeds the
  mean of all services (`queuebench.estimators.common.residual`): the sum of e over servers with at least j
  jobs, for j = 1 .. 5. A server whose jobs are all on the way has no service in progress: its age is
  0, and so is e.
* work, where the dispatcher sees the lengths as they are. With a busy server's ``u = jobs + e``: the sum of
  ``u^2 - jobs^2``, and of the means over the group ``u^2``, ``u k_1`` and ``u k_2``.
* what is seen, where the dispatcher sees old lengths or jobs travel: the servers seen with at least j jobs,
  for j = 1 .. 8, and the servers with at least i jobs that are seen with at least j, for i and j = 1 .. 5.
  (The products of means with the work would shift the estimate by a third of the effect here: measured.)
* under a bulletin board all of these again times the phase, the share of the period that has passed, and
  the phase and its square.

Times are in mean service times, work in units of four of them, so that it moves about as much as the other
features. Source: this project; the remaining work is the classical state of the M/G/1 queue.

Assumptions: a trace with both choices; first come, first served; travel time and age of the information are
known; constant rate; V near the span of the features. With old information a server's two lengths sum up
what was dispatched to it in the meantime, and when; that leaves some bias.

Standard error: delete-a-batch jackknife of the solution; the remaining times are taken as known.
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.residual import EDGES, excess_at, fit_excess
from queuebench.estimators.common.server_states import ServerStates
from queuebench.estimators.common.weighted_windows import CHOICES
from queuebench.estimators.lstd import (
    LEVELS,
    estimate,
    feature_count,
    fill_features,
    server_groups,
    slices,
)

_LEVELS = 5
_SEEN_LEVELS = 8
_WORK = 4.0  # mean service times in a unit of work
_WORKS = 4  # u^2 - jobs^2, u, servers with one and with two jobs; as features the first and three products
_PAIRS = _LEVELS + _WORKS + _SEEN_LEVELS  # where sums by both lengths begin


@register(
    "lstd_dq_state", design="bernoulli", needs_choices=True, needs_structure=True,
    needs_constant_rate=True, nanoseconds=900.0,
 assumes=[*RANDOMISED, "equal_service", "size_blind", "first_come", "structure", "complete"],
)  # fmt: skip
def lstd_dq_state(record, horizon=None):
    """LSTD(0) with features of queue lengths, services in progress, and lengths seen."""
    return estimate(record, StateFeatures, 0.0)


class StateFeatures:
    """The features of a record's states after each arrival.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        With a structure.
    """

    def __init__(self, record):
        self.record = record
        self._states = ServerStates(record.replicate.carry, record.setting.structure)
        self._groups = server_groups(record.setting.classes)
        self._sizes = np.bincount(self._groups).astype(float)
        own = _SEEN_LEVELS + _LEVELS**2 if self._states.lagging else _WORKS
        self._lengths = feature_count(len(self._sizes))
        self._fixed = self._lengths + len(self._sizes) * (_LEVELS + own)
        structure = record.setting.structure
        self._phased = structure.information == "bulletin_board" and structure.age > 0.0
        self.number = 2 * self._fixed + 2 if self._phased else self._fixed

    def chunks(self):
        """Yield phi after either choice (2, m, F), arms (m,) and costs (m,) of consecutive arrivals."""
        record = self.record
        excess = fit_excess(record)
        columns = "arrival_time", "server", "response_time", *CHOICES[:2], "treated", "in_system"
        for *jobs, treated, in_system in slices(record.replicate, *columns):
            yield self._after(excess, *jobs), treated, in_system / record.costs.rate

    def _after(self, excess, arrival, server, response, *choices):
        """Return phi after either choice."""
        groups, sizes, classes = self._groups, self._sizes, self.record.setting.classes
        shape = len(arrival), len(groups)
        length, seen = np.empty((2, *shape), np.int64)
        since = np.empty(shape)
        self._states.fill(arrival, server, response, length, since, seen)
        exactly = np.zeros((len(arrival), len(sizes), LEVELS))
        _count(length, groups, exactly)
        out = np.empty((2, len(arrival), self.number))
        for arm in (0, 1):
            met = length[np.arange(len(arrival)), choices[arm]]
            fill_features(exactly, choices[arm], met, groups, sizes, out[arm])
        sums, after = np.zeros((2, len(sizes), _PAIRS + _LEVELS**2))
        _fill(
            arrival, *choices, length, since, seen, self._states.lagging, groups, sizes, classes,
            excess.mean, EDGES, excess.at_edges, sums, after, self._lengths, out,
        )  # fmt: skip
        if self._phased:
            structure = self.record.setting.structure
            _add_phase((arrival - structure.view(arrival)) / structure.age, self._fixed, out)
        return out


def _add_phase(phase, fixed, out):
    """Fill in what comes after the first columns: those times the phase, the phase and its square."""
    phase = phase[:, None]
    out[:, :, fixed:-2] = out[:, :, :fixed] * phase
    out[:, :, -2:-1] = phase
    out[:, :, -1:] = phase**2


@kernel
def _count(length, groups, exactly):
    for i in range(len(length)):
        for s in range(len(groups)):
            if length[i, s] < exactly.shape[2]:
                exactly[i, groups[s], length[i, s]] += 1.0


@kernel
def _fill(
    arrival, control, treatment, length, since, seen, lagging, groups, sizes, classes, mean, edges,
    at_edges, sums, after, first, out,
):  # fmt: skip
    """Fill in the features from column `first` on, after the control's and the treatment's choice.

    `sums` and `after` are room for the sums over the servers of each group, before and after a choice: of e
    by level (5), of u^2 - jobs^2, of u, of servers with one and with two jobs, of servers seen by level (8),
    and of servers by both levels (25).
    """
    for i in range(len(arrival)):
        sums[:] = 0.0
        for s in range(len(groups)):
            jobs = length[i, s]
            own = sums[groups[s]]
            if jobs > 0:
                age = (arrival[i] - since[i, s]) / mean[s]
                more = excess_at(age, edges, at_edges[classes[s]])
                _add_work(jobs, more, 1.0, own)
            if lagging:
                _add_seen(jobs, seen[i, s], own)
        for arm in range(2):
            s = treatment[i] if arm else control[i]
            _copy(sums, after)
            own = after[groups[s]]
            jobs = length[i, s]
            more = at_edges[classes[s], 0]
            if jobs > 0:
                age = (arrival[i] - since[i, s]) / mean[s]
                more = excess_at(age, edges, at_edges[classes[s]])
                _add_work(jobs, more, -1.0, own)
            _add_work(jobs + 1, more, 1.0, own)
            if lagging and jobs < _LEVELS:
                for j in range(min(seen[i, s], _LEVELS)):
                    own[_PAIRS + jobs * _LEVELS + j] += 1.0
            _write(after, sizes, lagging, first, out[arm, i])


@kernel
def _copy(sums, out):
    # An assignment of whole arrays would allocate one.
    for g in range(len(sums)):
        for k in range(sums.shape[1]):
            out[g, k] = sums[g, k]


@kernel
def _add_work(jobs, more, sign, sums):
    """Add or take away a busy server with a number of jobs and an excess of the service in progress."""
    for j in range(min(jobs, _LEVELS)):
        sums[j] += sign * more
    sums[_LEVELS] += sign * more * (2 * jobs + more) / _WORK**2
    sums[_LEVELS + 1] += sign * (jobs + more) / _WORK
    sums[_LEVELS + 2] += sign
    if jobs > 1:
        sums[_LEVELS + 3] += sign


@kernel
def _add_seen(jobs, seen, sums):
    for j in range(min(seen, _SEEN_LEVELS)):
        sums[_LEVELS + _WORKS + j] += 1.0
    for i in range(min(jobs, _LEVELS)):
        for j in range(min(seen, _LEVELS)):
            sums[_PAIRS + i * _LEVELS + j] += 1.0


@kernel
def _write(sums, sizes, lagging, column, out):
    """Write the features of every group from its sums over servers, from a column on."""
    for g in range(len(sizes)):
        for j in range(_LEVELS):
            out[column + j] = sums[g, j] / sizes[g]
        column += _LEVELS
        if lagging:
            for j in range(_LEVELS + _WORKS, sums.shape[1]):
                out[column] = sums[g, j] / sizes[g]
                column += 1
        else:
            work = sums[g, _LEVELS + 1] / sizes[g]
            out[column] = sums[g, _LEVELS] / sizes[g]
            out[column + 1] = work * work
            out[column + 2] = work * sums[g, _LEVELS + 2] / sizes[g]
            out[column + 3] = work * sums[g, _LEVELS + 3] / sizes[g]
            column += _WORKS
