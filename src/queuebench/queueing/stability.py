"""Whether a dispatch policy keeps every queue finite, decided before anything is simulated."""

from dataclasses import dataclass

import numpy as np

from queuebench.queueing.policies import policy


@dataclass(frozen=True)
class Overload:
    """Servers that receive more than they can serve.

    Attributes
    ----------
    servers : int
        How many of the slowest servers.
    flow, capacity : float
        Jobs per mean service time that must reach them, and that they can serve.
    """

    servers: int
    flow: float
    capacity: float

    def __str__(self):
        of = "the slowest server" if self.servers == 1 else f"the {self.servers} slowest servers"
        verb = "receives" if self.servers == 1 else "receive"
        serves = "serves" if self.servers == 1 else "serve"
        return (
            f"{of} {verb} at least {self.flow:.4g} jobs per mean service time and {serves} only "
            f"{self.capacity:.4g}"
        )


def find_overload(speeds, rate, name, parameters) -> Overload | None:
    """Return the first set of servers that a policy overloads, or None if it is stable.

    Parameters
    ----------
    speeds : ndarray of float64, shape (N,)
    rate : float
        Arrivals per mean service time.
    name, parameters : str, dict
        The dispatch policy.
    """
    for servers, share, capacity in policy(name).capacity(list(speeds), **parameters):
        if rate * share >= capacity * (1.0 - 1e-12):
            return Overload(servers, rate * share, capacity)
    return None


def extreme_halves(speeds):
    """Return the slowest and the fastest half a random split within speed classes can produce."""
    order = np.sort(speeds)
    slow, fast, leftover = [], [], []
    for speed in np.unique(order):
        members = order[order == speed]
        half = len(members) // 2
        slow.extend(members[:half])
        fast.extend(members[:half])
        leftover.extend(members[2 * half :])
    slow.extend(leftover[0::2])
    fast.extend(leftover[1::2])
    return np.array(slow), np.array(fast)
