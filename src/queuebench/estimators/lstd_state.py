"""LSTD-DQ with the whole state: queue lengths, ages of the services in progress, and what is seen.

`queuebench.estimators.lstd` with more features, for systems in which queue lengths alone are not the state.
For each group of servers, divided by its size, after the features given there:

* services in progress. With e, by how much the mean remaining time of a service given its age exceeds the
  mean of all services (`queuebench.estimators.residual`): the sum of e over servers with at least j jobs,
  for j = 1 .. 5.
* work, where the dispatcher sees the lengths as they are. With a busy server's ``u = jobs + e``: the sum of
  ``u^2 - jobs^2``, and of the means over the group ``u^2``, ``u k_1`` and ``u k_2``.
* what is seen, where the dispatcher sees old lengths or jobs travel: the servers seen with at least j jobs,
  for j = 1 .. 8, and the servers with at least i jobs that are seen with at least j, for i and j = 1 .. 5.
  (The products of means with the work would shift the estimate by a third of the effect here: measured.)

Times are in mean service times, work in units of four of them, so that it moves about as much as the other
features. Source: this project; the remaining work is the classical state of the M/G/1 queue.

Assumptions: a trace with both choices; first come, first served; travel time and age of the information are
known; constant rate; V near the span of the features. With old information a server's two lengths sum up
what was dispatched to it in the meantime, and when; that leaves some bias.

Standard error: delete-a-batch jackknife of the solution; the remaining times are taken as known.
"""

import numpy as np

from queuebench.estimators.lstd import PIECE, Features, estimate, server_groups
from queuebench.estimators.registry import register
from queuebench.estimators.residual import EDGES, excess_at, fit_excess
from queuebench.estimators.server_states import ServerStates
from queuebench.estimators.weighted_windows import CHOICES
from queuebench.jit import kernel

_LEVELS = 5
_SEEN_LEVELS = 8
_WORK = 4.0  # mean service times in a unit of work
_WORKS = 4  # u^2 - jobs^2, u, servers with one and with two jobs; as features the first and three products
_PAIRS = _LEVELS + _WORKS + _SEEN_LEVELS  # where sums by both lengths begin


@register(
    "lstd_dq_state", design="bernoulli", needs_choices=True, needs_structure=True,
    needs_constant_rate=True,
)  # fmt: skip
def lstd_dq_state(record, horizon=None):
    """LSTD(0) with features of queue lengths, services in progress, and lengths seen."""
    return estimate(record, StateFeatures(record), 0.0)


class StateFeatures:
    """The features of a record's states after each arrival.

    Parameters
    ----------
    record : queuebench.estimators.record.Record
        With a structure.
    """

    def __init__(self, record):
        self.record = record
        self._lengths = Features(record)
        self._states = ServerStates(record.replicate.carry, record.setting.structure)
        self._groups = server_groups(record.setting.classes)
        self._sizes = np.bincount(self._groups).astype(float)

    @property
    def number(self):
        """Number F of features."""
        return self._lengths.number + self._more

    @property
    def _more(self):
        own = _SEEN_LEVELS + _LEVELS**2 if self._states.lagging else _WORKS
        return len(self._sizes) * (_LEVELS + own)

    def chunks(self):
        """Yield phi after either choice (2, m, F), arms (m,) and costs (m,) of consecutive arrivals."""
        for (after, treated, cost), more in zip(
            self._lengths.chunks(), self._servers(), strict=True
        ):
            yield np.concatenate([after, more], axis=2), treated, cost

    def _servers(self):
        """Yield the features of services in progress and of what is seen, (2, m, F')."""
        record = self.record
        excess = fit_excess(record)
        sums, after = np.zeros((2, len(self._sizes), _PAIRS + _LEVELS**2))
        for chunk in record.replicate.chunks(
            "arrival_time", "server", "response_time", *CHOICES[:2]
        ):
            for begin in range(0, len(chunk[0]), PIECE):
                arrival, server, response, *choices = (
                    part[begin : begin + PIECE] for part in chunk
                )
                shape = len(arrival), len(self._groups)
                length, seen = np.empty((2, *shape), np.int64)
                since = np.empty(shape)
                self._states.fill(arrival, server, response, length, since, seen)
                out = np.empty((2, len(arrival), self._more))
                _fill(
                    arrival, *choices, length, since, seen, self._states.lagging, self._groups,
                    self._sizes, record.setting.classes, excess.mean, EDGES, excess.at_edges,
                    sums, after, out,
                )  # fmt: skip
                yield out


@kernel
def _fill(
    arrival, control, treatment, length, since, seen, lagging, groups, sizes, classes, mean, edges,
    at_edges, sums, after, out,
):  # fmt: skip
    """Fill in the features after the control's and the treatment's choice.

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
            _write(after, sizes, lagging, out[arm, i])


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
def _write(sums, sizes, lagging, out):
    """Write the features of every group from its sums over servers."""
    column = 0
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
