"""Estimators: from a trace to estimates of the global treatment effect.

To add one, write a function in a module of this package, decorate it with `register`, and import the
module here.
"""

from queuebench.estimators import (  # noqa: F401 (importing registers)
    block_jackknife,
    coupled,
    differences_in_means,
    differences_in_q,
    doubly_robust,
    doubly_robust_trace,
    dq_lambda,
    horizon_choice,
    horvitz_thompson,
    lstd,
    lstd_state,
    neighbours,
    off_policy,
    rate_conservation,
    replay,
    switchback,
    switchback_corrected,
)
from queuebench.estimators.registry import (
    Estimate,
    EstimationError,
    all_estimators,
    assuming,
    estimators_for,
    known_estimators,
    register,
)

__all__ = [
    "Estimate",
    "EstimationError",
    "all_estimators",
    "assuming",
    "estimators_for",
    "known_estimators",
    "register",
]
