"""Little's law on a record, exact: with the jobs it began with and those it ended with."""

from dataclasses import dataclass

import numpy as np

from queuebench.base.arrow import as_numpy


@dataclass(frozen=True)
class LittlesLaw:
    """How the number in the system and the responses of a record fit together.

    Over a record of length T, the time that all jobs spend in the system within it is the sum of the
    recorded responses, plus the stays within the record of jobs that were there before, minus what
    recorded jobs stay after its end. Divided by T: ``C_q = Lambda * C_w + carried - overhang``.

    Attributes
    ----------
    rate : float
        ``Lambda = n / T``, per time unit.
    mean_response : float
        ``C_w``, in the time unit.
    mean_in_system : float
        ``C_q``, the time average of the number in the system, by adding up stays within the record.
    carried, overhang : float
        The two boundary terms.
    met_by_arrivals : float
        Mean of ``in_system`` over arrivals. Under Poisson arrivals at a constant rate it estimates
        ``C_q`` too; the queue-length cost is built on it.
    """

    rate: float
    mean_response: float
    mean_in_system: float
    carried: float
    overhang: float
    met_by_arrivals: float

    @property
    def product(self):
        """``Lambda * C_w``."""
        return self.rate * self.mean_response

    @property
    def residual(self):
        """What is left of the identity: rounding, and nothing else."""
        return self.mean_in_system - (self.product + self.carried - self.overhang)


def littles_law(replicate) -> LittlesLaw:
    """Return Little's law on a record.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate
        Or `queuebench.logs.record.replicate.LogReplicate`.
    """
    start, end = replicate.record_start, replicate.record_end
    stays = responses = overhang = met = 0.0
    for arrival, response, in_system in replicate.chunks(
        "arrival_time", "response_time", "in_system"
    ):
        departure = arrival + response
        stays += float((np.minimum(departure, end) - arrival).sum())
        overhang += float(np.maximum(departure - end, 0.0).sum())
        responses += float(response.sum())
        met += float(in_system.sum(dtype=np.int64))
    carried = 0.0
    if len(replicate.carry):
        left = as_numpy(replicate.carry.field("departure"))
        carried = float((np.minimum(left, end) - start).sum())
    n, length = replicate.arrivals, end - start
    return LittlesLaw(
        rate=n / length,
        mean_response=responses / n,
        mean_in_system=(stays + carried) / length,
        carried=carried / length,
        overhang=overhang / length,
        met_by_arrivals=met / n,
    )
