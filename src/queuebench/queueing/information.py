"""What the dispatcher sees: the queues as they are, as they were a while ago, or as a board shows them.

The kernel, the states rebuilt from a record and the checks of a log all ask here which moment is seen.
"""

import numpy as np

from queuebench.base.jit import inlined, kernel

FRESH, CONSTANT_AGE, BULLETIN_BOARD = 0, 1, 2

_CODES = {"fresh": FRESH, "constant_age": CONSTANT_AGE, "bulletin_board": BULLETIN_BOARD}


def encode(information, age):
    """Return a kind of information as the kernel's numbers.

    Parameters
    ----------
    information : {"fresh", "constant_age", "bulletin_board"}
    age : float
        Age of what is seen, or refresh period of the board; at 0 every kind is fresh.

    Returns
    -------
    code : int
    age : float
    """
    return (_CODES[information], age) if age > 0.0 else (FRESH, 0.0)


@inlined
def seen_time(t, information, age):
    """Return the moment whose lengths the dispatcher sees at time t, which is never in the future."""
    seen = t
    if information == CONSTANT_AGE:
        seen = t - age
    elif information == BULLETIN_BOARD:
        # Rounding may put the product just above t, where the future lies.
        seen = min(t, age * np.floor(t / age))
    return seen


def seen_times(times, information, age):
    """Return the moments seen at some times, see `seen_time`.

    Parameters
    ----------
    times : ndarray of float64, shape (m,)
    information : int
    age : float

    Returns
    -------
    ndarray of float64, shape (m,)
        A new array.
    """
    times = np.array(times, float)
    _look_back(times, information, age)
    return times


@kernel
def _look_back(times, information, age):
    for i in range(len(times)):
        times[i] = seen_time(times[i], information, age)
