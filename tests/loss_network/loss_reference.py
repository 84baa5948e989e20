"""Plain, slow, obviously right versions of what the package does fast."""

import math
import random
from itertools import product

import numpy as np

from queuebench.loss_network.events import HIGH, LOW, TICK, Events
from queuebench.loss_network.model import LossNetwork

RATES = {"high_rate": 0.7, "low_rate": 0.6, "service_rate": 1.0}
REWARDS = {"high_reward": 2.0, "low_reward": 1.0}
POLICIES = ("online", "pfi", "rolling_horizon", "sss", "sss_stop", "offline", "offline_opposite")


def network(servers, **changes):
    return LossNetwork(servers, **(RATES | REWARDS | changes))


def make_events(times, kinds, marks):
    return Events(np.array(times, float), np.array(kinds, np.int8), np.array(marks, np.int32))


def random_events(servers, count, seed, tick_share=None):
    """A list in whole units of time, with ties, and with any share of ticks."""
    rng = random.Random(seed)
    share = rng.uniform(0.2, 0.8) if tick_share is None else tick_share
    now, times, kinds, marks = 0, [], [], []
    for _ in range(count):
        now += rng.choice((0, 1, 1, 2))
        times.append(now)
        kinds.append(TICK if rng.random() < share else rng.choice((HIGH, HIGH, LOW)))
        marks.append(rng.randint(1, servers))
    return make_events(times, kinds, marks)


def hypothetical(events, servers, e, idle, target, window):
    """Follow the hypothetical of the decision at event `e`; return whether it does not fail."""
    if idle == 0:
        return False
    if idle >= target:
        return True
    limit = events.time[e] + window
    for f in range(e + 1, len(events.time)):
        if events.time[f] > limit:
            break
        if events.kind[f] == HIGH:
            idle -= 1
            if idle == 0:
                return False
        elif events.kind[f] == TICK and events.mark[f] <= servers - idle:
            idle += 1
            if idle >= target:
                return True
    return True


def run(events, servers, decide):
    """Walk through a list; `decide(e, idle)` tells if an arrival is accepted with servers idle."""
    idle, busy, taken = 0, [], []
    for e in range(len(events.time)):
        busy.append(servers - idle)
        if events.kind[e] == TICK:
            took = events.mark[e] <= servers - idle
            idle += took
        else:
            took = idle > 0 and decide(e, idle)
            idle -= took
        taken.append(bool(took))
    busy.append(servers - idle)
    return busy, taken


def scan(events, servers, name, window=math.inf):
    """PFI, SSS or stopped SSS by a forward scan at every decision."""
    target = servers + 1 if name == "sss" else math.isqrt(servers)

    def decide(e, idle):
        if events.kind[e] == HIGH:
            return True
        return hypothetical(events, servers, e, idle, target, window)

    return run(events, servers, decide)


def reward(net, events, taken):
    pays = {HIGH: net.high_reward, LOW: net.low_reward, TICK: 0.0}
    return math.fsum(pays[int(k)] for k, took in zip(events.kind, taken, strict=True) if took)


def best_by_enumeration(net, events):
    """Best reward over all sequences of accepting and refusing."""
    arrivals = [e for e in range(len(events.time)) if events.kind[e] != TICK]
    best = 0.0
    for choices in product((False, True), repeat=len(arrivals)):
        wish = dict(zip(arrivals, choices, strict=True))
        _, taken = run(events, net.servers, lambda e, idle, wish=wish: wish[e])
        best = max(best, reward(net, events, taken))
    return best


def value_functions(net, events, start, stop, terminal):
    """Values of the rest of a list, per number idle, before each event and at the end."""
    values = np.empty((stop - start + 1, net.servers + 1))
    values[-1] = terminal
    for e in reversed(range(start, stop)):
        after, before = values[e - start + 1], values[e - start]
        before[:] = after
        if events.kind[e] == TICK:
            for idle in range(net.servers):
                if events.mark[e] <= net.servers - idle:
                    before[idle] = after[idle + 1]
        else:
            pay = net.high_reward if events.kind[e] == HIGH else net.low_reward
            before[1:] = np.maximum(after[1:], pay + after[:-1])
    return values


def offline_by_values(net, events, opposite):
    """Best reward by the plain dynamic programme, and the path under a tie rule."""
    values = value_functions(net, events, 0, len(events.time), np.zeros(net.servers + 1))

    def decide(e, idle):
        pay = net.high_reward if events.kind[e] == HIGH else net.low_reward
        gain = pay + values[e + 1][idle - 1] - values[e + 1][idle]
        if abs(gain) < 1e-7:
            return (events.kind[e] == HIGH) != opposite
        return gain > 0

    return values[0][0], *run(events, net.servers, decide)


def sample_fluid(network, events, start, stop):
    """Fluid bound with the numbers of arrivals and ticks that occurred.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    start, stop : int
        The events ``start <= e < stop`` are counted.

    Returns
    -------
    float
    """
    kind = events.kind[start:stop]
    high = np.count_nonzero(kind == HIGH)
    ticks = np.count_nonzero(kind == TICK)
    return network.high_reward * high + network.low_reward * (ticks - high)


def path_reward(network, events, path, start, stop):
    """Reward a policy collects on a part of a path.

    Parameters
    ----------
    network : LossNetwork
    events : Events
    path : Path
    start, stop : int
        The events ``start <= e < stop`` are counted.

    Returns
    -------
    float
    """
    accepted = events.kind[start:stop][path.taken[start:stop]]
    high = np.count_nonzero(accepted == HIGH)
    low = np.count_nonzero(accepted == LOW)
    return network.high_reward * high + network.low_reward * low
