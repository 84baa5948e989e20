"""Whether the oracle applies to a cell, judged before it is solved."""

from dataclasses import dataclass

from queuebench.oracle.chain import routing_table
from queuebench.oracle.estimands import DEFAULT_TOLERANCE, MAX_STATES, Cell
from queuebench.oracle.reach import TooManyStatesError, memory_gib
from queuebench.oracle.refine import refine
from queuebench.oracle.states import full_size

PROBE_STATES = 100_000


@dataclass(frozen=True)
class StateEstimate:
    """Predicted size of the largest state set that a cell needs.

    Attributes
    ----------
    states : int
        Number of states.
    kind : str
        ``"exact"`` if counted (a cut, or a set small enough to be solved while predicting),
        ``"predicted"`` or ``"at least"``.
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
    servers, load, d_control, d_treatment, *, cut=None, tolerance=DEFAULT_TOLERANCE
):
    """Predict how many states `solve` needs, from sets small enough to be solved in seconds.

    Parameters
    ----------
    servers, load, d_control, d_treatment, cut, tolerance
        As in `solve`.

    Returns
    -------
    StateEstimate
        Of the policy that samples fewer servers: its queues are the longest, so its set, not that
        of the other policy or of a mixture, is the largest.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    cell = Cell(servers, load, cut, tolerance, PROBE_STATES)
    table, _ = (routing_table(servers, d) for d in sorted((d_control, d_treatment)))
    if cut is not None:
        return StateEstimate(full_size(servers, cut), "exact")
    try:
        refined = refine(
            cell.stages(table, tolerance / 2), lambda stage: [stage.mean_response], tolerance / 2
        )
    except TooManyStatesError as error:
        return StateEstimate(error.states, "at least" if error.at_least else "predicted")
    return StateEstimate(refined.stage.law.size, "exact")


def applies(
    servers,
    load,
    d_control,
    d_treatment,
    *,
    cut=None,
    tolerance=DEFAULT_TOLERANCE,
    max_states=MAX_STATES,
):
    """Say whether `solve` is predicted to stay within ``max_states``.

    A set that outgrows the probe before it tells anything about its growth counts as too large.

    Parameters
    ----------
    servers, load, d_control, d_treatment, cut, tolerance, max_states
        As in `solve`.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    estimate = estimate_states(servers, load, d_control, d_treatment, cut=cut, tolerance=tolerance)
    return estimate.kind != "at least" and estimate.states <= max_states
