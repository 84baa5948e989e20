"""Power of d choices, with random routing (d = 1) and join the shortest queue (d = N) as its ends."""

import numpy as np

from queuebench.queueing.policies.capacity import sampled_subsets
from queuebench.queueing.policies.registry import SAMPLES, register


def _shortest(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    """Return the shortest of the first d sampled queues; ties go to the first in the permutation."""
    best = permutation[start]
    shortest = seen[best]
    for i in range(start + 1, start + np.int64(parameters[0])):
        candidate = permutation[i]
        # Selects instead of a branch: which queue is shorter cannot be predicted.
        shorter = seen[candidate] < shortest
        best = candidate if shorter else best
        shortest = seen[candidate] if shorter else shortest
    return best


def _shortest_of_all(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    """Return the shortest queue of all; ties go to the first in the permutation."""
    best = permutation[start]
    for i in range(start + 1, start + size):
        candidate = permutation[i]
        if seen[candidate] < seen[best]:
            best = candidate
    return best


register(
    "power_of_d",
    parameters=(SAMPLES,),
    samples=lambda size, d: d,
    capacity=sampled_subsets,
    evenly_blind=lambda d: d == 1,
    joins_shortest=True,
)(_shortest)

register(
    "join_shortest_queue",
    samples=lambda size: size,
    capacity=lambda speeds: sampled_subsets(speeds, len(speeds)),
    joins_shortest=True,
)(_shortest_of_all)
