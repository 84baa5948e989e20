"""Shortest expected delay over d samples: the least ``(length + 1) / speed``."""

import numpy as np

from queuebench.queueing.policies.capacity import sampled_subsets
from queuebench.queueing.policies.registry import SAMPLES, register


def _least_delay(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    best = permutation[start]
    least = (seen[best] + 1) / speeds[best]
    for i in range(start + 1, start + np.int64(parameters[0])):
        candidate = permutation[i]
        delay = (seen[candidate] + 1) / speeds[candidate]
        if delay < least:
            best = candidate
            least = delay
    return best


register(
    "shortest_expected_delay",
    parameters=(SAMPLES,),
    samples=lambda size, d: d,
    capacity=sampled_subsets,
    evenly_blind=lambda d: d == 1,
)(_least_delay)
