"""The overloaded loss network as numbers: what every other module takes as its first argument."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class LossNetwork:
    """An overloaded loss network with two classes of jobs.

    Parameters
    ----------
    servers : int
        Number of servers, ``N``.
    high_rate, low_rate : float
        Arrivals of high (``H``) and low (``L``) jobs per server and unit time.
    service_rate : float
        Service rate ``mu`` of a server, the same for both classes.
    high_reward, low_reward : float
        Reward of a job, paid when it is accepted.

    Raises
    ------
    ValueError
        If ``servers < 1``, a rate or reward is not positive, the rewards do not favour ``H``, or
        the network is not overloaded with room for every ``H`` job: ``high_rate < service_rate <
        high_rate + low_rate``. The message states the inequality that fails.
    """

    servers: int
    high_rate: float
    low_rate: float
    service_rate: float
    high_reward: float
    low_reward: float

    def __post_init__(self):
        if self.servers != int(self.servers) or self.servers < 1:
            raise ValueError(f"servers must be an integer with servers >= 1, got {self.servers}")
        for name in ("high_rate", "low_rate", "service_rate", "high_reward", "low_reward"):
            value = getattr(self, name)
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} > 0 must hold and be finite, got {name} = {value}")
        if not self.low_reward < self.high_reward:
            raise ValueError(
                "low_reward < high_reward must hold, "
                f"got low_reward = {self.low_reward} >= {self.high_reward} = high_reward"
            )
        if not self.high_rate < self.service_rate:
            raise ValueError(
                "high_rate < service_rate must hold (every H job fits), "
                f"got high_rate = {self.high_rate} >= {self.service_rate} = service_rate"
            )
        if not self.service_rate < self.high_rate + self.low_rate:
            raise ValueError(
                "service_rate < high_rate + low_rate must hold (overload), got service_rate = "
                f"{self.service_rate} >= {self.high_rate + self.low_rate} = high_rate + low_rate"
            )

    @property
    def event_rate(self):
        """Events (arrivals and service ticks) per unit time, ``N*(lam_H + lam_L + mu)``."""
        return self.servers * (self.high_rate + self.low_rate + self.service_rate)

    @property
    def promised_idle(self):
        """Number idle a promise of future idleness must reach, ``floor(sqrt(N))``."""
        return math.isqrt(self.servers)

    def window(self, multiplier):
        """Lookahead window ``W = c*log(N)/N`` in units of time.

        Parameters
        ----------
        multiplier : float
            The multiplier ``c``; infinity is allowed.

        Raises
        ------
        ValueError
            If ``multiplier <= 0`` or ``servers < 2`` (the window would be zero).
        """
        if not multiplier > 0:
            raise ValueError(f"window multiplier > 0 must hold, got {multiplier}")
        if self.servers < 2:
            raise ValueError(
                f"servers >= 2 must hold for a window c*log(N)/N > 0, got {self.servers}"
            )
        return multiplier * math.log(self.servers) / self.servers


def build_network(settings, servers):
    """Return the network of a study with a number of servers.

    Raises
    ------
    ValueError
        With the inequality that fails.
    """
    return LossNetwork(
        servers,
        settings.high.rate,
        settings.low.rate,
        settings.service_rate,
        settings.high.reward,
        settings.low.reward,
    )
