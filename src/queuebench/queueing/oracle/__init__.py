"""The exact oracle: effects and estimands of power-of-d dispatch without simulation.

Homogeneous servers, exponential service, Poisson arrivals. `solve` answers for one pair of
policies, `effect_curve` for several treated shares.
"""

from queuebench.queueing.oracle.closed_forms import mm1_response
from queuebench.queueing.oracle.estimands import (
    MixedResult,
    OracleResult,
    PolicyResult,
    effect_curve,
    solve,
)
from queuebench.queueing.oracle.reach import TooManyStatesError
from queuebench.queueing.oracle.refine import NotSolvedError

__all__ = [
    "MixedResult",
    "NotSolvedError",
    "OracleResult",
    "PolicyResult",
    "TooManyStatesError",
    "effect_curve",
    "mm1_response",
    "solve",
]
