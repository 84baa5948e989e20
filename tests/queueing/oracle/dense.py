"""The ordered queue-length chain solved by dense linear algebra: plain, slow and independent.

States are vectors of queue lengths, one per server; dispatch is written out permutation by
permutation. Nothing here is shared with the package.
"""

from itertools import permutations, product

import numpy as np


class DenseChain:
    """Mixture of two power-of-d policies on all queue lengths up to ``cut``."""

    def __init__(self, servers, load, d_control, d_treatment, share, cut):
        self.servers, self.cut, self.rate = servers, cut, servers * load
        self.states = list(product(range(cut + 1), repeat=servers))
        self.index = {q: i for i, q in enumerate(self.states)}
        self.control, self.response_control = self._routing(d_control)
        self.treatment, self.response_treatment = self._routing(d_treatment)
        self.routing = share * self.treatment + (1 - share) * self.control
        self.response = share * self.response_treatment + (1 - share) * self.response_control
        self.departures = self._departures()
        self.jobs = np.array([sum(q) for q in self.states], float)
        identity = np.eye(len(self.states))
        self.generator = self.rate * (self.routing - identity) + self.departures
        self.law = self._stationary()

    def _choices(self, q, d):
        """Yield the server that each permutation leads to."""
        for order in permutations(range(self.servers)):
            yield min(order[:d], key=lambda s: q[s])  # min keeps the first of equals

    def _routing(self, d):
        matrix = np.zeros((len(self.states),) * 2)
        response = np.zeros(len(self.states))
        for i, q in enumerate(self.states):
            chosen = list(self._choices(q, d))
            for s in chosen:
                after = list(q)
                after[s] = min(after[s] + 1, self.cut)
                matrix[i, self.index[tuple(after)]] += 1 / len(chosen)
                response[i] += (q[s] + 1) / len(chosen)
        return matrix, response

    def _departures(self):
        matrix = np.zeros((len(self.states),) * 2)
        for i, q in enumerate(self.states):
            for s in range(self.servers):
                if q[s] > 0:
                    after = list(q)
                    after[s] -= 1
                    matrix[i, self.index[tuple(after)]] += 1
                    matrix[i, i] -= 1
        return matrix

    def _stationary(self):
        system = self.generator.T.copy()
        system[0] = 1
        return np.linalg.solve(system, np.eye(len(self.states))[0])

    @property
    def c_w(self):
        return self.law @ self.jobs / self.rate

    @property
    def naive(self):
        return self.law @ (self.response_treatment - self.response_control)

    @property
    def dq(self):
        system = self.generator.copy()
        cost = self.law @ self.jobs - self.jobs
        system[:, 0] = 0
        system[0, 0] = 1  # V(empty) = 0; the first equation follows from the others
        cost[0] = 0
        values = np.linalg.solve(system, cost)
        return self.law @ (self.treatment - self.control) @ values

    def truncated(self, horizon):
        """Return both costs' differences, summing over the arrivals ``0..horizon``."""
        until_next = self.rate * np.linalg.inv(
            self.rate * np.eye(len(self.states)) - self.departures
        )
        seen = self.law @ (self.treatment - self.control) @ until_next
        queue, response = 0.0, self.naive
        for _ in range(horizon):
            queue += seen @ self.jobs / self.rate
            response += seen @ self.response
            seen = seen @ self.routing @ until_next
        return queue, response
