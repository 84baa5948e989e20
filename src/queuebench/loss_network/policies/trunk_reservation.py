"""Trunk reservation: accept an ``L`` job iff more than ``k`` servers are idle; no lookahead."""

from pathlib import Path

import numpy as np

from queuebench.base.jit import njit
from queuebench.loss_network.events import HIGH, TICK
from queuebench.loss_network.online import logarithmic_threshold, online_optimum
from queuebench.loss_network.path import empty_path
from queuebench.loss_network.policies import register


def reserve(network, events, threshold) -> Path:
    """Run trunk reservation with a given threshold.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    threshold : int
        An ``L`` job is accepted iff more than this many servers are idle.

    Raises
    ------
    ValueError
        If ``threshold < 0``.
    """
    if threshold < 0:
        raise ValueError(f"threshold >= 0 must hold, got {threshold}")
    path = empty_path(len(events.time))
    _walk_reserved(events.kind, events.mark, network.servers, threshold, path.busy, path.taken)
    return path


def _optimal(network):
    return online_optimum(network).threshold


def _xie3(network):
    return logarithmic_threshold(network, 3)


def _xie5(network):
    return logarithmic_threshold(network, 5)


@register("online", lookahead="none", threshold=_optimal)
def online(network, events, window=None):
    """Trunk reservation with the best threshold: the optimum without lookahead."""
    return reserve(network, events, _optimal(network))


@register("xie3", lookahead="none", threshold=_xie3)
def xie3(network, events, window=None):
    """Trunk reservation with the threshold ``3*log N`` of Xie et al."""
    return reserve(network, events, _xie3(network))


@register("xie5", lookahead="none", threshold=_xie5)
def xie5(network, events, window=None):
    """Trunk reservation with the threshold ``5*log N`` of Xie et al."""
    return reserve(network, events, _xie5(network))


@njit
def _walk_reserved(kind, mark, servers, threshold, busy, taken):
    b = np.int32(servers)
    every = np.int32(servers)
    low = np.int32(servers - threshold)
    for e in range(kind.size):
        busy[e] = b
        tick = kind[e] == TICK
        bound = mark[e] if tick else (every if kind[e] == HIGH else low)
        below = b < bound
        taken[e] = below != tick
        b += np.int32(below) - np.int32(tick)
    busy[kind.size] = b
