"""Shortest expected delay over d samples: the least ``(length + 1) / speed``."""

from queuebench.queueing.policies.capacity import sampled_subsets
from queuebench.queueing.policies.registry import register


def _least_delay(permutation, start, size, d, seen, speeds, turn, pool):
    best = permutation[start]
    least = (seen[best] + 1) / speeds[best]
    for i in range(start + 1, start + d):
        candidate = permutation[i]
        delay = (seen[candidate] + 1) / speeds[candidate]
        if delay < least:
            best = candidate
            least = delay
    return best


register(
    "shortest_expected_delay",
    parameters=("d",),
    samples=lambda size, d: d,
    capacity=sampled_subsets,
    evenly_blind=lambda d: d == 1,
)(_least_delay)
