"""Necessary flows: which servers a policy cannot help loading, and how fast those can work.

Each function returns entries ``(servers, share, capacity)``: the `servers` slowest servers receive at least
the `share` of the arrivals and serve at most `capacity` jobs per mean service time, so the policy is
stable only if ``rate * share < capacity``.
"""

from math import comb


def sampled_subsets(speeds, d):
    """Flow to the m slowest servers when the job joins one of d sampled servers.

    All d samples fall among the m slowest with probability ``C(m, d) / C(N, d)``, whatever the queue
    lengths are (Foss and Chernova's condition for equal sampling).
    """
    speeds = sorted(speeds)
    total = comb(len(speeds), d)
    return [(m, comb(m, d) / total, sum(speeds[:m])) for m in range(d, len(speeds) + 1)]


def every_server_alone(speeds):
    """Flow to the slowest server when every server gets the same share of the arrivals."""
    return [(1, 1 / len(speeds), min(speeds)), (len(speeds), 1.0, sum(speeds))]
