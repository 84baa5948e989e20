"""Dispatch policies, one module each; importing this package registers all of them.

To add a policy, add a module that calls `register` and import it here.
"""

from queuebench.queueing.policies import (  # noqa: F401 (importing registers)
    join_idle_queue,
    power_of_d,
    round_robin,
    shortest_expected_delay,
)
from queuebench.queueing.policies.registry import build_chooser, known_policies, policy, register

__all__ = ["choose", "known_policies", "policy", "register"]

choose = build_chooser()
