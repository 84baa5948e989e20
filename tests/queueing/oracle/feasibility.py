"""Whether the oracle applies to a cell, judged before it is solved."""

from dataclasses import dataclass

from queuebench.queueing.oracle.chain import routing_table
from queuebench.queueing.oracle.estimands import DEFAULT_TOLERANCE, MAX_STATES, Cell
from queuebench.queueing.oracle.reach import TooManyStatesError, memory_gib
from queuebench.queueing.oracle.refine import mean_response, refine
from queuebench.queueing.oracle.states import full_size

PROBE_STATES = 200_000
# Near the tolerance, DQ's error is about this many times that of the mean response time.
DQ_SENSITIVITY = 10


@dataclass(frozen=True)
class StateEstimate:
    """Predicted size of the largest state set that a cell needs.

    Attributes
    ----------
    states : int
        Number of states.
    kind : str
        ``"exact"`` if counted (a cut, or a set small enough to be solved while predicting),
        ``"predicted"``, or ``"at least"`` where the probe says no more.
    memory_gib : float
        Memory that the solution takes, in GiB.
    """

    states: int
    kind: str

    @property
    def memory_gib(self):
        """Memory that the solution takes, in GiB."""
        return memory_gib(self.states)


def estimate_states(
    servers,
    load,
    d_control,
    d_treatment,
    treated_share=0.5,
    *,
    cut=None,
    tolerance=DEFAULT_TOLERANCE,
):
    """Predict how many states `solve` needs, from sets small enough to be solved in seconds.

    The fewer servers a policy samples, the longer its queues and the larger its set. So the policy
    that samples fewer decides, unless that one is random routing: then the mixture does.

    Parameters
    ----------
    servers, load, d_control, d_treatment, treated_share, cut, tolerance
        As in `solve`.

    Returns
    -------
    StateEstimate
        Of the largest set.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    cell = Cell(servers, load, cut, tolerance, PROBE_STATES)
    control, treatment = (routing_table(servers, d) for d in (d_control, d_treatment))
    if cut is not None:
        return StateEstimate(full_size(servers, cut), "exact")
    table, wanted = control if d_control <= d_treatment else treatment, tolerance / 2
    if min(d_control, d_treatment) == 1:
        table = treated_share * treatment + (1 - treated_share) * control
        wanted = tolerance / DQ_SENSITIVITY
    try:
        refined = refine(cell.stages(table, wanted), mean_response, wanted)
    except TooManyStatesError as error:
        return StateEstimate(error.states, "at least" if error.at_least else "predicted")
    return StateEstimate(refined.stage.law.size, "exact")


def applies(
    servers,
    load,
    d_control,
    d_treatment,
    treated_share=0.5,
    *,
    cut=None,
    tolerance=DEFAULT_TOLERANCE,
    max_states=MAX_STATES,
):
    """Say whether `solve` is predicted to stay within ``max_states``.

    A set that outgrows the probe before it tells anything about its growth counts as too large.

    Parameters
    ----------
    servers, load, d_control, d_treatment, treated_share, cut, tolerance, max_states
        As in `solve`.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    estimate = estimate_states(
        servers, load, d_control, d_treatment, treated_share, cut=cut, tolerance=tolerance
    )
    return estimate.kind != "at least" and estimate.states <= max_states
