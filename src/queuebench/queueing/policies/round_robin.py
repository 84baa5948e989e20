"""Round robin: one server after the other, whatever the lengths."""

from queuebench.queueing.policies.capacity import every_server_alone
from queuebench.queueing.policies.registry import register


def _next_in_turn(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    return pool[start + turn % size]


register(
    "round_robin",
    samples=lambda size: 0,
    capacity=every_server_alone,
    evenly_blind=lambda: True,
)(_next_in_turn)
