"""Costs of one arrival: the response-time cost in three kinds, and the queue-length cost.

``fitted`` is the record's mean response of jobs that met that many others at a server of that speed,
``markov`` is ``(queue_length + 1) / mu_hat + travel time`` (exact for exponential service only),
``observed`` is the response itself, and ``queue`` is ``in_system / Lambda_hat``, which by Little's law
has the same long-run mean.
"""

import itertools
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import inlined, kernel
from queuebench.estimators.common.registry import EstimationError

FEWEST_JOBS = 200
"""Jobs below which a queue length is pooled with the next longer one in the fitted cost."""


PHASES = 50
"""Equal parts of the cycle in which costs are centred under a periodic rate."""

ASSUMED_BY_FIT = ("equal_service", "size_blind", "queue_state", "first_come", "complete")
"""What the fitted cost assumes.

It pools the arms. With ``f_p(l)`` the mean response of jobs that meet l others at treated share p, the mean
response is ``E_p[f_p(l)]``, and the fitted cost has its slope but for ``E_p[df_p(l) / dp]``. That is zero
if both arms' jobs need the same service (a response holds the services of the jobs ahead too) and if a
job's own arm says no more about its response than the length does. Service in another order makes a
response depend on later arrivals, and so on the share.
"""


class Cost(IntEnum):
    """Columns of the cost matrix; the last two exist under a periodic rate only."""

    FITTED = 0
    MARKOV = 1
    OBSERVED = 2
    QUEUE = 3
    FITTED_UNCENTRED = 4
    QUEUE_UNCENTRED = 5


@dataclass(frozen=True)
class Costs:
    """Costs fitted on one record.

    Attributes
    ----------
    rate : float
        ``Lambda_hat = (n - 1) / (t_last - t_first)``.
    response_by_length : ndarray of float64, shape (classes, lengths)
        Fitted response by speed class and queue length met; longer queues use the last column.
    mean_service : ndarray of float64, shape (N,)
        ``1 / mu_hat`` of every server.
    mean : ndarray of float64, shape (phases, 4)
        Mean of each cost in each phase of the cycle; a constant rate has one phase.
    overall : ndarray of float64, shape (4,)
        Mean of each cost over the record.
    setting : queuebench.estimators.common.setting.Setting
    """

    rate: float
    response_by_length: np.ndarray
    mean_service: np.ndarray
    mean: np.ndarray
    overall: np.ndarray
    setting: object

    COLUMNS = ("arrival_time", "server", "queue_length", "in_system", "response_time")

    def matrix(self, arrival, server, queue_length, in_system, response, out):
        """Fill in the centred costs of consecutive arrivals.

        Parameters
        ----------
        arrival, server, queue_length, in_system, response : ndarray, shape (m,)
            Columns of the trace.
        out : ndarray of float64, shape (m, kinds)
            Written in place: the centred costs, in mean service times.
        """
        _fill(
            arrival, server, queue_length, in_system, response,
            _relative_rate(self.setting, arrival), self.setting.classes, self.response_by_length,
            self.mean_service, self.setting.travel_time, 1.0 / self.rate, self.setting.cycle,
            self.mean, self.overall, out,
        )  # fmt: skip

    def fitted(self, server, queue_length):
        """Return the fitted response of jobs that would meet some lengths, not centred.

        Parameters
        ----------
        server, queue_length : ndarray of int, shape (m,)
        """
        longest = self.response_by_length.shape[1] - 1
        speed_class = self.setting.classes[server]
        return self.response_by_length[speed_class, np.minimum(queue_length, longest)]

    @property
    def kinds(self):
        """Number of columns of the cost matrix."""
        return len(Cost) if len(self.mean) > 1 else Cost.QUEUE + 1


def fit_costs(replicate, setting) -> Costs:
    """Fit the costs on a record in one pass.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
        Or stretches, see `queuebench.estimators.common.sections`.
    setting : queuebench.estimators.common.setting.Setting

    Raises
    ------
    EstimationError
        If the record has fewer than two arrivals, or no service of a whole speed class was completed.
    """
    if replicate.arrivals < 2:
        raise EstimationError("a record of fewer than two arrivals has no arrival rate")
    tally = _Tally(replicate, setting)
    fitted = pool_bins(tally.jobs, tally.response)
    service = _mean_service(tally, setting)
    n = replicate.arrivals
    mean = np.empty(Cost.QUEUE + 1)
    mean[Cost.FITTED] = mean[Cost.OBSERVED] = tally.response.sum() / n
    mean[Cost.MARKOV] = tally.met_by_server @ service / n + setting.travel_time
    mean[Cost.QUEUE] = tally.in_system / tally.rate / n
    costs = Costs(tally.rate, fitted, service, mean[None, :], mean, setting)
    return _centred_by_phase(costs, replicate) if setting.amplitude else costs


def _centred_by_phase(costs, replicate):
    """Return costs that are centred in every phase of the cycle."""
    count = np.zeros(PHASES)
    total = np.zeros((PHASES, Cost.QUEUE + 1))
    for columns in replicate.chunks(*Costs.COLUMNS):
        matrix = np.empty((len(columns[0]), Cost.QUEUE + 1))
        costs.matrix(*columns, matrix)
        _add_phases(columns[0], costs.setting.cycle, matrix, count, total)
    away = total / np.maximum(count, 1.0)[:, None]
    return replace(costs, mean=costs.overall + away)


class _Tally:
    """Counts and sums of one pass over a record."""

    def __init__(self, replicate, setting):
        servers = len(setting.classes)
        self.jobs = np.zeros((setting.classes.max() + 1, 64))
        self.response = np.zeros_like(self.jobs)
        self.met_by_server = np.zeros(servers)
        self.services = np.zeros(servers)
        self.service_time = np.zeros(servers)
        self.in_system = 0.0
        span = 0.0
        stretches = getattr(replicate, "stretches", (replicate,))
        for stretch in stretches:
            span += self._add(stretch, setting)
        self.rate = (replicate.arrivals - len(stretches)) / span

    def _add(self, replicate, setting):
        """Add a record without gaps; return the time from its first arrival to its last."""
        free = np.full(len(setting.classes), -np.inf)
        last_departures(replicate.carry, free)
        first = last = None
        for arrival, server, met, in_system, response in replicate.chunks(*Costs.COLUMNS):
            self._make_room(int(met.max()))
            self.in_system += _tally(
                arrival, server, met, in_system, response, _relative_rate(setting, arrival),
                setting.classes, setting.travel_time, replicate.record_end,
                free, self.jobs, self.response, self.met_by_server, self.services,
                self.service_time,
            )  # fmt: skip
            first = arrival[0] if first is None else first
            last = arrival[-1]
        return last - first

    def _make_room(self, longest):
        missing = longest + 1 - self.jobs.shape[1]
        if missing > 0:
            wider = ((0, 0), (0, max(missing, self.jobs.shape[1])))
            self.jobs = np.pad(self.jobs, wider)
            self.response = np.pad(self.response, wider)


def last_departures(carry, free):
    """Set the last departure of every server from the jobs in the system when the record starts."""
    if len(carry):
        servers, departures = (as_numpy(carry.field(name)) for name in ("server", "departure"))
        np.maximum.at(free, servers, departures)


def _relative_rate(setting, arrival):
    """Return the relative rate at the arrivals; a single 1 where the rate is constant."""
    return setting.relative_rate(arrival) if setting.varying_rate else np.ones(1)


def pool_bins(jobs, response, fewest=FEWEST_JOBS):
    """Return the mean response by queue length, short bins pooled with longer queues.

    Parameters
    ----------
    jobs, response : ndarray of float64, shape (classes, lengths)
        Number of jobs that met each length, and the sum of their responses.
    fewest : int
        From the shortest queue up, a bin with fewer jobs is pooled with the next longer one; what
        is left at the top joins the last complete bin.

    Returns
    -------
    ndarray of float64, shape (classes, lengths)
        Constant over pooled bins; NaN for a class without jobs.
    """
    fitted = np.full(jobs.shape, np.nan)
    for k in range(len(jobs)):
        edges = _bin_edges(jobs[k], fewest)
        for begin, end in itertools.pairwise(edges):
            count = jobs[k, begin:end].sum()
            fitted[k, begin:end] = response[k, begin:end].sum() / count if count else np.nan
    return fitted


def _bin_edges(jobs, fewest):
    edges, held = [0], 0.0
    for length, count in enumerate(jobs):
        held += count
        if held >= fewest:
            edges.append(length + 1)
            held = 0.0
    if len(edges) == 1:
        edges.append(0)
    edges[-1] = len(jobs)
    return edges


def _mean_service(tally, setting):
    """Return ``1 / mu_hat``; a server that completed nothing takes the mean of its class."""
    classes = setting.classes
    services = np.bincount(classes, tally.services)
    if np.any(services == 0):
        raise EstimationError(
            f"no service was completed by servers of speed class {int(np.argmin(services))}"
        )
    by_class = np.bincount(classes, tally.service_time) / services
    served = np.maximum(tally.services, 1.0)
    return np.where(tally.services > 0, tally.service_time / served, by_class[classes])


@kernel
def _tally(
    arrival, server, met, in_system, response, relative_rate, classes, travel_time, record_end,
    free, jobs, responses, met_by_server, services, service_time,
):  # fmt: skip
    """Add one chunk of a record to the tally; return the sum of in_system over the relative rate."""
    varying = len(relative_rate) == len(arrival)
    in_system_sum = 0.0
    for i in range(np.uint64(len(arrival))):
        s = np.uint32(server[i])
        length = np.uint32(met[i])
        speed_class = np.uint32(classes[s])
        jobs[speed_class, length] += 1.0
        responses[speed_class, length] += response[i]
        met_by_server[s] += length + 1.0
        departure = arrival[i] + response[i]
        if departure <= record_end:
            services[s] += 1.0
            service_time[s] += departure - max(arrival[i] + travel_time, free[s])
        free[s] = departure
        in_system_sum += in_system[i] / relative_rate[i] if varying else in_system[i]
    return in_system_sum


@inlined
def _phase(time, cycle, phases):
    """Return which part of the cycle a time falls into."""
    turns = time / cycle
    return min(np.int64((turns - np.floor(turns)) * phases), phases - 1)


@kernel
def _add_phases(arrival, cycle, matrix, count, total):
    for i in range(len(arrival)):
        phase = _phase(arrival[i], cycle, len(count))
        count[phase] += 1.0
        for k in range(matrix.shape[1]):
            total[phase, k] += matrix[i, k]


@kernel
def _fill(
    arrival, server, met, in_system, response, relative_rate, classes, response_by_length,
    mean_service, travel_time, mean_interarrival, cycle, mean, overall, out,
):  # fmt: skip
    varying = len(relative_rate) == len(server)
    phases = len(mean)
    uncentred = out.shape[1] > 4
    longest = np.uint32(response_by_length.shape[1] - 1)
    for i in range(np.uint64(len(server))):
        s = np.uint32(server[i])
        length = np.uint32(met[i])
        phase = np.uint64(_phase(arrival[i], cycle, phases) if phases > 1 else 0)
        fitted = response_by_length[np.uint32(classes[s]), min(length, longest)]
        queue = in_system[i] * mean_interarrival
        if varying:
            queue /= relative_rate[i]
        out[i, 0] = fitted - mean[phase, 0]
        out[i, 1] = (length + 1.0) * mean_service[s] + travel_time - mean[phase, 1]
        out[i, 2] = response[i] - mean[phase, 2]
        out[i, 3] = queue - mean[phase, 3]
        if uncentred:
            out[i, 4] = fitted - overall[0]
            out[i, 5] = queue - overall[3]
