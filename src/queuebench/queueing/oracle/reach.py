"""How many states a solution takes, and what to say when they are too many."""

from math import ceil, exp, log

# Measured at the peak of a solution whose states have some seven different queue lengths each.
BYTES_PER_STATE = 400
LOG_LIMIT = 40.0


class TooManyStatesError(ValueError):
    """The states needed are more than the states allowed.

    Parameters
    ----------
    states : int
        States needed.
    max_states : int
        States allowed.
    at_least : bool
        Whether ``states`` is only a lower bound.
    """

    def __init__(self, states, max_states, *, at_least=False):
        self.states, self.max_states, self.at_least = states, max_states, at_least
        bound = "at least " if at_least else "about "
        super().__init__(
            f"the exact solution needs {bound}{states:,} states and {bound}"
            f"{memory_gib(states):.1f} GiB of memory, more than max_states={max_states:,} "
            f"({memory_gib(max_states):.1f} GiB); allow more states, ask for a larger tolerance "
            "or a smaller cut, or simulate"
        )


def memory_gib(states):
    """Return the memory that a solution on this many states takes, in GiB."""
    return states * BYTES_PER_STATE / 2**30


def extrapolate_states(history, tolerance) -> int:
    """Predict the size of the adapted set that meets a tolerance from the sets solved so far.

    The number of vectors more probable than a threshold grows like a power of its logarithm. From
    stage to stage, the change of the result and the share of events that would leave the set both
    shrink geometrically; the larger of the two has to fall below the tolerance.

    Parameters
    ----------
    history : list of tuple (threshold, states, mean response, mass at the cut)
        The stages so far, at least three, their thresholds falling by a constant factor.
    tolerance : float
        Largest change wanted in the mean response.
    """
    (_, _, first, _), (eps1, size1, second, mass1), (eps2, size2, third, mass2) = history[-3:]
    error = max(abs(third - second), mass2)
    shrink = error / max(abs(second - first), mass1)
    more = max(1, ceil(log(tolerance / error) / log(min(max(shrink, 0.01), 0.95))))
    power = log(size2 / size1) / log(log(eps2) / log(eps1))
    growth = power * log(1 + more * log(eps2 / eps1) / log(eps2))
    return round(size2 * exp(min(growth, LOG_LIMIT)))
