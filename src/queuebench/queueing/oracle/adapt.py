"""State sets that follow the probability: vectors of negligible probability are not enumerated.

The set starts as the most even vector for each number of jobs and grows in rounds. In each round
the law on the current set is improved by a few sweeps; then every vector just outside whose
estimated probability exceeds a threshold is taken in. The estimate is the flow into it over the
largest exit rate, which is what uniformization would put there in one step.
"""

from math import ceil, log

import numpy as np

from queuebench.base.jit import njit
from queuebench.queueing.oracle.chain import build_chain
from queuebench.queueing.oracle.reach import TooManyStatesError
from queuebench.queueing.oracle.states import (
    ARRIVAL_CENSORED,
    DEPARTURE_CENSORED,
    balanced_states,
    find_slot,
    hash_words,
    linked,
    new_table,
    state_key,
)
from queuebench.queueing.oracle.stationary import improve

SWEEPS_PER_ROUND = 6
SETTLED = 0.01


def seed_chain(servers, table, rate, threshold):
    """Return a first chain and law: the most even states, as if no server idled beside a queue.

    Parameters
    ----------
    servers : int
        Number of servers.
    table : ndarray of float64, shape (servers + 1,)
        Routing table.
    rate : float
        Arrival rate.
    threshold : float
        Numbers of jobs less probable than this are left out.

    Returns
    -------
    Chain
    law : ndarray of float64, shape (states,)
    """
    mass = [1.0]
    while mass[-1] > threshold * sum(mass) or len(mass) < servers + 2:
        mass.append(mass[-1] * rate / min(len(mass), servers))
    width, length, count = balanced_states(servers, range(len(mass)))
    level = np.arange(len(mass) + 1)
    first = np.concatenate(([0], np.cumsum(width)))
    states = linked(servers, None, level, first, length, count)
    return build_chain(states, table, rate), np.array(mass) / sum(mass)


def grow(chain, law, threshold, max_states):
    """Take in vectors until nearly none outside the set is more probable than ``threshold``.

    Parameters
    ----------
    chain : Chain
        On an adapted set.
    law : ndarray of float64, shape (states,)
        An estimate of its stationary law.
    threshold : float
        Probability below which a vector is negligible.
    max_states : int
        Largest set allowed.

    Returns
    -------
    Chain
        On the larger set.
    law : ndarray of float64, shape (states,)
        An estimate of its stationary law.

    Raises
    ------
    TooManyStatesError
        If the set outgrows ``max_states``.
    """
    while True:
        improve(chain, law, SWEEPS_PER_ROUND)
        before = law.size
        chain, law = _grow_once(chain, law, threshold)
        if law.size > max_states:
            raise TooManyStatesError(law.size, max_states, at_least=True)
        if law.size - before <= SETTLED * before:
            return chain, law


def _grow_once(chain, law, threshold):
    """Return the chain and law with every probable neighbour of the set taken in."""
    states = chain.states
    levels = states.level.size - 1
    words = hash_words(int(states.length.max()) + 3)
    extra = _levels_above(chain, law, threshold)
    chosen = [_neighbours(n, *states.graph[:3], states.length, states.censored, words, chain.table,
                          chain.rate, law, threshold)
              for n in range(levels + (extra == 0))]  # fmt: skip
    level, first, length, count, new_law = _assemble(
        states.level, states.first, states.length, states.count, law,
        np.concatenate(([0], np.cumsum([c[0].size for c in chosen]))),
        *(np.concatenate(column) for column in zip(*chosen, strict=True)),
    )  # fmt: skip
    if level[-1] == level[-2]:
        level = level[:-1]
    if extra:  # each of these levels gets its most even state, so each is left by a departure
        level, first, length, count, new_law = _append_levels(
            chain, level, first, length, count, new_law, extra
        )
    states = linked(states.servers, None, level, first, length, count)
    return build_chain(states, chain.table, chain.rate), new_law / new_law.sum()


def _levels_above(chain, law, threshold):
    """Return how many levels above the top one are still probable, if masses fall like the load."""
    top = law[chain.states.level[-2] :].sum()
    return max(0, ceil(log(max(top, 1e-300) / threshold) / -log(chain.load)) - 1)


def _append_levels(chain, level, first, length, count, law, extra):
    """Add the most even state of the next ``extra`` numbers of jobs."""
    servers, top = chain.states.servers, level.size - 2
    width, more_length, more_count = balanced_states(servers, range(top + 1, top + 1 + extra))
    mass = law[level[-2] :].sum() * chain.load ** np.arange(1, extra + 1)
    return (
        np.concatenate((level, level[-1] + np.arange(1, extra + 1))),
        np.concatenate((first, first[-1] + np.cumsum(width))),
        np.concatenate((length, more_length)),
        np.concatenate((count, more_count)),
        np.concatenate((law, mass)),
    )


@njit
def _neighbours(n, level, first, count, length, censored, words, table, rate, law, threshold):
    """Find the vectors with ``n`` jobs outside the set that enough probability flows into.

    Returns, for each: a state next to it, that state's step, the direction from there (+1 arrival,
    -1 departure) and the estimate of its probability.
    """
    levels = level.size - 1
    missing = 0
    for m, flag in ((n - 1, ARRIVAL_CENSORED), (n + 1, DEPARTURE_CENSORED)):
        if 0 <= m < levels:
            for s in range(first[level[m]], first[level[m + 1]]):
                missing += (censored[s] & flag) != 0
    keys, values = new_table(missing)
    origin = np.empty(missing, np.int64)
    step = np.empty(missing, np.int64)
    direction = np.empty(missing, np.int64)
    flow = np.zeros(missing)
    found = 0
    for m, flag in ((n - 1, ARRIVAL_CENSORED), (n + 1, DEPARTURE_CENSORED)):
        if not 0 <= m < levels:
            continue
        move = n - m
        for x in range(level[m], level[m + 1]):
            here = np.uint64(0)
            for s in range(first[x], first[x + 1]):
                if not censored[s] & flag:
                    continue
                if here == 0:
                    here = state_key(first, length, count, words, x)
                beyond = count[s + 1] if s + 1 < first[x + 1] else 0
                key = here - words[length[s]] + words[length[s] + move]
                slot = find_slot(keys, key)
                if keys[slot] != key:
                    keys[slot] = key
                    values[slot] = found
                    origin[found], step[found], direction[found] = x, s, move
                    found += 1
                if move > 0:
                    flow[values[slot]] += law[x] * rate * (table[count[s]] - table[beyond])
                else:
                    flow[values[slot]] += law[x] * (count[s] - beyond)
    estimate = flow[:found] / (rate + table.size - 1)
    enough = np.flatnonzero(estimate > threshold)
    return origin[enough], step[enough], direction[enough], estimate[enough]


@njit
def _assemble(level, first, length, count, law, new_level, origin, step, direction, estimate):
    """Merge old states and chosen neighbours level by level; ``new_level`` delimits the latter."""
    levels = new_level.size - 1
    size = law.size + origin.size
    merged_level = np.zeros(levels + 1, np.int64)
    merged_first = np.zeros(size + 1, np.int64)
    width_bound = length.size
    for i in range(origin.size):
        width_bound += first[origin[i] + 1] - first[origin[i]] + 1
    merged_length = np.empty(width_bound, np.int16)
    merged_count = np.empty(width_bound, np.int16)
    merged_law = np.empty(size)
    y = 0
    for n in range(levels):
        if n < level.size - 1:
            for x in range(level[n], level[n + 1]):
                width = first[x + 1] - first[x]
                s = merged_first[y]
                merged_length[s : s + width] = length[first[x] : first[x + 1]]
                merged_count[s : s + width] = count[first[x] : first[x + 1]]
                merged_first[y + 1] = s + width
                merged_law[y] = law[x]
                y += 1
        for i in range(new_level[n], new_level[n + 1]):
            merged_first[y + 1] = _write_neighbour(
                first, length, count, origin[i], step[i], direction[i], merged_length,
                merged_count, merged_first[y],
            )  # fmt: skip
            merged_law[y] = estimate[i]
            y += 1
        merged_level[n + 1] = y
    end = merged_first[y]
    return merged_level, merged_first, merged_length[:end], merged_count[:end], merged_law


@njit
def _write_neighbour(first, length, count, x, step, direction, out_length, out_count, end):
    """Write the steps of ``x`` after a move of one server of a step by one job; return the end."""
    servers_left = count[first[x]]
    moved = length[step] + direction
    placed = False
    for s in range(first[x], first[x + 1]):
        beyond = count[s + 1] if s + 1 < first[x + 1] else 0
        here = count[s] - beyond - (s == step)
        if not placed and moved < length[s]:
            out_length[end], out_count[end] = moved, servers_left
            servers_left -= 1
            end += 1
            placed = True
        if not placed and moved == length[s]:
            here += 1
            placed = True
        if here > 0:
            out_length[end], out_count[end] = length[s], servers_left
            servers_left -= here
            end += 1
    if not placed:
        out_length[end], out_count[end] = moved, servers_left
        end += 1
    return end
