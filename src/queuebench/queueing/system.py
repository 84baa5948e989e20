"""A system of parallel servers with two dispatch policies, as plain numbers."""

from dataclasses import dataclass, field

import numpy as np

from queuebench.queueing.arrivals import PoissonArrivals, SinusoidalArrivals
from queuebench.queueing.dispatch import Rules
from queuebench.queueing.information import FRESH
from queuebench.queueing.policies import policy
from queuebench.queueing.policies.arguments import parameter_row
from queuebench.queueing.policies.registry import code
from queuebench.queueing.replayed import ReplayedArrivals


@dataclass(frozen=True)
class System:
    """What is simulated.

    Attributes
    ----------
    speeds : ndarray of float64, shape (N,)
        Service rates, summing to N.
    rate : float
        Average arrival rate Lambda, per mean service time.
    policies : tuple of two str
        Registered names of the control's and the treatment's dispatch policy.
    policy_parameters : tuple of two dict
    treated_share : float
        Probability of treatment under the Bernoulli design.
    distribution, service_parameters : str, dict
        Law of the service requirements, see `queuebench.queueing.service`.
    amplitude, cycle : float
        Relative amplitude and period of a sinusoidal rate; amplitude 0 is a constant rate.
    travel_time : float
        Time from dispatch to the server.
    information, age : int, float
        What the dispatcher sees, see `queuebench.queueing.information`.
    gaps, sizes : ndarray of float64, shape (n,), optional
        A recorded workload in place of drawn arrivals and requirements, both of mean 1.
    """

    speeds: np.ndarray
    rate: float
    policies: tuple[str, str]
    policy_parameters: tuple[dict, dict]
    treated_share: float = 0.5
    distribution: str = "exponential"
    service_parameters: dict = field(default_factory=dict)
    amplitude: float = 0.0
    cycle: float = 1.0
    travel_time: float = 0.0
    information: int = FRESH
    age: float = 0.0
    gaps: np.ndarray | None = None
    sizes: np.ndarray | None = None

    @property
    def replayed(self):
        """Whether arrivals and requirements come from a recorded workload."""
        return self.gaps is not None

    def arrivals(self, rng, start):
        """Return the arrival process from a time on."""
        if self.replayed:
            return ReplayedArrivals(rng, self.rate, start, self.gaps, self.sizes)
        if self.amplitude:
            return SinusoidalArrivals(rng, self.rate, start, self.amplitude, self.cycle)
        return PoissonArrivals(rng, self.rate, start)

    def rules(self, pools=None):
        """Return the kernel's numbers, for both arms on all servers or each on its own pool.

        Raises
        ------
        ValueError
            If a policy is not known or not given as it is declared, or reads more servers than an arm
            has: the kernel does not check.
        """
        servers = np.arange(len(self.speeds), dtype=np.int32)
        split = pools is not None
        pools = pools if split else (servers, servers)
        sizes = [len(pool) for pool in pools]
        parameters = self.policy_parameters
        rows = tuple(map(parameter_row, self.policies, parameters))
        entries = [policy(name) for name in self.policies]
        samples = [
            entry.samples(size, **given)
            for entry, size, given in zip(entries, sizes, parameters, strict=True)
        ]
        for entry, size, read in zip(entries, sizes, samples, strict=True):
            if not 0 <= read <= size:
                raise ValueError(f"{entry.name} cannot sample {read} of {size} servers")
        return Rules(
            speeds=self.speeds,
            policy=np.array([code(name) for name in self.policies]),
            parameters=rows,
            samples=np.array(samples),
            words=max(samples) + any(entry.randomised for entry in entries),
            pool_start=np.array([0, sizes[0] if split else 0]),
            pool_size=np.array(sizes),
            pool=np.concatenate(pools) if split else servers,
            split=split,
            travel_time=self.travel_time,
            information=self.information,
            age=self.age,
        )

    def warmup(self):
        """Return the default warm-up, in mean service times.

        The largest of 300, ``20 / (1 - load)`` and, with an arm that ignores the queues,
        ``8 / (1 - sqrt(load))**2``, the relaxation of its slowest server's M/M/1 queue.
        """
        load = self.rate / self.speeds.sum()
        times = [300.0, 20.0 / (1.0 - load)]
        for name, given in zip(self.policies, self.policy_parameters, strict=True):
            if policy(name).evenly_blind(**given):
                busiest = self.rate / len(self.speeds) / self.speeds.min()
                times.append(8.0 / (1.0 - busiest**0.5) ** 2)
        return max(times)
