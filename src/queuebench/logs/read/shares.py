"""The shares of treated arrivals that a log was run at, from its column or a schedule, and their blocks."""

import numpy as np

from queuebench.logs.errors import LogError, rows_text
from queuebench.logs.read.blocks import Constant
from queuebench.logs.read.clock import moment
from queuebench.logs.read.problems import Problems

MOST_SHARES = 50
MOST_BLOCKS = 1_000_000


class ShareOfRow:
    """Says with which probability the rows of a log were treated.

    Parameters
    ----------
    config : queuebench.logs.read.description.LogConfig
        With a design of shares.
    clock : queuebench.logs.read.clock.Clock
    start : float
        When the record starts, in the log's unit since the clock's origin.

    Raises
    ------
    LogError
        If a moment of the schedule is written otherwise than the log's arrivals, not after the one before, or
        the first one after the record's start.
    """

    def __init__(self, config, clock, start):
        self._starts, self._shares = np.empty(0), np.empty(0)
        if (steps := config.design.schedule) is None:
            return
        unit, into = config.unit("arrival_time"), config.time_unit
        keys = [f"design.schedule.{place}.start" for place in range(len(steps))]
        self._starts = np.array(
            [moment(step.start, clock, unit, into, key) for step, key in zip(steps, keys, strict=True)]
        )  # fmt: skip
        back = np.flatnonzero(self._starts[1:] <= self._starts[:-1])
        if len(back):
            raise LogError(f"{keys[back[0] + 1]}: must be later than the start before it")
        if self._starts[0] > start:
            raise LogError(f"{keys[0]}: must not be after the record's start")
        self._shares = np.array([step.share for step in steps])

    def of(self, columns):
        """Return the shares of some rows.

        Parameters
        ----------
        columns : dict of str to ndarray
            Of a `queuebench.logs.read.ingest.RawLog`: ``arrival`` and, without a schedule, ``share``.

        Returns
        -------
        ndarray of float64
            NaN where the log or the schedule says none.
        """
        if not len(self._starts):
            return columns["share"]
        step = np.searchsorted(self._starts, columns["arrival"], side="right") - 1
        return np.where(step < 0, np.nan, self._shares[step])


class ShareBlocks:
    """Numbers the blocks of a record and looks whether its shares make sense.

    Parameters
    ----------
    period : float or None
        Length of a block, in the log's unit; None where a block is a run of arrivals with one share.
    """

    def __init__(self, period):
        self._period = period
        self._problems = Problems()
        self._within = {"share": Constant(), "block": Constant()}
        self._known = set()
        # Of the last arrival looked at, and of its block's first one.
        self._share, self._block, self._begin = np.nan, -1, -np.inf

    def number(self, arrival, share, treated, rows, labels=None):
        """Return the blocks of consecutive arrivals, 0 where the record starts.

        Parameters
        ----------
        arrival : ndarray of float64
            Since the record's start.
        share : ndarray of float64
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
            If there are more shares or blocks than those of an experiment.
        """
        self._look(share, treated, rows)
        if self._period is None:
            block = self._runs(arrival, share, rows)
        else:
            block = self._periods(arrival)
            self._within["share"].look(block, share, rows)
        if labels is not None:
            self._within["block"].look(block, labels, rows)
        return block

    def check(self):
        """Refuse a record whose shares cannot be right, or are not those of this design.

        Raises
        ------
        LogError
            With the row numbers, where it is about rows.
        """
        self._problems.refuse()
        for name, within in self._within.items():
            if within.differing:
                where = rows_text(within.first, within.differing)
                raise LogError(f"{where}: {name} changes within a block, {self._what_is_a_block()}")
        shares = sorted(self._known)
        if len(shares) < 2:
            raise LogError(
                f"the record was run at one share, {shares[0]:g}; a design of kind shares needs at least two"
            )
        if not any(0.0 < share < 1.0 for share in shares):
            raise LogError(
                "the record was run at the shares 0 and 1 only; a design of kind shares needs one between "
                "them (is it a switchback?)"
            )

    def _what_is_a_block(self):
        if self._period is None:
            return "a run of arrivals with one share; give the design's period"
        return (
            f"{self._period:g} long and counted from the record's start; check the design's period "
            "and start"
        )

    def _look(self, share, treated, rows):
        """Note which shares there are, and those that cannot be."""
        usable = (share >= 0.0) & (share <= 1.0)
        self._problems.add(
            ~usable, rows, "share must be a number from 0 to 1; every row of the record needs one"
        )
        self._problems.add(treated & (share == 0.0), rows, "the arm is treatment at the share 0")
        self._problems.add(~treated & (share == 1.0), rows, "the arm is control at the share 1")
        values, first = np.unique(share[usable], return_index=True)
        for place in np.argsort(first):
            self._known.add(float(values[place]))
            if len(self._known) > MOST_SHARES:
                self._problems.refuse()
                where = rows_text([int(rows[usable][first[place]])])
                raise LogError(
                    f"{where}: share: more than {MOST_SHARES} different values; is it the probability with "
                    "which arrivals of a block were treated?"
                )

    def _periods(self, arrival):
        last = arrival[-1] / self._period
        if last >= MOST_BLOCKS:
            raise LogError(
                f"design.period: {self._period:g} is too short: it makes {last:.3g} blocks of the record; at "
                f"most {MOST_BLOCKS:,} are accepted"
            )
        return np.floor(arrival / self._period).astype(np.int32)

    def _runs(self, arrival, share, rows):
        begins = np.flatnonzero(share != np.append(self._share, share[:-1]))
        moments = np.append(self._begin, arrival[begins])
        twice = np.zeros(len(arrival), bool)
        twice[begins] = moments[1:] == moments[:-1]
        self._problems.add(
            twice, rows,
            "share changes more than once at one time; log finer times, or give the design's period",
        )  # fmt: skip
        block = np.full(len(arrival), self._block, np.int64)
        block += np.bincount(begins, minlength=len(arrival)).cumsum()
        self._share, self._block, self._begin = share[-1], block[-1], moments[-1]
        return block.astype(np.int32)
