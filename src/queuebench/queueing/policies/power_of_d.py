"""Power of d choices, with random routing (d = 1) and join the shortest queue (d = N) as its ends."""

from queuebench.queueing.policies.capacity import sampled_subsets
from queuebench.queueing.policies.registry import register


def _shortest(permutation, start, size, d, seen, speeds, turn, pool):
    """Return the shortest of the first d sampled queues; ties go to the first in the permutation."""
    best = permutation[start]
    shortest = seen[best]
    for i in range(start + 1, start + d):
        candidate = permutation[i]
        # Selects instead of a branch: which queue is shorter cannot be predicted.
        shorter = seen[candidate] < shortest
        best = candidate if shorter else best
        shortest = seen[candidate] if shorter else shortest
    return best


def _shortest_of_all(permutation, start, size, d, seen, speeds, turn, pool):
    """Return the shortest queue of all; ties go to the first in the permutation."""
    best = permutation[start]
    for i in range(start + 1, start + size):
        candidate = permutation[i]
        if seen[candidate] < seen[best]:
            best = candidate
    return best


register(
    "power_of_d",
    parameters=("d",),
    samples=lambda size, d: d,
    capacity=sampled_subsets,
    evenly_blind=lambda d: d == 1,
)(_shortest)

register(
    "join_shortest_queue",
    samples=lambda size: size,
    capacity=lambda speeds: sampled_subsets(speeds, len(speeds)),
)(_shortest_of_all)
