"""Whether the oracle applies to a cell, judged before it is solved."""

from dataclasses import dataclass

from queuebench.oracle.chain import routing_table
from queuebench.oracle.estimands import DEFAULT_TOLERANCE, MAX_STATES, Cell
from queuebench.oracle.reach import TooManyStatesError, memory_gib
from queuebench.oracle.states import full_size

PROBE_STATES = 100_000


@dataclass(frozen=True)
class StateEstimate:
    """Predicted size of the largest state set that a cell needs.

    Attributes
    ----------
    states : int
        Number of states.
    exact : bool
        Whether the number is known: counted for a cut, solved while predicting for a small set.
    memory_gib : float
        Memory that the solution takes, in GiB.
    """

    states: int
    exact: bool

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
        Of the policy that samples fewer servers: its queues are the longest, so its set, not that of
        the other policy or of a mixture, is the largest.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    cell = Cell(servers, load, cut, tolerance, PROBE_STATES)
    tables = [routing_table(servers, d) for d in sorted((d_control, d_treatment))]
    if cut is not None:
        return StateEstimate(full_size(servers, cut), exact=True)
    history = []
    try:
        for stage in cell.stages(tables[0], tolerance / 2):
            history.append(stage)
            if len(history) > 1:
                change = abs(history[-1].mean_response - history[-2].mean_response)
                if change <= tolerance / 2:
                    return StateEstimate(stage.law.size, exact=True)
    except TooManyStatesError as error:
        return StateEstimate(error.states, exact=False)


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
    return estimate.states <= max_states
