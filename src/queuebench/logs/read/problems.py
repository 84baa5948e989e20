"""Rows that make a log impossible to analyse, collected so that a sentence can say how many."""

import numpy as np

from queuebench.logs.errors import SHOWN, LogError, rows_text


class Problems:
    """Kinds of wrong rows, each with its count and first row numbers."""

    def __init__(self):
        self._found = {}

    def add(self, wrong, rows, text):
        """Note the rows of a batch in which something is wrong.

        Parameters
        ----------
        wrong : ndarray of bool
        rows : int or ndarray
            Rows before the batch; or each row's number.
        text : str
            What is wrong and what would be right.
        """
        places = np.flatnonzero(wrong)
        if not len(places):
            return
        known, count = self._found.get(text, ([], 0))
        some = places[:SHOWN]
        numbers = (rows + some + 1) if np.isscalar(rows) else rows[some]
        self._found[text] = (sorted([*known, *map(int, numbers)])[:SHOWN], count + len(places))

    def refuse(self):
        """Raise a `LogError` about the kind that comes first in the log, if there is any."""
        if self._found:
            text, (rows, count) = min(self._found.items(), key=lambda item: item[1][0][0])
            raise LogError(f"{rows_text(rows, count)}: {text}")
