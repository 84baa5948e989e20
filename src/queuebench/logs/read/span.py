"""Where a record begins and ends within its log, and which unfinished jobs decide that."""

from dataclasses import dataclass

import numpy as np

from queuebench.logs.errors import LogError
from queuebench.logs.findings import DROPPED, WARNING, Finding
from queuebench.logs.read.clock import moment


@dataclass(frozen=True)
class Span:
    """The part of a log that is the record, in the log's unit since the clock's origin.

    Attributes
    ----------
    start : float
        Arrivals from here on are recorded; earlier jobs only tell who is present.
    stated : bool
        Whether the description says where the record starts.
    end : float
        Arrivals up to here, itself included, are recorded.
    closed : bool
        Whether the record lasts until `end`; else it ends with its last arrival.
    age : float
        An unfinished job that arrived longer than this before the log ends is lost.
    last : float
        When the log ends.
    """

    start: float
    stated: bool
    end: float
    closed: bool
    age: float
    last: float

    def lost(self, arrival, response):
        """Return which jobs never finished although they had the time."""
        return np.isnan(response) & (self.last - arrival > self.age)


def find_span(log, config, treatment):
    """Return the span of a log's record and what was found about it.

    Jobs that were still in the system when the log ends have no response. To leave them out would favour
    short responses, so the record ends before the first of them arrives. A job that has been unfinished
    for longer than any finished job took is lost, not slow, and does not end the record.

    Parameters
    ----------
    log : queuebench.logs.read.ingest.RawLog
    config : queuebench.logs.read.description.LogConfig
    treatment : int
        Number of the treatment's label.

    Returns
    -------
    span : Span
    findings : list of Finding

    Raises
    ------
    LogError
        If no job is finished or the record is empty.
    """
    arrival = log.columns["arrival"]
    if not np.isfinite(log.longest):
        raise LogError("no job of the log is finished")
    first, last_arrival = _ends(arrival, log.sorted)
    if first == last_arrival:
        raise LogError(
            "all arrivals are at the same time; is that column a date, or a coarse clock?"
        )
    start = _stated(config, log.clock, "start")
    if start is None:
        start = first + config.lead_in
    end = _stated(config, log.clock, "end")
    closed = end is not None
    end = end if closed else last_arrival
    if start >= end:
        raise LogError("the record is empty: its start is not before its end; check start and end")
    if start > last_arrival or end < first:
        raise LogError("the record is empty: no arrival lies between start and end")
    stated = config.start is not None or config.lead_in > 0
    span = Span(start, stated, end, closed, log.longest, log.last)
    waiting = _still_waiting(log.columns, span)
    if not len(waiting):
        return span, []
    cut = arrival[waiting].min()
    of_treatment = int((log.columns["arm"][waiting] == treatment).sum())
    if cut <= start:
        raise LogError("a job that arrived when the record starts is still unfinished at its end")
    return Span(start, stated, np.nextafter(cut, -np.inf), False, log.longest, log.last), [
        Finding(
            WARNING, "unfinished_jobs", len(waiting),
            f"{len(waiting):,} jobs ({of_treatment:,} treated, {len(waiting) - of_treatment:,} others) were "
            "unfinished when the log ended; the record stops before the first of them arrives, so that no "
            "long response is left out",
        )
    ]  # fmt: skip


def dropped_outside(count):
    """Return the findings about rows outside the record."""
    if not count:
        return []
    return [
        Finding(DROPPED, "after_the_end", count, f"{count:,} rows arrive after the record ends")
    ]


def _stated(config, clock, key):
    value = getattr(config, key)
    if value is None:
        return None
    return moment(value, clock, config.unit("arrival_time"), config.time_unit, key)


def _ends(arrival, in_order):
    if in_order:
        return float(arrival[0]), float(arrival[-1])
    return float(arrival.min()), float(arrival.max())


def _still_waiting(columns, span, size=2**20):
    """Return the numbers of the recorded jobs that were in the system when the log ended."""
    arrival, response = columns["arrival"], columns["response"]
    found = [np.empty(0, np.int64)]
    for begin in range(0, len(arrival), size):
        part = slice(begin, begin + size)
        times = arrival[part]
        open_ = np.isnan(response[part])
        if "failed" in columns:
            open_ &= ~columns["failed"][part]
        if open_.any():
            open_ &= ~span.lost(times, response[part])
            open_ &= (times >= span.start) & (times <= span.end)
            found.append(begin + np.flatnonzero(open_))
    return np.concatenate(found)
