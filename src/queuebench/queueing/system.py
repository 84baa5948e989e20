"""A system of parallel servers with two dispatch policies, as plain numbers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from queuebench.queueing.arrivals import PoissonArrivals, RecordedArrivals, SinusoidalArrivals
from queuebench.queueing.dispatch import Rules
from queuebench.queueing.information import encode
from queuebench.queueing.policies import policy
from queuebench.queueing.policies.arguments import parameter_row
from queuebench.queueing.policies.registry import code
from queuebench.queueing.structure import Structure


@dataclass(frozen=True)
class System:
    """What is simulated.

    Attributes
    ----------
    structure : Structure
        Servers and policies; the speeds sum to N.
    rate : float
        Average arrival rate Lambda, per mean service time.
    treated_share : float
        Probability of treatment under the Bernoulli design.
    distribution, service_parameters : str, dict
        Law of the service requirements, see `queuebench.queueing.service`.
    amplitude, cycle : float
        Relative amplitude and period of a sinusoidal rate; amplitude 0 is a constant rate.
    process : Callable, optional
        An arrival process from outside, called with a stream, the rate and a time from which on.
    gaps, sizes : ndarray of float64, shape (n,), optional
        A recorded workload in place of drawn arrivals and requirements, both of mean 1.
    """

    structure: Structure
    rate: float
    treated_share: float = 0.5
    distribution: str = "exponential"
    service_parameters: dict = field(default_factory=dict)
    amplitude: float = 0.0
    cycle: float = 1.0
    process: Callable | None = None
    gaps: np.ndarray | None = None
    sizes: np.ndarray | None = None

    @property
    def speeds(self):
        """Service rates, shape (N,)."""
        return self.structure.speeds

    @property
    def recorded(self):
        """Whether arrivals and requirements come from a recorded workload."""
        return self.gaps is not None

    @property
    def poisson(self):
        """Whether arrivals are Poisson, so that they see time averages at the rate's phase."""
        return not self.recorded and self.process is None

    def arrivals(self, rng, start):
        """Return the arrival process from a time on."""
        if self.recorded:
            return RecordedArrivals(rng, self.rate, start, self.gaps, self.sizes)
        if self.process is not None:
            return self.process(rng, self.rate, start)
        if self.amplitude:
            return SinusoidalArrivals(rng, self.rate, start, self.amplitude, self.cycle)
        return PoissonArrivals(rng, self.rate, start)

    def warmup(self):
        """Return the default warm-up, in mean service times.

        The largest of 300, ``20 / (1 - load)`` and, with an arm that ignores the queues,
        ``8 / (1 - sqrt(load))**2``, the relaxation of its slowest server's M/M/1 queue.
        """
        load = self.rate / self.speeds.sum()
        times = [300.0, 20.0 / (1.0 - load)]
        for name, given in self.structure.arms:
            if policy(name).evenly_blind(**given):
                busiest = self.rate / len(self.speeds) / self.speeds.min()
                times.append(8.0 / (1.0 - busiest**0.5) ** 2)
        return max(times)


def dispatch_rules(structure: Structure, pools=None) -> Rules:
    """Return the kernel's numbers, for both arms on all servers or each on its own pool.

    Raises
    ------
    ValueError
        If a policy is not known or not given as it is declared, or reads more servers than an arm
        has: the kernel does not check.
    """
    servers = np.arange(len(structure.speeds), dtype=np.int32)
    split = pools is not None
    pools = pools if split else (servers, servers)
    sizes = [len(pool) for pool in pools]
    parameters = structure.policy_parameters
    information, age = encode(structure.information, structure.age)
    rows = tuple(map(parameter_row, structure.policies, parameters))
    entries = [policy(name) for name in structure.policies]
    samples = [
        entry.samples(size, **given)
        for entry, size, given in zip(entries, sizes, parameters, strict=True)
    ]
    for entry, size, read in zip(entries, sizes, samples, strict=True):
        if not 0 <= read <= size:
            raise ValueError(f"{entry.name} cannot sample {read} of {size} servers")
    return Rules(
        speeds=structure.speeds,
        policy=np.array([code(name) for name in structure.policies]),
        parameters=rows,
        samples=np.array(samples),
        words=max(samples) + any(entry.randomised for entry in entries),
        pool_start=np.array([0, sizes[0] if split else 0]),
        pool_size=np.array(sizes),
        pool=np.concatenate(pools) if split else servers,
        split=split,
        travel_time=structure.travel_time,
        information=information,
        age=age,
    )
