"""Rate conservation as control variates for mixtures of costs.

For each level k, ``U_k = 1[joined a queue of k] - sum(mu_s of servers with k + 1 jobs) / Lambda`` has
long-run mean zero under every policy if service is exponential: queues pass from k to k + 1 jobs as
often as back. So its own Differences-in-Q estimand is zero, and any multiple of its windowed sums may be
added to a Q value. The estimate is that of ``sum_c w_c Q_c + sum_k b_k Q(U_k)``, with ``sum_c w_c = 1``, w
and b for the least ``mean(z^2 (Q - mean Q)^2)``. Source: Henderson and Glynn, Approximating martingales for
variance reduction in Markov process simulation (2002).

The costs are the fitted and the observed response. The queue-length cost would add nothing: with
exponential service ``sum_k (k + 1) U_k`` is the response cost minus the queue-length cost, so `mixed_dq`
is the special case ``b_k = b (k + 1)``. With both costs and all controls one direction would hardly vary, and
its weight, fitted to noise, would bias the estimate. Levels that are hardly ever reached are left out for
the same reason.

Assumptions: those of the coupled forms, and exponential service.
"""

from queuebench.estimators.common.costs import ASSUMED_BY_FIT, Cost
from queuebench.estimators.common.registry import RANDOMISED, register
from queuebench.estimators.common.weighted_windows import CONTROLS, COSTS, Weighting
from queuebench.estimators.coupled import mixed_estimate

_RESPONSE_COSTS = (Cost.FITTED, Cost.OBSERVED)
_CONTROLS = tuple(range(COSTS, COSTS + CONTROLS))
_ASSUMED = (*RANDOMISED, *ASSUMED_BY_FIT, "exponential")


@register(
    "mixed_dq_controls", design="bernoulli", uses_horizon=True, nanoseconds=200.0, assumes=_ASSUMED
)
def mixed_dq_controls(record, horizon):
    """Response costs with eight controls, over all arrivals."""
    return mixed_estimate(record, horizon, Weighting.ALL, _RESPONSE_COSTS, _CONTROLS)


@register(
    "mixed_dq_coupled_controls",
    design="bernoulli",
    uses_horizon=True,
    needs_choices=True,
    nanoseconds=200.0,
    assumes=_ASSUMED,
)
def mixed_dq_coupled_controls(record, horizon):
    """The same over the arrivals at which the arms choose different servers."""
    return mixed_estimate(record, horizon, Weighting.CHOICE, _RESPONSE_COSTS, _CONTROLS)
