"""Whether servers worked on one job at a time, in order, and which estimators stay valid if not."""

import math
from dataclasses import dataclass

import numpy as np

from queuebench.estimators import estimators_for
from queuebench.logs.findings import NOTE, WARNING, Finding

TOLERATED = 0.01
"""Share of the jobs that met others which may depart before an earlier job of their server."""

_FEWEST = 5
_SHORTER = 0.5
_TIME_OUTS = 0.001


@dataclass(frozen=True)
class Service:
    """What the order of departures says about a log's servers.

    Attributes
    ----------
    first_come : bool
        Whether servers worked on one job at a time, in order of arrival.
    mean : float
        Mean of the completed service times, in the log's unit; only if `first_come`, else NaN.
    findings : list of Finding
    """

    first_come: bool
    mean: float
    findings: list

    def valid(self, estimator):
        """Return whether a registered estimator's costs make sense for these servers."""
        return self.first_come or estimator.observed_costs


def judge_service(replicate, queues, has_server, design, wanted="all", *, choices) -> Service:
    """Say how servers worked.

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    queues : queuebench.logs.record.queues.ServerQueues
    has_server : bool
        Whether the log names servers.
    design : str
        Kind of design.
    wanted : "all" or list of str
        Estimators asked for.
    choices : bool
        Whether the log holds the choices of both arms.
    """
    names = _observed_names(design, wanted, choices)
    if not has_server:
        text = f"the log names no servers; {names}"
        return Service(False, math.nan, [Finding(NOTE, "no_server", 0, text)])
    reasons = [*_overtaking(queues), *_shorter_services(queues.services)]
    time_outs = _time_outs(replicate, names)
    if reasons:
        text = f"{'; '.join(reasons)}: servers run several jobs at once, retry or time out; {names}"
        count = queues.overtaking
        found = [Finding(WARNING, "not_first_come_first_served", count, text)]
        return Service(False, math.nan, found + time_outs)
    found = []
    if queues.overtaking:
        text = (
            f"{queues.overtaking:,} jobs departed before an earlier job of their server, "
            f"{queues.overtaking / queues.meeting:.2%} of those that met others: few enough to be "
            "taken as first come, first served"
        )
        found.append(Finding(NOTE, "overtaking", queues.overtaking, text))
    services = queues.services
    completed = services.count.sum()
    mean = float(services.total.sum() / completed) if completed else math.nan
    return Service(True, mean, found + time_outs)


def _observed_names(design, wanted, choices):
    """Name the estimators that need no more than observed costs, of those wanted, that such a log allows."""
    applicable = estimators_for(design, wanted, horizons=math.inf, choices=choices)
    observed = [entry for entry in applicable if entry.observed_costs]
    names = [entry.name for entry in observed if entry.estimand != "arm difference"]
    biased = [entry.name for entry in observed if entry.estimand == "arm difference"]
    text = f"only estimators with observed costs apply: {', '.join(names) or 'none of those asked for'}"
    return text + "".join(f" ({name} is biased by interference, as ever)" for name in biased)


def _overtaking(queues):
    """Departures out of order, among jobs that had the occasion."""
    if queues.overtaking < max(_FEWEST, TOLERATED * queues.meeting):
        return []
    return [
        f"{queues.overtaking:,} jobs, {queues.overtaking / queues.meeting:.1%} of those that met "
        "others at their server, departed before an earlier one"
    ]


def _shorter_services(services):
    """Jobs that waited seem served much faster: they were served beside the one before.

    Compared within servers, weighted as a stratified difference of means, so that slow servers having
    longer queues does not count.
    """
    count, total, squares = services
    both = (count > 1).all(axis=1)
    if not both.any():
        return []
    count, total, squares = count[both], total[both], squares[both]
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0) / count
    weight = count.prod(axis=1) / count.sum(axis=1)
    alone, waited = (weight @ mean) / weight.sum()
    error = math.sqrt(weight**2 @ variance.sum(axis=1)) / weight.sum()
    if waited > _SHORTER * alone or alone - waited < 5 * error:
        return []
    if waited <= 0.0:
        return [
            "jobs that met others depart on average before the one that came before them, as they cannot "
            "where one job is served at a time"
        ]
    return [
        f"the time from the previous departure to their own averages {waited:.4g} for jobs that "
        f"waited, against responses of {alone:.4g} for jobs that met an empty server"
    ]


def _time_outs(replicate, names):
    """Many responses that are exactly the longest one look cut off."""
    longest = max(float(response.max()) for (response,) in replicate.chunks("response_time"))
    equal, total = 0, 0.0
    for (response,) in replicate.chunks("response_time"):
        equal += int((response == longest).sum())
        total += float(response.sum())
    n = replicate.arrivals
    if equal < max(10, _TIME_OUTS * n) or longest < 3 * total / n:
        return []
    text = f"{equal:,} jobs have exactly the longest response, {longest:g}: do jobs time out? Then {names}"
    return [Finding(WARNING, "time_out", equal, text)]
