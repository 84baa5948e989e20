"""The second pass: rows in order of arrival, queue lengths reconstructed, the record cut out."""

from dataclasses import dataclass, field

import numpy as np

from queuebench.logs import order
from queuebench.logs.arms import Arms
from queuebench.logs.blocks import Blocks
from queuebench.logs.choices import Choices
from queuebench.logs.errors import LogError
from queuebench.logs.findings import DROPPED, NOTE, WARNING, Finding
from queuebench.logs.labels import numbered
from queuebench.logs.queues import ServerQueues
from queuebench.logs.replicate import CHUNK, LogReplicate, carry_array
from queuebench.logs.span import dropped_outside, find_span
from queuebench.queueing.in_system import InSystemCounter

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
_CARRY = {"server": np.int32, "arrival": float, "start": float, "departure": float}


def trace_columns(config):
    """Return the kinds of the columns that the record of a log is stored in."""
    chosen = dict.fromkeys((*_SERVER_IF, *_QUEUE_IF), np.int32) if config.columns.choices else {}
    known = {name: kind for name, kind in _KNOWN.items() if getattr(config.columns, name)}
    return _TRACE_COLUMNS | chosen | known


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
    """

    replicate: LogReplicate
    queues: ServerQueues
    servers: list
    arms: tuple
    findings: list = field(default_factory=list)


def normalise(log, config, store):
    """Write the record of a log into a store.

    Parameters
    ----------
    log : queuebench.logs.ingest.RawLog
    config : queuebench.logs.config.LogConfig
    store : queuebench.logs.store.ColumnStore
        With the columns of `trace_columns`.

    Returns
    -------
    Normalised

    Raises
    ------
    LogError
        If the record is empty, has no two arms, or is too long to be sorted.
    """
    span, findings = find_span(log, config)
    maker = _Maker(log, config, span, store)
    for chosen in order.chunks(log.columns, log.sorted, CHUNK):
        maker.add(chosen)
    return maker.finish(findings)


class _Maker:
    """Turns chunk after chunk of a log into a record."""

    def __init__(self, log, config, span, store):
        self._log = log
        self._config = config
        self._span = span
        self._store = store
        self._arms = Arms(log.arms, config)
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
        self._lost_treated = 0
        self._ties = 0
        self._recorded = 0
        self._present = 0
        self._previous = np.nan
        self._last = span.start
        self._blocks = _blocks(config.design)

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
        recorded = columns["arrival"] >= self._span.start
        lengths, start = self._reconstruct(columns, departure, recorded)
        self._remember(columns, start, departure, ~recorded)
        if recorded.any():
            self._write(columns, lengths, recorded, rows)

    def finish(self, findings):
        """Return the record, once all chunks are added."""
        if self._recorded < 2:
            raise LogError(f"the record has {self._recorded} arrivals; at least 2 are needed")
        self._arms.check()
        if self._choices:
            self._choices.check()
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
        return Normalised(replicate, self._queues, self._servers, self._arms.names, found)

    def _kept(self, columns):
        """Return which rows stay: neither repeated, nor lost, nor after the end."""
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
        lost = ~repeated & ~after & np.isnan(response)
        self._lost_treated += int((columns["arm"][lost] == self._arms.treatment).sum())
        for name, wrong in (("duplicates", repeated), ("after", after), ("lost", lost)):
            self._dropped[name] += int(wrong.sum())
        return ~(repeated | after | lost)

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
        self._ties += int((np.diff(arrival, prepend=self._previous) == 0).sum())
        self._previous = self._last = float(arrival[-1])
        treated = self._arms.treated(columns["arm"][recorded], rows[recorded])
        chosen = {}
        if self._choices:
            chosen = {name: columns[name][recorded] for name in _SERVER_IF}
            chosen |= {name: lengths[name][recorded] for name in _QUEUE_IF}
            own = columns["server"][recorded]
            self._choices.compare(own, treated, *(chosen[k] for k in _SERVER_IF), rows[recorded])
        block = np.zeros(len(arrival), np.int32)
        if self._blocks:
            labels = columns["block"][recorded] if "block" in columns else None
            block = self._blocks.number(arrival, treated, rows[recorded], labels)
        if not self._recorded:
            self._present = int(lengths["in_system"][recorded][0])
        self._recorded += len(arrival)
        self._store.append(
            arrival_time=arrival,
            treated=treated,
            server=columns["server"][recorded],
            queue_length=lengths["queue_length"][recorded],
            in_system=lengths["in_system"][recorded],
            response_time=columns["response"][recorded],
            block=block,
            **chosen,
            **{name: columns[name][recorded] for name in _KNOWN if name in columns},
        )

    def _findings(self, carried):
        return [
            *(self._blocks.findings() if self._blocks else []),
            *self._dropped_rows(),
            *self._presence(carried),
            *self._disagreement(),
            *_clock_ties(self._ties, self._recorded),
        ]

    def _dropped_rows(self):
        dropped = self._dropped
        found = dropped_outside(dropped["after"])
        if count := dropped["duplicates"]:
            text = f"{count:,} rows repeat another row in every column; one of each was kept"
            found.append(Finding(DROPPED, "duplicates", count, text))
        if count := dropped["lost"]:
            text = (
                f"{count:,} jobs ({self._lost_treated:,} of them treated) never finished, though they "
                "arrived longer before the log's end than any finished job took; if one arm loses more, "
                "its mean response is not comparable"
            )
            found.append(Finding(DROPPED, "lost_jobs", count, text))
        return found

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


def _blocks(design):
    return Blocks(design.period) if design.kind == "switchback" else None


def _row_numbers(chosen):
    if isinstance(chosen, slice):
        return np.arange(chosen.start + 1, chosen.stop + 1)
    return chosen + 1


def _clock_ties(ties, recorded):
    if not ties:
        return []
    text = (
        f"{ties:,} arrivals ({ties / recorded:.2%}) have the same time as the one before; they are "
        "ordered by their responses"
    )
    return [Finding(NOTE, "clock_ties", ties, text)]
