"""Experimental designs: which arm an arrival belongs to, and which servers an arm may use."""

from collections.abc import Callable

import numpy as np

_DESIGNS: dict[str, Callable] = {}


def _design(cls):
    _DESIGNS[cls.kind] = cls
    return cls


def build_design(kind, parameters, speeds, treated_share, streams, start):
    """Return the object that assigns arms under a design.

    Parameters
    ----------
    kind : {"bernoulli", "group", "switchback", "shares", "pure"}
    parameters : dict
        ``period`` for switchback; ``shares``, ``period`` and ``order`` for shares; ``treated`` for pure.
    speeds : ndarray of float64, shape (N,)
        Service rates.
    treated_share : float
        Probability that an arrival is treated (Bernoulli).
    streams : Callable
        ``streams(purpose)`` gives a random generator.
    start : float
        Time of the first possible arrival (the warm-up lies before 0).

    Returns
    -------
    object
        With ``pools`` (a pair of server arrays when the arms have their own servers, else None),
        ``assign(arrival, treated)`` that fills the arms of the next arrivals in order, and
        ``block(arrival)`` and ``share(arrival)``, the block numbers and treated shares, or None.

    Raises
    ------
    KeyError
        If the kind is unknown.
    ValueError
        If a group design is asked for an odd number of servers.
    """
    return _DESIGNS[kind](
        speeds=speeds, treated_share=treated_share, streams=streams, start=start, **parameters
    )


class _Coins:
    """Independent coins, two per random word; an even number must be drawn at a time but the last.

    `fill` takes the probability's `edge`, or an array of them, one per coin.
    """

    def __init__(self, rng):
        self._rng = rng

    @staticmethod
    def edge(probability):
        return np.round(np.asarray(probability) * 2**32).astype(np.uint64)

    def fill(self, edge, out):
        words = self._rng.bit_generator.random_raw((len(out) + 1) // 2)
        np.less(words.view(np.uint32)[: len(out)], edge, out=out.view(bool))


class _Design:
    pools = None

    def block(self, arrival):
        """Return None: there are no blocks."""

    def share(self, arrival):
        """Return None: there is one share, or none."""


@_design
class Bernoulli(_Design):
    """Every arrival is treated independently with the same probability."""

    kind = "bernoulli"

    def __init__(self, treated_share, streams, **_):
        self._coins = _Coins(streams("assignment"))
        self._edge = _Coins.edge(treated_share)

    def assign(self, arrival, treated):
        """Fill in the arms of the next arrivals."""
        self._coins.fill(self._edge, treated)


@_design
class Group(_Design):
    """Each arm has half of the servers of every speed; arrivals choose a half by its capacity."""

    kind = "group"

    def __init__(self, speeds, streams, **_):
        self.pools = split_servers(speeds, streams("split"))
        capacities = [speeds[pool].sum() for pool in self.pools]
        self._coins = _Coins(streams("assignment"))
        self._edge = _Coins.edge(capacities[1] / sum(capacities))

    def assign(self, arrival, treated):
        """Fill in the arms of the next arrivals."""
        self._coins.fill(self._edge, treated)


@_design
class Switchback(_Design):
    """The whole system alternates: each pair of blocks has one of each arm, in random order."""

    kind = "switchback"

    def __init__(self, streams, start, period, **_):
        self._period = period
        self._first_pair = int(np.floor(start / (2 * period)))
        self._rng = streams("assignment")
        self._treated_first = np.empty(0, np.uint8)

    def assign(self, arrival, treated):
        """Fill in the arms of the next arrivals."""
        block = self.block(arrival)
        pair = (block >> 1) - self._first_pair
        self._draw_pairs(int(pair[-1]) + 1)
        treated[:] = self._treated_first[pair] ^ (block & 1).astype(np.uint8)

    def block(self, arrival):
        """Return the block each arrival falls into, 0 where the record starts."""
        return np.floor(arrival / self._period).astype(np.int32)

    def _draw_pairs(self, pairs):
        missing = pairs - len(self._treated_first)
        if missing > 0:
            coins = (self._rng.bit_generator.random_raw(missing) & np.uint64(1)).astype(np.uint8)
            self._treated_first = np.concatenate([self._treated_first, coins])


@_design
class Shares(_Design):
    """Blocks of time, each with its own treated share; within a block every arrival is a coin.

    In ``cycles`` every run of as many blocks as there are shares has each share once, in random order. A
    ``ramp`` has one block per share, in increasing order; the last one goes on to the end.
    """

    kind = "shares"

    def __init__(self, streams, start, shares, period, order, **_):
        self._shares = np.asarray(shares, float)
        self._period = period
        self._ramp = order == "ramp"
        self._first_cycle = int(np.floor(start / (len(shares) * period)))
        self._orders = np.empty((0, len(shares)), np.int64)
        self._schedule = streams("schedule")
        self._coins = _Coins(streams("assignment"))
        self._edges = _Coins.edge(self._shares)

    def assign(self, arrival, treated):
        """Fill in the arms of the next arrivals."""
        self._coins.fill(self._edges[self._place(arrival)], treated)

    def block(self, arrival):
        """Return the block each arrival falls into, 0 where the record starts."""
        block = np.floor(arrival / self._period).astype(np.int32)
        return np.clip(block, 0, len(self._shares) - 1) if self._ramp else block

    def share(self, arrival):
        """Return the treated share in force at each arrival."""
        return self._shares[self._place(arrival)]

    def _place(self, arrival):
        """Return the place among the shares of the one in force."""
        block = self.block(arrival)
        if self._ramp:
            return block
        cycle, within = np.divmod(block, len(self._shares))
        cycle -= self._first_cycle
        self._draw_orders(int(cycle[-1]) + 1)
        return self._orders[cycle, within]

    def _draw_orders(self, cycles):
        missing = cycles - len(self._orders)
        if missing > 0:
            plain = np.broadcast_to(np.arange(len(self._shares)), (missing, len(self._shares)))
            drawn = self._schedule.permuted(plain, axis=1)
            self._orders = np.concatenate([self._orders, drawn])


@_design
class Pure(_Design):
    """Every arrival in the same arm: the system under one policy alone."""

    kind = "pure"

    def __init__(self, treated, **_):
        self._arm = int(treated)

    def assign(self, arrival, treated):
        """Fill in the arms of the next arrivals."""
        treated[:] = self._arm


def split_servers(speeds, rng):
    """Split servers at random into two halves of the same speeds.

    Within each speed class servers are paired at random; the servers left over by classes of odd size
    are paired with their neighbours by speed. One of each pair goes to each half.

    Parameters
    ----------
    speeds : ndarray of float64, shape (N,)
    rng : numpy.random.Generator

    Returns
    -------
    tuple of two ndarray of int32, shape (N / 2,)
        The servers of the control and of the treatment arm, in increasing order.

    Raises
    ------
    ValueError
        If N is odd.
    """
    if len(speeds) % 2:
        raise ValueError(f"a group design needs an even number of servers, not {len(speeds)}")
    paired, leftover = [], []
    for speed in np.unique(speeds):
        members = rng.permutation(np.flatnonzero(speeds == speed))
        if len(members) % 2:
            leftover.append(members[-1])
        paired.extend(members[: len(members) // 2 * 2])
    pairs = np.array(paired + leftover, dtype=np.int32).reshape(-1, 2)
    swap = rng.random(len(pairs)) < 0.5
    pairs[swap] = pairs[swap, ::-1]
    return np.sort(pairs[:, 0]), np.sort(pairs[:, 1])
