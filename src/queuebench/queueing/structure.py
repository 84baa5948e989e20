"""How jobs are dispatched and served, as far as one can know it without the laws of what arrives."""

from dataclasses import dataclass

import numpy as np

from queuebench.queueing.information import FRESH, encode, seen_times


@dataclass(frozen=True)
class Structure:
    """A system of parallel servers and two policies, without arrivals and requirements.

    Attributes
    ----------
    speeds : ndarray of float64, shape (N,)
        Service rates.
    policies : tuple of two str
        Registered names of the control's and the treatment's dispatch policy.
    policy_parameters : tuple of two dict
    travel_time : float
        Time from dispatch to the server.
    information : {"fresh", "constant_age", "bulletin_board"}
        What the dispatcher sees.
    age : float
        Age of what it sees, or refresh period of the bulletin board; 0 if fresh.
    """

    speeds: np.ndarray
    policies: tuple[str, str]
    policy_parameters: tuple[dict, dict]
    travel_time: float = 0.0
    information: str = "fresh"
    age: float = 0.0

    @property
    def delayed(self):
        """Whether the dispatcher sees the queues of an earlier time."""
        return encode(self.information, self.age)[0] != FRESH

    @property
    def arms(self):
        """Name and parameters of each arm's policy, the control's first."""
        return tuple(zip(self.policies, self.policy_parameters, strict=True))

    def view(self, time):
        """Return the moments that the dispatcher sees at some times, none of them in the future.

        Parameters
        ----------
        time : ndarray of float64, shape (m,)

        Returns
        -------
        ndarray of float64, shape (m,)
        """
        return seen_times(time, *encode(self.information, self.age))
