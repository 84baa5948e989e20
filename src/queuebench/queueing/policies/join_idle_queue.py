"""Join the idle queue: the first idle server of the permutation, else its first entry."""

from queuebench.queueing.policies.capacity import every_server_alone
from queuebench.queueing.policies.registry import register


def _first_idle(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    for i in range(start, start + size):
        candidate = permutation[i]
        if seen[candidate] == 0:
            return candidate
    return permutation[start]


# When no server is idle it routes at random, so the sufficient condition is that of random routing.
register(
    "join_idle_queue",
    samples=lambda size: size,
    capacity=every_server_alone,
    overload_is_certain=False,
)(_first_idle)
