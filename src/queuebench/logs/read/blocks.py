"""Blocks of a switchback log: numbered by the period, and compared with what the log says."""

import numpy as np

from queuebench.logs.errors import LogError, rows_text
from queuebench.logs.findings import WARNING, Finding


class Blocks:
    """Numbers the blocks of a record and looks at what varies within one.

    Parameters
    ----------
    period : float
        Length of a block, in the log's unit.
    """

    def __init__(self, period):
        self._period = period
        self._arms = Constant()
        self._labels = Constant()

    def number(self, arrival, treated, rows, labels=None):
        """Return the blocks of consecutive arrivals, 0 where the record starts.

        Parameters
        ----------
        arrival : ndarray of float64
            Since the record's start.
        treated : ndarray of bool
        rows : ndarray of int64
            Row numbers.
        labels : ndarray of int32, optional
            The blocks' labels in the log.

        Returns
        -------
        ndarray of int32

        Raises
        ------
        LogError
            If the log's blocks are not those of the period.
        """
        block = np.floor(arrival / self._period).astype(np.int32)
        self._arms.look(block, treated, rows)
        if labels is not None:
            self._labels.look(block, labels, rows)
            if self._labels.differing:
                where = rows_text(self._labels.first, self._labels.differing)
                raise LogError(
                    f"{where}: block changes within a block of {self._period:g} counted from the "
                    "record's start; check the design's period and start"
                )
        return block

    def findings(self):
        """Return a finding if arms are mixed within blocks."""
        if not self._arms.differing:
            return []
        where = rows_text(self._arms.first, self._arms.differing)
        return [
            Finding(
                WARNING, "mixed_blocks", self._arms.differing,
                f"{where}: the arm differs from that of the block's first arrival; in a switchback "
                "design a block has one arm (check the period and where the record starts)",
            )
        ]  # fmt: skip


class Constant:
    """Counts where a value differs from that of its block's first arrival.

    Attributes
    ----------
    differing : int
        Arrivals looked at whose value differs.
    first : list of int
        Row numbers of the first five of them.
    """

    def __init__(self):
        self.differing = 0
        self.first = []
        self._block = None
        self._value = None

    def look(self, block, values, rows):
        """Look at consecutive arrivals: their blocks, values and row numbers."""
        begins = np.flatnonzero(np.diff(block, prepend=block[0] - 1))
        expected = values[begins]
        if block[0] == self._block:
            expected[0] = self._value
        inside = np.diff(begins, append=len(block))
        wrong = np.flatnonzero(np.repeat(expected, inside) != values)
        self.differing += len(wrong)
        self.first = [*self.first, *rows[wrong[:5]].tolist()][:5]
        self._block, self._value = block[-1], expected[-1]
