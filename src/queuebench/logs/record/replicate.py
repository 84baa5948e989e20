"""The record of a log, in the form that estimators read."""

from dataclasses import dataclass

import pyarrow as pa

CHUNK = 131_072
"""Arrivals handed out at a time."""


@dataclass(frozen=True)
class LogReplicate:
    """A record that came from a log, with the attributes of `queuebench.trace.Replicate`.

    Times are in the log's time unit since the record's start.

    Attributes
    ----------
    number : int
        Always 0.
    arrivals : int
        Recorded arrivals n.
    record_start, record_end : float
    carry : pyarrow.StructArray
        ``server, arrival, start, departure`` of the jobs in the system when the record starts.
    columns : dict of str to ndarray
        Memory-mapped, by the names of a trace: ``arrival_time``, ``treated``, ``server``,
        ``queue_length``, ``in_system``, ``response_time`` and, under switchback and in a design of shares,
        ``block``; in the latter also ``share``, the probability of treatment.
    """

    number: int
    arrivals: int
    record_start: float
    record_end: float
    carry: pa.StructArray
    columns: dict

    def chunks(self, *names):
        """Yield tuples of arrays, one array per column name, some arrivals at a time."""
        for begin in range(0, self.arrivals, CHUNK):
            yield tuple(self.columns[name][begin : begin + CHUNK] for name in names)

    def part(self, begin, end, start, stop, carry):
        """Return consecutive arrivals as a replicate of their own, see `queuebench.trace.Replicate.part`."""
        columns = {name: column[begin:end] for name, column in self.columns.items()}
        return type(self)(self.number, end - begin, start, stop, carry, columns)

    def column(self, name):
        """Return one column as one array."""
        return self.columns[name]
