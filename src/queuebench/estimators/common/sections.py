"""Sections of a record: the blocks of time in which the treated share was the same.

Under a design of several shares, a section is an experiment at one share whose record has gaps. Each of its
blocks, but the burn-in at its start where the share before it was another, is a stretch: a record of its
own, with the jobs that are in the system when it begins. Sums over stretches are added up, and nothing
follows from one to the next: windows end with their stretch, and traces begin anew.

Batches are whole stretches where a section has enough of them; then the i-th stretches of all sections form
a round, as in a design of balanced cycles. A section of few long stretches (a ramp has one) is cut into
batches within them.
"""

import itertools
import math
from functools import cached_property

import numpy as np

from queuebench.base.arrow import as_numpy
from queuebench.estimators.common.batch_means import BLOCKS, FEWEST_BATCHES, MOST_BATCHES
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import EstimationError
from queuebench.trace import carry_array

_SHORT = 0.5
"""Share of the median block's length below which a block is left out: the record cut it short."""


class Section(Record):
    """The stretches of a record with one treated share, seen as an experiment at that share.

    Parameters
    ----------
    stretches : list of queuebench.trace.Replicate
        Or anything like it; at least one.
    setting : queuebench.estimators.common.setting.Setting
        Of a Bernoulli experiment.
    """

    def __init__(self, stretches, setting):
        super().__init__(_Joined(stretches), setting)
        self._parts = stretches

    @cached_property
    def stretches(self):
        """The stretches as records; costs are those of the section."""
        return [Record(part, self.setting, costs=self.costs) for part in self._parts]

    @cached_property
    def batches(self):
        """Number of batches within each stretch; the same for all estimators."""
        number = len(self._parts)
        if number >= FEWEST_BATCHES:
            return [1] * number
        correlated = max(1, self.setting.horizon_arrivals(self.setting.batch_horizon))
        fewest, most = math.ceil(FEWEST_BATCHES / number), MOST_BATCHES // number
        return [min(most, max(fewest, part.arrivals // (10 * correlated))) for part in self._parts]

    def horizon_arrivals(self, horizon):
        """Return a horizon in mean service times as a number of arrivals L.

        Raises
        ------
        EstimationError
            If the horizon is longer than half of the shortest stretch.
        """
        length = self.setting.horizon_arrivals(horizon)
        shortest = min(part.arrivals for part in self._parts)
        if 2 * length > shortest:
            raise EstimationError(
                f"a horizon of {length} arrivals is longer than half of a block's {shortest} at treated "
                f"share {self.setting.treated_share:.4g}"
            )
        return length

    def add_up(self, make, lost, correlated):
        """Return sums over the stretches, one after the other; see `Record.add_up`."""
        enough = all(
            part.arrivals - lost
            >= batches * max(BLOCKS, correlated if batches == 1 else 3 * correlated)
            for part, batches in zip(self._parts, self.batches, strict=True)
        )
        batches = self.batches if enough else [1] * len(self._parts)
        numbers = range(len(batches))
        made = [make(*one) for one in zip(self.stretches, batches, numbers, strict=True)]
        return tuple(np.concatenate(parts) for parts in zip(*made, strict=True)), enough


class _Joined:
    """Stretches one after the other, for what does not care where one ends."""

    def __init__(self, stretches):
        self.stretches = stretches
        self.arrivals = sum(part.arrivals for part in stretches)
        self.number = stretches[0].number

    def chunks(self, *names):
        """Yield tuples of arrays, one array per column name."""
        for part in self.stretches:
            yield from part.chunks(*names)


def rounds(sections):
    """Return whether the batches of all sections are stretches, so that those of a round belong together."""
    return all(len(section.batches) >= FEWEST_BATCHES for section in sections)


def sections_of(record):
    """Return the sections of a record, by increasing share, once per record.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        With the columns ``block`` and ``share``.

    Returns
    -------
    dict of float to Section

    Raises
    ------
    EstimationError
        If a share has no block that is longer than the burn-in.
    """
    return record.shared("sections", lambda: _cut(record))


def _cut(record):
    replicate, setting = record.replicate, record.setting
    blocks = _long_enough(_blocks(replicate, setting.burn_in))
    found = {}
    for share in setting.shares or sorted({block.share for block in blocks}):
        own = [block for block in blocks if block.share == share]
        if not own:
            raise EstimationError(
                f"no block of treated share {share:.4g} in the record is longer than the burn-in"
            )
        found[share] = own
    carries = _carries(replicate, blocks)
    parts = {
        block.begin: replicate.part(block.begin, block.end, block.start, block.stop, carry)
        for block, carry in zip(blocks, carries, strict=True)
    }
    return {
        share: Section([parts[block.begin] for block in own], setting.at_share(share))
        for share, own in found.items()
    }


class _Block:
    """A block: its share, its arrivals from the end of the burn-in on, and when these start and stop."""

    def __init__(self, share, opened, burn_in):
        self.share = share
        self.opened = opened
        self.start = opened + burn_in
        self.begin = None
        self.end = self.stop = None

    def close(self, end, stop):
        self.end, self.stop = end, stop

    @property
    def arrivals(self):
        return 0 if self.begin is None else self.end - self.begin


def _blocks(replicate, burn_in):
    """Return the blocks of a record, in order; a block opens with its first arrival."""
    found, before, last = [], 0, None
    for arrival, block, share in replicate.chunks("arrival_time", "block", "share"):
        opening = np.flatnonzero(np.diff(block, prepend=block[0] - 1 if last is None else last))
        edges = [*opening, len(block)]
        if found and edges[0] > 0:
            _begin(found[-1], arrival[: edges[0]], before)
        for at, end in itertools.pairwise(edges):
            opened = float(arrival[at]) if found else replicate.record_start
            if found:
                found[-1].close(before + at, opened)
            again = bool(found) and found[-1].share == share[at]
            found.append(_Block(float(share[at]), opened, 0.0 if again else burn_in))
            _begin(found[-1], arrival[at:end], before + at)
        before, last = before + len(block), block[-1]
    found[-1].close(before, replicate.record_end)
    return found


def _begin(block, arrival, before):
    """Note which of consecutive arrivals is the first after the burn-in, if any is and none was before."""
    at = int(np.searchsorted(arrival, block.start))
    if block.begin is None and at < len(arrival):
        block.begin = before + at


def _long_enough(blocks):
    """Leave out blocks without arrivals, and those that are short for their share."""
    usual = {}
    for block in blocks:
        usual.setdefault(block.share, []).append(block.stop - block.start)
    return [
        block for block in blocks
        if block.arrivals > 1 and block.stop - block.start >= _SHORT * np.median(usual[block.share])
    ]  # fmt: skip


def _carries(replicate, blocks):
    """Yield for every block the jobs in the system when its stretch starts."""
    fields = "server", "arrival", "departure"
    present = tuple(as_numpy(replicate.carry.field(name)) for name in fields)
    waiting, before = list(reversed(blocks)), 0
    for arrival, server, response in replicate.chunks("arrival_time", "server", "response_time"):
        jobs, done = (server, arrival, arrival + response), 0
        while waiting and waiting[-1].begin < before + len(arrival):
            block = waiting.pop()
            until = block.begin - before
            present = _staying(present, (column[done:until] for column in jobs), block.start)
            done = until
            yield carry_array(
                dict(zip(fields, present, strict=True))
                | {"start": np.full(len(present[0]), np.nan)}
            )
        present = _staying(present, (column[done:] for column in jobs), arrival[-1])
        before += len(arrival)


def _staying(present, more, time):
    """Return the jobs, of those present and more, that depart after a time."""
    jobs = [np.concatenate(pair) for pair in zip(present, more, strict=True)]
    kept = jobs[2] > time
    return tuple(column[kept] for column in jobs)
