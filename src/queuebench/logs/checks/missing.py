"""Rows that may be missing from a record: what they could do, and the traces they leave."""

import math
from typing import NamedTuple

import numpy as np

from queuebench.logs.findings import EVERY, WARNING, Finding
from queuebench.logs.record.replicate import LogReplicate

_MOST = 4_000_000
"""Responses that are looked at; of more, every second, third and so on."""

_TAILS = (0.01, 0.05, 0.1)
"""Shares of the responses that are looked at as tails."""
_APART = 50
"""Arrivals between two long responses that are not of one cluster."""
_FEWEST = 1000
_PER_LEVEL = 30
"""Long responses of jobs that met as many others, from which their edge is read. Of thirty values that are
uniform up to an edge the largest is nearly always within a tenth of their range, `_SAME_EDGE` of the mean
excess."""
_SAME_EDGE = 0.2
LEVEL = 1e-3
"""Probability of the finding where the tail is exponential and clusters are independent."""


class Bounds(NamedTuple):
    """What missing rows of one arm could have done to the difference between the arms.

    Attributes
    ----------
    low, high : float
        Least and most by which the difference is wrong.
    naive, error : float
        The difference, and its standard error if responses were independent.
    """

    low: float
    high: float
    naive: float
    error: float


def trimming_bounds(replicate, fuller, missing) -> Bounds:
    """Bound what missing rows did to the arms' difference, by trimming the arm that has all of its rows.

    If the missing rows of one arm were its longest, the other arm without its longest as many is what it
    is to be compared with; likewise the shortest. Source: Lee, Training, wages, and sample selection (2009).

    Parameters
    ----------
    replicate : queuebench.logs.record.replicate.LogReplicate
    fuller : bool
        Whether the treated arm is the one with all rows.
    missing : float
        Share of the other arm's rows that is missing.
    """
    arms = responses(replicate)
    naive = arms[1].mean() - arms[0].mean()
    error = math.sqrt(sum(arm.var() / len(arm) for arm in arms))
    whole = arms[int(fuller)]
    trimmed = round(missing * len(whole))
    ordered = np.sort(whole)
    shifts = [
        whole.mean() - ordered[: len(whole) - trimmed].mean(),
        whole.mean() - ordered[trimmed:].mean(),
    ]
    signed = [shift if fuller else -shift for shift in shifts]
    return Bounds(min(signed), max(signed), float(naive), float(error))


def check_tails(replicate: LogReplicate) -> list[Finding]:
    """Look for responses that end as if longer ones had been left out.

    Above a high quantile u the tails of responses fall like an exponential or more slowly: of r clusters of
    long responses the largest excess over u is below c mean excesses with probability ``(1 - exp(-c))^r`` or
    less. If the longest are missing, excesses are nearly uniform up to a sharp edge, and the largest is
    little more than twice their mean. Clusters are `_APART` arrivals apart, for long responses come together
    (the runs method of extreme-value theory, Smith and Weissman 1994). Where service is bounded, responses of
    jobs that met k others may end sharply too, but at another place for every k; only one edge for all
    of them is taken as rows left out.
    """
    every = -(-replicate.arrivals // _MOST)
    response, treated, met = (
        np.asarray(replicate.column(name)[::every])
        for name in ("response_time", "treated", "queue_length")
    )
    for which, chosen in (("", slice(None)), ("treated ", treated), ("control ", ~treated)):
        edge = _sharp_edge(response[chosen])
        shared = None if edge is None else _shared(edge, response[chosen], met[chosen])
        if edge is not None and shared is not False:
            return [_cut_off(which, edge, shared)]
    return []


def _cut_off(which, edge, shared):
    text = (
        f"the {edge.count:,} longest {which}responses end at {edge.longest:.4g} as if longer ones had been "
        f"left out: they exceed {edge.above:.4g} by {edge.mean:.3g} on average and by at most "
        f"{edge.ratio:.2g} times that (p = {edge.p_value:.1g} where tails fall no faster than an exponential)"
    )
    if shared:
        text += (
            ", however many jobs they met; without the longest jobs every estimate is biased, and so are "
            "the queues counted"
        )
        return Finding(WARNING, "tail_cut_off", edge.count, text, EVERY)
    text += "; or is service bounded?"
    return Finding(WARNING, "tail_cut_off", edge.count, text)


class _Edge(NamedTuple):
    count: int
    above: float
    longest: float
    mean: float
    ratio: float
    p_value: float


def _sharp_edge(response):
    if len(response) < _FEWEST:
        return None
    for share in _TAILS:
        above = float(np.quantile(response, 1 - share))
        where = np.flatnonzero(response > above)
        if len(where) < 2:
            return None
        clusters = 1 + np.count_nonzero(np.diff(where) > _APART)
        excess = response[where] - above
        ratio = float(excess.max() / excess.mean())
        p_value = math.exp(clusters * math.log1p(-math.exp(-ratio)))
        if p_value < LEVEL:
            longest = float(response.max())
            return _Edge(len(where), above, longest, float(excess.mean()), ratio, p_value)
    return None


def _shared(edge, response, met):
    """Return whether responses of jobs that met different numbers have the edge; None if only one may."""
    long = response > edge.above
    levels = np.flatnonzero(np.bincount(met[long]) >= _PER_LEVEL)
    if len(levels) < 2:
        return None
    last = np.array([response[long & (met == level)].max() for level in levels])
    return bool(np.count_nonzero(edge.longest - last < _SAME_EDGE * edge.mean) >= 2)


def responses(replicate):
    """Return the responses of control and treatment, of some of the jobs if there are very many."""
    every = -(-replicate.arrivals // _MOST)
    response, treated = (replicate.column(name)[::every] for name in ("response_time", "treated"))
    return [np.asarray(response[treated == arm]) for arm in (False, True)]
