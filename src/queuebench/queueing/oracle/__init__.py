"""The exact oracle: effects and estimands of power-of-d dispatch without simulation.

Homogeneous servers, exponential service, Poisson arrivals. `solve` answers for one pair of
policies, `effect_curve` for several treated shares; `applies` says beforehand whether the state
set is small enough.
"""

from queuebench.queueing.oracle.closed_forms import (
    large_system_response,
    large_system_tail,
    mm1_response,
)
from queuebench.queueing.oracle.estimands import (
    MixedResult,
    OracleResult,
    PolicyResult,
    effect_curve,
    solve,
)
from queuebench.queueing.oracle.feasibility import StateEstimate, applies, estimate_states
from queuebench.queueing.oracle.reach import TooManyStatesError
from queuebench.queueing.oracle.refine import NotSolvedError

__all__ = [
    "MixedResult",
    "NotSolvedError",
    "OracleResult",
    "PolicyResult",
    "StateEstimate",
    "TooManyStatesError",
    "applies",
    "effect_curve",
    "estimate_states",
    "large_system_response",
    "large_system_tail",
    "mm1_response",
    "solve",
]
