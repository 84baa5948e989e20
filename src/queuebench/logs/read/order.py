"""The order in which a log's rows are read: by arrival time, whatever the order in the file.

Rows of equal arrival time are put in the order of their responses, then servers, then arms: first come,
first served keeps it, and the result does not depend on the order in the file.
"""

import numpy as np

from queuebench.logs.errors import LogError

SORT_LIMIT = 20_000_000
"""Rows up to which an unsorted log is sorted in memory."""


def chunks(columns, in_order, size):
    """Yield the row indices of a log in order of arrival, cut where the arrival time changes.

    Parameters
    ----------
    columns : dict of str to ndarray
        ``arrival``, ``response``, ``server`` and ``arm``.
    in_order : bool
        Whether arrivals never decrease.
    size : int
        Wanted length of a chunk; longer where many arrivals are simultaneous.

    Yields
    ------
    slice or ndarray of int64
        Indices into the columns.

    Raises
    ------
    LogError
        If the log would have to be sorted and is too long for that.
    """
    arrival = columns["arrival"]
    n = len(arrival)
    order = None if in_order else _sorting(arrival)
    begin = 0
    while begin < n:
        end = _end_of_ties(arrival, order, min(begin + size, n))
        chosen = slice(begin, end) if order is None else order[begin:end]
        yield _break_ties(columns, chosen, begin)
        begin = end


def _sorting(arrival):
    if len(arrival) > SORT_LIMIT:
        where = int(np.argmax(arrival[1:] < arrival[:-1])) + 2
        raise LogError(
            f"row {where} arrives before the row above it, and {len(arrival):,} rows are too many to "
            f"sort (the limit is {SORT_LIMIT:,}); sort the file by arrival time"
        )
    return np.argsort(arrival, kind="stable")


def _end_of_ties(arrival, order, end):
    """Return the first place from `end` on where the arrival time changes."""

    def at(place):
        return arrival[place] if order is None else arrival[order[place]]

    while end < len(arrival) and at(end) == at(end - 1):
        end += 1
    return end


def _break_ties(columns, chosen, begin):
    """Return the indices with simultaneous arrivals in their settled order."""
    arrival = columns["arrival"][chosen]
    same = np.zeros(len(arrival) + 1, bool)
    same[1:-1] = arrival[1:] == arrival[:-1]
    tied = np.flatnonzero(same[1:] | same[:-1])
    if not len(tied):
        return chosen
    indices = np.arange(begin, begin + len(arrival)) if isinstance(chosen, slice) else chosen.copy()
    rows = indices[tied]
    keys = ("arm", "server", "response", "arrival")
    indices[tied] = rows[np.lexsort([columns[key][rows] for key in keys])]
    return indices
