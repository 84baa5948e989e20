"""Occupancy vectors, grouped by the number of jobs in the system.

A state is the histogram of queue lengths: how many of the ``N`` exchangeable servers hold ``0, 1,
2, ...`` jobs, which is the occupancy vector ``k_1 >= k_2 >= ...`` (``k_j`` servers with at least
``j`` jobs) in another notation. It is stored as its *steps*, one per queue length that occurs, in
increasing order: ``length[s]`` and ``count[s]``, the number of servers with at least that many
jobs. An arrival moves one server from a step's length to the next, a departure to the one before,
so both kinds of transition are one entry per step, and every transition joins two neighbouring
*levels* (numbers of jobs).
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from queuebench.base.jit import njit

ARRIVAL_CENSORED = 1
DEPARTURE_CENSORED = 2
_EMPTY = np.uint64(0)


@dataclass(frozen=True)
class StateSet:
    """A finite set of occupancy vectors and the neighbours of each.

    Attributes
    ----------
    servers : int
        Number of servers ``N``.
    cut : int or None
        The longest queue if all vectors up to it are in the set, None for an adapted set.
    level : ndarray of int64, shape (levels + 1,)
        States with ``n`` jobs are ``level[n]`` to ``level[n + 1] - 1``.
    first : ndarray of int64, shape (states + 1,)
        Steps of state ``x`` are ``first[x]`` to ``first[x + 1] - 1``.
    length, count : ndarray of int16, shape (steps,)
        A queue length that occurs, and the number of servers with at least that length.
    up, down : ndarray of int32, shape (steps,)
        The state after an arrival to (a departure from) a server of that length, the state itself
        where the event changes nothing.
    censored : ndarray of uint8, shape (steps,)
        Which of the two true neighbours are outside the set, so that ``up`` or ``down`` is a
        substitute.
    """

    servers: int
    cut: int | None
    level: np.ndarray
    first: np.ndarray
    length: np.ndarray
    count: np.ndarray
    up: np.ndarray
    down: np.ndarray
    censored: np.ndarray

    @property
    def size(self):
        """Number of states."""
        return self.first.size - 1

    @property
    def graph(self):
        """The arrays that kernels walk along: level, first, count, up and down."""
        return self.level, self.first, self.count, self.up, self.down

    def jobs(self):
        """Return the number of jobs in each state, float64, shape (states,)."""
        return np.repeat(np.arange(self.level.size - 1, dtype=np.float64), np.diff(self.level))


def full_size(servers, cut):
    """Return how many occupancy vectors there are with no queue longer than ``cut``."""
    return comb(servers + cut, cut)


def full_set(servers, cut) -> StateSet:
    """Return all occupancy vectors with no queue longer than ``cut``.

    Arrivals to a server with ``cut`` jobs leave the state as it is.

    Parameters
    ----------
    servers, cut : int
        Number of servers, longest queue.
    """
    jobs, steps = _survey(servers, cut, full_size(servers, cut))
    level = np.concatenate(([0], np.cumsum(np.bincount(jobs, minlength=servers * cut + 1))))
    position = np.empty(jobs.size, np.int64)
    position[np.argsort(jobs, kind="stable")] = np.arange(jobs.size)
    width = np.empty(jobs.size, np.int64)
    width[position] = steps
    first = np.concatenate(([0], np.cumsum(width)))
    length, count = _write_all(servers, cut, position, first)
    return linked(servers, cut, level, first, length, count)


def linked(servers, cut, level, first, length, count) -> StateSet:
    """Return the state set with these states, its neighbours looked up.

    A neighbour outside an adapted set (``cut`` is None) is replaced by the one that the same
    event at the server nearest in length would have led to: the number of jobs then moves as it
    should. Where there is none, as with a full set, the event changes nothing.

    Parameters
    ----------
    servers : int
        Number of servers.
    cut : int or None
        Longest queue of a full set, None for an adapted one.
    level, first, length, count : ndarray
        As in `StateSet`.
    """
    up = np.empty(length.size, np.int32)
    down = np.empty(length.size, np.int32)
    censored = np.zeros(length.size, np.uint8)
    words = hash_words(int(length.max()) + 2)
    _link(level, first, length, count, words, cut is None, up, down, censored)
    return StateSet(servers, cut, level, first, length, count, up, down, censored)


def balanced_states(servers, jobs):
    """Return the steps of the most even state for each number of jobs.

    Parameters
    ----------
    servers : int
        Number of servers.
    jobs : iterable of int
        Numbers of jobs.

    Returns
    -------
    width : ndarray of int64, shape (len(jobs),)
        Number of steps of each state.
    length, count : ndarray of int16
        The steps.
    """
    width, length, count = [], [], []
    for n in jobs:
        shortest, longer = divmod(n, servers)
        width.append(2 if longer else 1)
        length += [shortest, shortest + 1][: width[-1]]
        count += [servers, longer][: width[-1]]
    return np.array(width, np.int64), np.array(length, np.int16), np.array(count, np.int16)


def hash_words(lengths):
    """Return one random word per queue length: a state's key is the sum of its servers' words.

    A neighbour's key is then one subtraction and one addition away. Two of 2e7 states spread over a
    hundred levels share one of the 2**64 keys with a probability of about 1e-7.
    """
    return np.random.Generator(np.random.PCG64(lengths)).integers(
        1, 2**64 - 1, size=lengths, dtype=np.uint64
    )


@njit
def state_key(first, length, count, words, x):
    """Return the key of state ``x``."""
    key = np.uint64(0)
    for s in range(first[x], first[x + 1]):
        beyond = count[s + 1] if s + 1 < first[x + 1] else 0
        key += np.uint64(count[s] - beyond) * words[length[s]]
    return key


@njit
def new_table(entries):
    """Return an empty hash table with room for this many entries: keys and values."""
    size = 16
    while size < 2 * entries:
        size *= 2
    return np.zeros(size, np.uint64), np.empty(size, np.int64)


@njit
def find_slot(keys, key):
    """Return the slot that holds ``key``, or the free one where it belongs."""
    mask = np.uint64(keys.size - 1)
    slot = (key ^ (key >> np.uint64(32))) & mask
    while keys[slot] != _EMPTY and keys[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return np.int64(slot)


@njit
def level_table(level, first, length, count, words, n):
    """Return a hash table from key to state number for the states with ``n`` jobs."""
    keys, values = new_table(level[n + 1] - level[n])
    for x in range(level[n], level[n + 1]):
        key = state_key(first, length, count, words, x)
        slot = find_slot(keys, key)
        if keys[slot] == key:
            raise RuntimeError("two occupancy vectors share a hash key")
        keys[slot] = key
        values[slot] = x
    return keys, values


@njit
def _link(level, first, length, count, words, substitute, up, down, censored):
    levels = level.size - 1
    for x in range(level[levels - 1], level[levels]):
        for s in range(first[x], first[x + 1]):
            up[s] = -1
    for n in range(levels):
        keys, values = level_table(level, first, length, count, words, n)
        if n > 0:
            for x in range(level[n - 1], level[n]):
                here = state_key(first, length, count, words, x)
                for s in range(first[x], first[x + 1]):
                    q = length[s]
                    slot = find_slot(keys, here - words[q] + words[q + 1])
                    up[s] = values[slot] if keys[slot] != _EMPTY else -1
        if n + 1 < levels:
            for x in range(level[n + 1], level[n + 2]):
                here = state_key(first, length, count, words, x)
                for s in range(first[x], first[x + 1]):
                    down[s] = -1
                    if length[s] > 0:
                        q = length[s]
                        slot = find_slot(keys, here - words[q] + words[q - 1])
                        down[s] = values[slot] if keys[slot] != _EMPTY else -1
    down[first[0]] = -1
    for x in range(level[levels]):
        _replace(first, length, x, up, censored, ARRIVAL_CENSORED, 0, substitute)
        _replace(first, length, x, down, censored, DEPARTURE_CENSORED, 1, substitute)


@njit
def _replace(first, length, x, target, censored, flag, shortest, substitute):
    """Fill in the missing targets of state ``x``, marking them as censored."""
    for s in range(first[x], first[x + 1]):
        if target[s] < 0 and length[s] >= shortest:
            censored[s] |= flag
    for s in range(first[x], first[x + 1]):
        if length[s] < shortest:
            target[s] = x
        elif censored[s] & flag:
            t = nearest_step(first, length, x, s, censored, flag, shortest) if substitute else -1
            target[s] = target[t] if t >= 0 else x


@njit
def nearest_step(first, length, x, step, censored, flag, shortest):
    """Return the step of ``x`` nearest in length whose event stays in the set, or -1."""
    best = -1
    for t in range(first[x], first[x + 1]):
        if length[t] >= shortest and not censored[t] & flag:
            gap = abs(length[t] - length[step])
            if best < 0 or gap < abs(length[best] - length[step]):
                best = t
    return best


@njit
def _next_vector(k, servers):
    """Step to the next nonincreasing vector in lexicographic order; False after the last one."""
    j = k.size - 1
    while j >= 0 and k[j] == (k[j - 1] if j > 0 else servers):
        j -= 1
    if j < 0:
        return False
    k[j] += 1
    k[j + 1 :] = 0
    return True


@njit
def _survey(servers, cut, size):
    """Return the number of jobs and of steps of every vector, in lexicographic order."""
    jobs = np.empty(size, np.int64)
    steps = np.empty(size, np.int64)
    k = np.zeros(cut, np.int64)
    for i in range(size):
        jobs[i] = k.sum()
        steps[i] = 1 if k[cut - 1] > 0 else 0
        above = servers
        for j in range(cut):
            steps[i] += k[j] < above
            above = k[j]
        _next_vector(k, servers)
    return jobs, steps


@njit
def _write_all(servers, cut, position, first):
    """Write the steps of every vector to its position."""
    length = np.empty(first[-1], np.int16)
    count = np.empty(first[-1], np.int16)
    k = np.zeros(cut + 1, np.int64)
    for i in range(position.size):
        s = first[position[i]]
        above = servers
        for j in range(cut + 1):
            if k[j] < above:
                length[s] = j
                count[s] = above
                s += 1
            above = k[j]
        _next_vector(k[:cut], servers)
    return length, count
