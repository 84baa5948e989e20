"""Batch means: how a record is cut, and the difference of arm means with its influence per batch.

A record is cut into batches long enough to be nearly independent, and each batch into ten blocks. Sums over
blocks are all that is kept; batch means and kernel estimates of the long-run variance both follow.
"""

from typing import NamedTuple

import numpy as np

from queuebench.base.jit import inlined, kernel

FEWEST_BATCHES = 10
MOST_BATCHES = 100
BLOCKS = 10
"""Blocks per batch."""


class ArmSums(NamedTuple):
    """Sums over consecutive blocks or batches; column 0 control, 1 treatment."""

    count: np.ndarray  # float64 (parts, 2)
    total: np.ndarray  # float64 (parts, 2)

    def batches(self):
        """Return the sums over batches of blocks."""
        return ArmSums(*(merge_blocks(part) for part in self))


def merge_blocks(sums):
    """Add up blocks to batches along the first axis."""
    return sums.reshape(-1, BLOCKS, *sums.shape[1:]).sum(axis=1)


def batch_count(units, correlated):
    """Return into how many batches a record is cut, or 0 if it is too short.

    Batches are ten correlation lengths long where the record allows ten of them, at least three
    otherwise; more than a hundred would gain nothing.

    Parameters
    ----------
    units : int
        Arrivals or window starts.
    correlated : int
        Over how many units they are correlated: the horizon in arrivals.
    """
    batches = min(MOST_BATCHES, max(FEWEST_BATCHES, units // (10 * max(1, correlated))))
    return batches if units // batches >= max(BLOCKS, 3 * correlated) else 0


@inlined
def block_of(unit, batch_length, batches):
    """Return the block a unit belongs to; what is left over joins the last block."""
    batch = min(unit // batch_length, batches - 1)
    inside = (unit - batch * batch_length) * BLOCKS // batch_length
    return batch * BLOCKS + min(inside, BLOCKS - 1)


@inlined
def first_of(block, batch_length, batches):
    """Return the first unit of a block; of the block after the last one, a unit that never comes."""
    first = np.int64(np.iinfo(np.int64).max)
    if block < batches * BLOCKS:
        inside = block % BLOCKS
        first = block // BLOCKS * batch_length + -(-inside * batch_length // BLOCKS)
    return first


def response_sums(replicate, batches) -> ArmSums:
    """Return the sums of observed response times by arm over blocks of consecutive arrivals.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
    batches : int
        At least 1.
    """
    sums = ArmSums(np.zeros((batches * BLOCKS, 2)), np.zeros((batches * BLOCKS, 2)))
    before = 0
    for treated, response in replicate.chunks("treated", "response_time"):
        _add(before, max(1, replicate.arrivals // batches), treated, response, *sums)
        before += len(treated)
    return sums


@kernel
def _add(before, length, treated, values, count, total):
    batches = len(count) // BLOCKS
    block = np.uint64(0)
    edge = before  # where the block has to be looked up again: dividing for every arrival is slow
    for i in range(np.uint64(len(values))):
        if before == edge:
            block = np.uint64(block_of(before, length, batches))
            edge = first_of(np.int64(block) + 1, length, batches)
        arm = np.uint64(treated[i])
        count[block, arm] += 1.0
        total[block, arm] += values[i]
        before += 1


def difference(sums):
    """Return the treated mean minus the control mean."""
    count, total = sums.count.sum(axis=0), sums.total.sum(axis=0)
    return float(total[1] / count[1] - total[0] / count[0])


def influence(sums):
    """Return the influence of every part on `difference`, summed over its units.

    ``psi_i = A_i (x_i - m_1) / s_1 - (1 - A_i) (x_i - m_0) / s_0`` for a unit, where ``m`` and ``s`` are
    an arm's mean and share of the units.

    Returns
    -------
    ndarray of float64, shape (parts,)
    """
    count, total = sums.count.sum(axis=0), sums.total.sum(axis=0)
    centred = (sums.total - sums.count * (total / count)) / (count / count.sum())
    return centred[:, 1] - centred[:, 0]
