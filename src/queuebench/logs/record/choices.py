"""Queue lengths at both arms' choices, counted from arrivals, servers and departures.

What counts is who has landed at the chosen server and not departed when the decision is made: the jobs
dispatched there that have not departed, less those still on their way. Both are queues in which jobs stay
until a moment known when they are dispatched, so one kind of counter serves for both.
"""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.logs.read.problems import Problems
from queuebench.logs.record.queues import empty_queues, grown, join, leave

_NONE = -1


class Choices:
    """The servers that both arms chose: how long their queues were, and whether they can be right.

    Parameters
    ----------
    servers : int
        Number of servers N.
    travel_time : float
        From dispatch to the server.
    """

    def __init__(self, servers, travel_time):
        self._travel_time = travel_time
        self._dispatched = _Presence(servers)
        self._on_their_way = _Presence(servers) if travel_time > 0.0 else None
        self._problems = Problems()

    def lengths(self, arrival, server, departure, choices):
        """Add consecutive jobs and return the queue lengths at their choices.

        Parameters
        ----------
        arrival, departure : ndarray of float64, shape (m,)
        server : ndarray of int32, shape (m,)
        choices : sequence of two ndarray of int32, shape (m,)
            The control's and the treatment's choice of each job; -1 where unknown.

        Returns
        -------
        tuple of two ndarray of int32, shape (m,)
            Jobs at each choice just before the arrival; 0 where the choice is unknown.
        """
        lengths = self._dispatched.follow(arrival, server, departure, choices)
        if self._on_their_way is not None:
            landing = arrival + self._travel_time
            travelling = self._on_their_way.follow(arrival, server, landing, choices)
            lengths = tuple(all_ - some for all_, some in zip(lengths, travelling, strict=True))
        return lengths

    def compare(self, server, treated, control, treatment, rows):
        """Note the recorded jobs without choices, or that did not go where their own arm chose.

        Parameters
        ----------
        server : ndarray of int32, shape (m,)
        treated : ndarray of bool, shape (m,)
        control, treatment : ndarray of int32, shape (m,)
            The arms' choices.
        rows : ndarray of int64, shape (m,)
            Row numbers.
        """
        for arm, choice, own in (("control", control, ~treated), ("treated", treatment, treated)):
            name = f"server_if_{arm}"
            known = choice >= 0
            self._problems.add(
                ~known, rows, f"{name} is missing; every row of the record needs one"
            )
            self._problems.add(
                known & own & (choice != server), rows,
                f"server is not {name} though that is the job's own arm; put it right, or leave both "
                "arms' choices out of the description",
            )  # fmt: skip

    def check(self):
        """Refuse a record whose choices cannot be right.

        Raises
        ------
        LogError
            With the row numbers.
        """
        self._problems.refuse()


class _Presence:
    """Jobs that were sent to a server and have not left yet."""

    def __init__(self, servers):
        self._queues = empty_queues(servers)

    def follow(self, arrival, server, leaving, choices):
        found = tuple(np.zeros(len(arrival), np.int32) for _ in choices)
        done = 0
        while True:
            q = self._queues
            done = _follow(
                done, arrival, server, leaving, *choices, q.first, q.last, q.root, q.length,
                q.following, q.child, q.leaving, q.free, *found,
            )  # fmt: skip
            if done == len(arrival):
                return found
            self._queues = grown(q)


@kernel
def _follow(
    done, arrival, server, departure, one_choice, other_choice,
    first, last, root, length, following, child, leaving, free, one, other,
):  # fmt: skip
    """Follow jobs from number `done` on; return how many are done when the pool is full."""
    for i in range(done, len(arrival)):
        if free[0] == _NONE:
            return i
        for a in range(2):
            s = other_choice[i] if a else one_choice[i]
            if s >= 0:
                leave(s, arrival[i], first, root, length, following, child, leaving, free)
                if a:
                    other[i] = length[s]
                else:
                    one[i] = length[s]
        s = server[i]
        # Whoever is not looked at is let go here, so that the pool holds present jobs only.
        leave(s, arrival[i], first, root, length, following, child, leaving, free)
        join(s, departure[i], first, last, root, length, following, child, leaving, free)
    return len(arrival)
