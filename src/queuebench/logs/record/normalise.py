"""The second pass: rows in order of arrival, queue lengths reconstructed, the record cut out."""

from dataclasses import dataclass, field

import numpy as np

from queuebench.logs.errors import LogError
from queuebench.logs.findings import DROPPED, NOTE, WARNING, Finding
from queuebench.logs.read import order
from queuebench.logs.read.arms import Arms
from queuebench.logs.read.blocks import Blocks
from queuebench.logs.read.labels import numbered
from queuebench.logs.read.shares import ShareBlocks, ShareOfRow
from queuebench.logs.read.span import dropped_outside, find_span
from queuebench.logs.record.choices import Choices
from queuebench.logs.record.losses import (
    failed_jobs,
    lost_jobs,
    rare_servers,
    unequal_losses,
    unlabelled_jobs,
)
from queuebench.logs.record.queues import ServerQueues
from queuebench.logs.record.replicate import CHUNK, LogReplicate
from queuebench.queueing.in_system import InSystemCounter
from queuebench.trace import carry_array

_TRACE_COLUMNS = {
    "arrival_time": np.float64,
    "treated": np.bool_,
    "server": np.int32,
    "queue_length": np.int32,
    "in_system": np.int32,
    "response_time": np.float64,
    "block": np.int32,
}
_KNOWN = {"size": np.float64, "job_class": np.int32}
"""What may be known of a job at its arrival."""
_LENGTHS = ("queue_length", "in_system")
_ARMS = ("control", "treated")
_SERVER_IF = tuple(f"server_if_{arm}" for arm in _ARMS)
_QUEUE_IF = tuple(f"queue_if_{arm}" for arm in _ARMS)
_FEW_TIES = 0.05
"""Share of arrivals at the same time as the one before up to which their order matters little."""
_CARRY = {"server": np.int32, "arrival": float, "start": float, "departure": float}


def trace_columns(config):
    """Return the kinds of the columns that the record of a log is stored in."""
    chosen = dict.fromkeys((*_SERVER_IF, *_QUEUE_IF), np.int32) if config.columns.choices else {}
    known = {name: kind for name, kind in _KNOWN.items() if getattr(config.columns, name)}
    shares = {"share": np.float64} if config.design.kind == "shares" else {}
    return _TRACE_COLUMNS | chosen | known | shares


@dataclass
class Normalised:
    """A log's record and what was learnt while it was made.

    Attributes
    ----------
    replicate : LogReplicate
    queues : ServerQueues
        Its counts say whether service was first come, first served.
    servers : list of str
        Names of the servers by their numbers.
    arms : tuple of str
        Names of control and treatment.
    findings : list of Finding
    others : int
        Jobs within the record that are only present: failed, or without an arm.
    share_of : queuebench.logs.read.shares.ShareOfRow or None
        In a design of shares.
    """

    replicate: LogReplicate
    queues: ServerQueues
    servers: list
    arms: tuple
    findings: list = field(default_factory=list)
    others: int = 0
    share_of: ShareOfRow | None = None


def normalise(log, config, store) -> Normalised:
    """Write the record of a log into a store.

    Parameters
    ----------
    log : queuebench.logs.read.ingest.RawLog
    config : queuebench.logs.read.description.LogConfig
    store : queuebench.logs.record.store.ColumnStore
        With the columns of `trace_columns`.

    Raises
    ------
    LogError
        If the record is empty, has no two arms, or is too long to be sorted.
    """
    arms = Arms(log.arms, config)
    span, findings = find_span(log, config, arms.treatment)
    maker = _Maker(log, config, arms, span, store)
    for chosen in order.chunks(log.columns, log.sorted, CHUNK):
        maker.add(chosen)
    return maker.finish(findings)


class _Maker:
    """Turns chunk after chunk of a log into a record."""

    def __init__(self, log, config, arms, span, store):
        self._log = log
        self._config = config
        self._span = span
        self._store = store
        self._arms = arms
        self._queues = ServerQueues(len(log.servers), config.travel_time)
        self._in_system = InSystemCounter()
        self._servers, self._server_numbers = numbered(log.servers.known)
        self._choices = (
            Choices(len(log.servers), config.travel_time) if config.columns.choices else None
        )
        self._given = [name for name in (*_LENGTHS, *_QUEUE_IF) if name in log.columns]
        self._carry = {name: [np.empty(0, kind)] for name, kind in _CARRY.items()}
        self._dropped = dict.fromkeys(("duplicates", "lost", "after", "before"), 0)
        self._differing = dict.fromkeys(self._given, 0)
        # Of no arm, control and treatment.
        self._of_arm = {
            name: np.zeros(3, np.int64) for name in ("recorded", "lost", "failed", "unlabelled")
        }
        self._failed_without_end = 0
        self._jobs = np.zeros(len(log.servers), np.int64)
        self._ties = 0
        self._step = np.inf
        self._recorded = 0
        self._present = 0
        self._previous = np.nan
        self._last = span.start
        design = config.design
        self._blocks = Blocks(design.period) if design.kind == "switchback" else None
        self._share_of, self._share_blocks = None, None
        if design.kind == "shares":
            self._share_of = ShareOfRow(config, log.clock, span.start)
            self._share_blocks = ShareBlocks(design.period)

    def add(self, chosen):
        """Add the rows of a chunk, given in order of arrival."""
        rows = _row_numbers(chosen)
        columns = {name: values[chosen] for name, values in self._log.columns.items()}
        kept = self._kept(columns)
        if not kept.all():
            rows = rows[kept]
            columns = {name: values[kept] for name, values in columns.items()}
        if not len(rows):
            return
        for name in ("server", *(_SERVER_IF if self._choices else ())):
            columns[name] = self._server_numbers[columns[name]]
        departure = columns["arrival"] + columns["response"]
        inside = columns["arrival"] >= self._span.start
        recorded = inside & ~self._only_present(columns, inside)
        lengths, start = self._reconstruct(columns, departure, recorded)
        self._remember(columns, start, departure, ~inside)
        if recorded.any():
            self._write(columns, lengths, recorded, rows)

    def finish(self, findings):
        """Return the record, once all chunks are added."""
        if self._recorded < 2:
            raise LogError(f"the record has {self._recorded} arrivals; at least 2 are needed")
        self._arms.check()
        if self._choices:
            self._choices.check()
        if self._share_blocks:
            self._share_blocks.check()
        jobs = {name: np.concatenate(parts) for name, parts in self._carry.items()}
        for name in ("arrival", "start", "departure"):
            jobs[name] -= self._span.start
        end = self._span.end - self._span.start if self._span.closed else self._last
        if end <= 0:
            raise LogError("all arrivals of the record are at the same time")
        replicate = LogReplicate(
            0, self._recorded, 0.0, float(end), carry_array(jobs), self._store.read()
        )
        found = [*findings, *self._findings(len(jobs["server"]))]
        others = int(self._of_arm["failed"].sum() + self._of_arm["unlabelled"].sum())
        return Normalised(
            replicate, self._queues, self._servers, self._arms.names, found, others, self._share_of
        )

    def _only_present(self, columns, inside):
        """Return which jobs fill queues but are not part of the experiment: failed, or without an arm."""
        failed = columns.get("failed", np.zeros(len(inside), bool))
        if self._config.without_arm == "refuse":
            return failed
        unlabelled = (columns["arm"] < 0) & ~failed
        self._count("unlabelled", columns, unlabelled & inside)
        return failed | unlabelled

    def _count(self, what, columns, which):
        arm = columns["arm"][which]
        place = np.where(arm < 0, 0, np.where(arm == self._arms.treatment, 2, 1))
        self._of_arm[what] += np.bincount(place, minlength=3)

    def _kept(self, columns):
        """Return which rows stay: neither repeated, nor without an end, nor after the end."""
        arrival, response = columns["arrival"], columns["response"]
        repeated = np.zeros(len(arrival), bool)
        repeated[1:] = np.all(
            [
                (values[1:] == values[:-1])
                | ((values[1:] != values[1:]) & (values[:-1] != values[:-1]))
                for values in columns.values()
            ],
            axis=0,
        )
        after = ~repeated & (arrival > self._span.end)
        endless = ~repeated & ~after & np.isnan(response)
        failed = columns.get("failed", np.zeros(len(arrival), bool))
        self._count("failed", columns, failed & ~repeated & ~after & (arrival >= self._span.start))
        self._failed_without_end += int((failed & endless & (arrival >= self._span.start)).sum())
        lost = endless & ~failed
        self._count("lost", columns, lost)
        for name, wrong in (("duplicates", repeated), ("after", after), ("lost", lost)):
            self._dropped[name] += int(wrong.sum())
        return ~(repeated | after | endless)

    def _reconstruct(self, columns, departure, recorded):
        arrival, server = columns["arrival"], columns["server"]
        lengths = {name: np.empty(len(arrival), np.int32) for name in _LENGTHS}
        start = np.empty(len(arrival))
        counted = recorded & (departure <= self._span.end)
        self._queues.follow(arrival, server, departure, counted, lengths["queue_length"], start)
        self._in_system.count(arrival, departure, lengths["in_system"])
        if self._choices:
            chosen = [columns[name] for name in _SERVER_IF]
            lengths |= zip(
                _QUEUE_IF, self._choices.lengths(arrival, server, departure, chosen), strict=True
            )
        for name in self._given:
            differ = (lengths[name] != columns[name]) & recorded
            self._differing[name] += int(differ.sum())
            lengths[name] = columns[name]
        return lengths, start

    def _remember(self, columns, start, departure, before):
        """Keep the jobs that arrived before the record and are there when it starts."""
        self._dropped["before"] += int(before.sum())
        present = before & (departure > self._span.start)
        jobs = {
            "server": columns["server"],
            "arrival": columns["arrival"],
            "start": start,
            "departure": departure,
        }
        for name, values in jobs.items():
            self._carry[name].append(values[present])

    def _write(self, columns, lengths, recorded, rows):
        arrival = columns["arrival"][recorded] - self._span.start
        gaps = np.diff(arrival, prepend=self._previous)
        self._ties += int((gaps == 0).sum())
        self._step = min(self._step, gaps.min(where=gaps > 0, initial=np.inf))
        self._previous = self._last = float(arrival[-1])
        treated = self._arms.treated(columns["arm"][recorded], rows[recorded])
        chosen = {}
        if self._choices:
            chosen = {name: columns[name][recorded] for name in _SERVER_IF}
            chosen |= {name: lengths[name][recorded] for name in _QUEUE_IF}
            own = columns["server"][recorded]
            self._choices.compare(own, treated, *(chosen[k] for k in _SERVER_IF), rows[recorded])
        block, shares = np.zeros(len(arrival), np.int32), {}
        labels = columns["block"][recorded] if "block" in columns else None
        if self._blocks:
            block = self._blocks.number(arrival, treated, rows[recorded], labels)
        if self._share_blocks:
            share = self._share_of.of(columns)[recorded]
            block = self._share_blocks.number(arrival, share, treated, rows[recorded], labels)
            shares = {"share": share}
        if not self._recorded:
            self._present = int(lengths["in_system"][recorded][0])
        self._recorded += len(arrival)
        self._jobs += np.bincount(columns["server"][recorded], minlength=len(self._jobs))
        self._of_arm["recorded"] += [0, int((~treated).sum()), int(treated.sum())]
        self._store.append(
            arrival_time=arrival,
            treated=treated,
            server=columns["server"][recorded],
            queue_length=lengths["queue_length"][recorded],
            in_system=lengths["in_system"][recorded],
            response_time=columns["response"][recorded],
            block=block,
            **chosen,
            **shares,
            **{name: columns[name][recorded] for name in _KNOWN if name in columns},
        )

    def _findings(self, carried):
        return [
            *(self._blocks.findings() if self._blocks else []),
            *self._dropped_rows(),
            *self._losses(),
            *rare_servers(self._jobs, self._servers),
            *self._presence(carried),
            *self._disagreement(),
            *self._clock_ties(),
        ]

    def _dropped_rows(self):
        dropped = self._dropped
        found = dropped_outside(dropped["after"])
        if count := dropped["duplicates"]:
            text = f"{count:,} rows repeat another row in every column; one of each was kept"
            found.append(Finding(DROPPED, "duplicates", count, text))
        return found

    def _losses(self):
        """Say which jobs gave no response, by arm, and whether the arms differ in that."""
        bernoulli = self._config.design.kind == "bernoulli"
        return [
            *lost_jobs(self._of_arm["lost"]),
            *failed_jobs(self._of_arm["failed"], self._failed_without_end),
            *unlabelled_jobs(self._of_arm["unlabelled"], self._recorded),
            *(unequal_losses(self._of_arm) if bernoulli else []),
        ]

    def _presence(self, carried):
        """Say what is known of the jobs that were present when the record started."""
        if before := self._dropped["before"]:
            text = (
                f"{before:,} rows arrive before the record starts; {carried:,} of these jobs were in "
                "the system then"
            )
            return [Finding(NOTE, "lead_in", before, text)]
        if self._span.stated:
            return []
        if "in_system" in self._given:
            if self._present == 0:
                return []
            text = (
                f"the log says that {self._present:,} jobs were present when it began, but has no rows "
                "of them; the number in the system over time is too low by their stays"
            )
            return [Finding(NOTE, "unknown_at_start", self._present, text)]
        text = (
            "who was in the system when the log began is unknown; it is taken to have been empty, so "
            "the first queue lengths are too short (set lead_in to some service times to leave them out)"
        )
        return [Finding(NOTE, "unknown_at_start", 0, text)]

    def _disagreement(self):
        return [
            Finding(
                WARNING, f"{name}_disagrees", count,
                f"{name} differs from the number counted from arrivals and departures in {count:,} "
                f"rows ({count / self._recorded:.2%}); the log's own number is used",
            )
            for name, count in self._differing.items()
            if count
        ]  # fmt: skip

    def _clock_ties(self):
        """Say how many arrivals are simultaneous and what rests on their unknown order."""
        if not self._ties:
            return []
        share = self._ties / self._recorded
        many = share > _FEW_TIES and not set(_LENGTHS) <= set(self._given)
        text = (
            f"{self._ties:,} arrivals ({share:.2%}) have the same time as the one before (the shortest "
            f"other gap is {self._step:.3g} {self._config.time_unit}): a coarse clock, or jobs sent "
            "together; their order is unknown and taken from their responses"
        )
        if many:
            text += (
                ", and with it the queue lengths that they met: reconstructed lengths and the number met by "
                "arrivals are then rough, and so are the costs fitted to them; log finer times, or "
                "queue_length and in_system as they were at the dispatch"
            )
        return [Finding(WARNING if many else NOTE, "clock_ties", self._ties, text)]


def _row_numbers(chosen):
    if isinstance(chosen, slice):
        return np.arange(chosen.start + 1, chosen.stop + 1)
    return chosen + 1
