"""Whether the treatment acts on service, and whether policies look at what service a job will need.

Under first come, first served the record holds every service (`queuebench.queueing.rebuild`). If the
treatment acts through the choice of servers alone, services at one server have one law in both arms, whatever
the policies look at in queues: the service a job will need does not depend on the past. Where servers run
several jobs at once no service can be rebuilt, but if both arms' choices are in the log, jobs for which the
arms chose the same server are as good as drawn by lot for either arm, so their responses have one law.

Services are compared within a server, the number of jobs met there (0, 1, 2, more), a part of the record and
the share of treated arrivals, where that changes: then neither speeds, nor a speed that depends on the queue,
nor an overhead of jobs that find a server idle, nor jobs that change over time, as queues then do too, count
as a difference of arms.

What cannot be told from each other at one server is told between servers. A treatment of service changes
all servers alike; policies that send short jobs here and long ones there make the arms differ
one way at some servers and the other way at others. If both arms send the same sizes to the same servers, the
log cannot tell sizes from speeds; nothing here sees that, and as no arm changes it no effect lies in it.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.estimators import assuming
from queuebench.estimators.common.batch_means import difference
from queuebench.logs.checks.assignment import ALARM
from queuebench.logs.checks.strata import compare, depends
from queuebench.logs.findings import NOTE, WARNING, Finding
from queuebench.queueing.rebuild import Rebuilder

MOST_JOBS = 2_000_000
"""Jobs that are compared; of more, every second, third and so on."""

LEVEL = 1e-3
"""Probability of a finding about service if it is equal. Larger than `ALARM`, because missing it is the worse
error: the estimators concerned would then say 0 with an interval from 0 to 0. With 45 000 exponential
services one that is shorter by 5 % is found in about 97 of 100 logs, at 1e-4 in 91."""

_LEVELS = 3
_STRATUM = 20
"""Jobs of a stratum on average; fewer would have little left to compare."""
_MOST_PARTS = 200
_RESOLUTION = 1e-6
"""Relative to the mean: services that differ by less are the same, as differences of rounded times are."""
_PERIODS = 100
"""Parts of the record within which sizes and classes are compared, for their mix may change."""
_MATTERS = 0.05
"""Share of the difference of the arms' responses that a difference of services must be able to make."""
_REACH = 5.0
"""By how much waiting may multiply what a difference of services does: ``1 / (1 - load)`` at load 0.8."""


class Jobs(NamedTuple):
    """What is compared of some of a record's jobs, in order of arrival."""

    value: np.ndarray  # services, or responses where services cannot be rebuilt
    server: np.ndarray
    met: np.ndarray  # at most _LEVELS
    treated: np.ndarray
    choices: np.ndarray | None  # (2, m): control's and treatment's
    size: np.ndarray | None
    kind: np.ndarray | None
    share: np.ndarray  # as a number, 0 where there is one share

    @property
    def strata(self):
        """Share, server, jobs met and part of the record, as one number."""
        servers = int(self.server.max(initial=0)) + 1
        cells = (int(self.share.max(initial=0)) + 1) * servers * (_LEVELS + 1)
        jobs = len(self.value)
        parts = int(np.clip(jobs // (_STRATUM * cells), 1, _MOST_PARTS))
        part = np.arange(jobs) * parts // max(jobs, 1)
        place = self.share * servers + self.server.astype(np.int64)
        return part * cells + place * (_LEVELS + 1) + self.met

    def some(self, chosen):
        """Return the jobs of a mask."""
        return Jobs(*(None if part is None else part[..., chosen] for part in self))


def check_requirements(record, applied, *, first_come) -> list[Finding]:
    """Compare services between arms, servers and choices.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        Of a design that draws the arm of every arrival, and whose servers are known.
    applied : iterable of str
        Estimators that the text names where they fall.
    first_come : bool
        Whether servers work on one job at a time, in order.
    """
    design = record.setting.design
    jobs = collect(record, first_come=first_come)
    naive = difference(record.responses)
    if jobs.choices is not None and (jobs.choices[0] == jobs.choices[1]).all():
        return _never_apart(jobs, applied, design)
    if not first_come:
        return (
            _service(_alike(jobs), naive, "responses", applied, design)
            if jobs.choices is not None
            else []
        )
    within = compare(jobs.value, jobs.treated, jobs.strata, jobs.server)
    aware = _size_aware(jobs, within, applied, design)
    if not aware:
        return _service(within, naive, "services", applied, design)
    # Now only jobs that either arm would have sent to the same server are comparable.
    if jobs.choices is None:
        return aware
    return [*_service(_alike(jobs), naive, "services", applied, design), *aware]


def collect(record, *, first_come) -> Jobs:
    """Return the jobs to be compared.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    first_come : bool
    """
    replicate, setting = record.replicate, record.setting
    carried = [as_numpy(replicate.carry.field(name)) for name in ("server", "departure")]
    plain = SimpleNamespace(speeds=np.ones(len(setting.classes)), travel_time=setting.travel_time)
    rebuilder = Rebuilder(plain, carried)
    every = -(-replicate.arrivals // MOST_JOBS)
    names = ["server", "queue_length", "treated"]
    names += ["server_if_control", "server_if_treated"] if setting.choices else []
    extra = [name for name in ("size", "job_class", "share") if name in replicate.columns]
    parts, before = [], 0
    for arrival, response, *others in replicate.chunks(
        "arrival_time", "response_time", *names, *extra
    ):
        value = np.array(response)
        if first_come:
            rebuilder.rebuild(np.array(arrival), np.array(others[0]), np.array(response), value)
        taken = slice(-before % every, None, every)
        parts.append([column[taken] for column in (value, *others)])
        before += len(arrival)
    joined = (np.concatenate(part) for part in zip(*parts, strict=True))
    columns = dict(zip(("value", *names, *extra), joined, strict=True))
    value = columns["value"]
    step = _RESOLUTION * value.mean()
    return Jobs(
        np.round(value / step) * step if step > 0 else value,
        columns["server"],
        np.minimum(columns["queue_length"], _LEVELS),
        columns["treated"].astype(bool),
        np.stack([columns[f"server_if_{arm}"] for arm in ("control", "treated")])
        if setting.choices
        else None,
        columns.get("size"),
        columns.get("job_class"),
        np.searchsorted(setting.shares, columns["share"])
        if setting.shares
        else np.zeros(len(value), np.int64),
    )


def _alike(jobs):
    """Compare the arms among jobs for which both chose the same server."""
    same = jobs.some(jobs.choices[0] == jobs.choices[1])
    return compare(same.value, same.treated, same.strata)


def _service(found, naive, what, applied, design):
    """Say that the treatment acts on service."""
    if found.p_value >= LEVEL:
        return []
    measured = (
        f"the treated {what} average {found.difference:+.3g} ({found.difference / found.mean:+.2%}, standard "
        f"error {found.error:.2g}) beside the control's where jobs went to the same server "
        f"({p_text(found.p_value)} of one law in both arms)"
    )
    reach = _REACH * (abs(found.difference) + 2.0 * found.error)
    if reach < _MATTERS * abs(naive):
        text = f"{measured}: too little to matter beside the arms' difference in responses, {naive:.3g}"
        return [Finding(NOTE, "service_differs_little", found.count, text)]
    fallen = assuming("equal_service", design=design)
    spared = "; naive, wdq_observed and qdq do not" if design == "bernoulli" else ""
    text = (
        f"{measured}: the treatment acts on the service that jobs need or get, not only on where they go; "
        f"{_left_out(fallen, applied)}{spared}"
    )
    return [Finding(WARNING, "service_differs", found.count, text, fallen)]


def _never_apart(jobs, applied, design):
    """Say that nothing but service can differ."""
    fallen = assuming("equal_service", design=design)
    text = (
        "both arms chose the same server for every job, so nothing but the service that jobs need or get can "
        f"differ; {_left_out(fallen, applied)}"
    )
    return [Finding(WARNING, "never_apart", len(jobs.value), text, fallen)]


def _size_aware(jobs, within, applied, design):
    """Say that services depend on where jobs are sent, or on what the arms would have chosen."""
    reasons = []
    if within.between < ALARM:
        reasons.append(
            "the arms' services differ one way at some servers and the other way at others "
            f"({p_text(within.between)})"
        )
    if jobs.choices is not None:
        for arm, other in ((0, "treatment"), (1, "control")):
            chosen = jobs.some((jobs.treated == arm) & (jobs.choices[0] != jobs.choices[1]))
            p_value = depends(chosen.value, _grouped(chosen.choices[1 - arm]), chosen.strata)
            if p_value < ALARM:
                reasons.append(
                    f"services at one server depend on where the {other} would have sent the job "
                    f"({p_text(p_value)})"
                )
    reasons += _by_kind(jobs)
    if not reasons:
        return []
    fallen = assuming("size_blind", "equal_service", design=design)
    if jobs.choices is not None:
        fallen = assuming("size_blind", design=design)
    text = (
        f"{'; '.join(reasons)}: policies look at the service that a job will need; "
        f"{_left_out(fallen, applied)}"
    )
    return [Finding(WARNING, "size_aware", within.count, text, fallen)]


_GROUPS = 16


def _grouped(servers):
    """Return at most `_GROUPS` labels of servers."""
    return servers % _GROUPS if len(servers) and servers.max() >= _GROUPS else servers


def _by_kind(jobs):
    """Say whether an arm's choice of server depends on the size or class that the log gives."""
    reasons = []
    for name, given in (("size", jobs.size), ("class", jobs.kind)):
        if given is None:
            continue
        given = _deciles(given) if name == "size" else _by_service(given, jobs.value)
        period = np.arange(len(given)) * _PERIODS // len(given)
        # Not within servers: where all jobs of a class go to servers of their own nothing would be left.
        if depends(jobs.value, given, period) >= ALARM:
            continue
        for arm, which in ((0, "control"), (1, "treatment")):
            own = jobs.treated == arm
            p_value = depends(given[own].astype(float), _grouped(jobs.server[own]), period[own])
            if p_value < ALARM:
                reasons.append(
                    f"the {which} sends jobs of another {name} to other servers ({p_text(p_value)})"
                )
    return reasons


def _deciles(size):
    """Return tenths of the sizes, 0 and up; an unknown size is one more kind."""
    cuts = np.nanquantile(size, np.linspace(0.1, 0.9, 9))
    return np.where(np.isnan(size), len(cuts) + 1, np.searchsorted(cuts, size))


def _by_service(kind, services):
    """Return the classes' numbers in order of their mean service, so that ranks of classes mean something."""
    kinds = np.unique(kind, return_inverse=True)[1]
    mean = np.bincount(kinds, services) / np.bincount(kinds)
    return np.argsort(np.argsort(mean))[kinds]


def _left_out(fallen, applied):
    """Say which of the estimators applied suppose otherwise."""
    named = [name for name in applied if name in fallen]
    return (
        f"{', '.join(named) or 'none of the estimators applied'} suppose otherwise and are biased"
    )


def p_text(p_value):
    """Return a p-value as text."""
    return f"p = {p_value:.1g}" if p_value > 1e-12 else "p < 1e-12"
