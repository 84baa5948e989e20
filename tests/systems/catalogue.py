"""Systems whose logs the package has not made: arrivals, jobs, servers, and how they are described."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tests.systems.servers import EVERYONE, run

SERVERS = 10
CONTRASTS = {"weak": (2, 3), "medium": (2, 5), "strong": (1, 2)}
"""Servers sampled by control and treatment; 1 is random routing."""


@dataclass(frozen=True)
class System:
    """One system.

    Attributes
    ----------
    arrivals : Callable
        Of a generator, the total rate and a number: that many arrival times and sessions (-1: none).
    requirements : Callable
        Of a generator and a number: requirements at speed 1 with mean 1, and classes.
    treated : Callable
        Of a generator and a number: who is treated, and the users.
    limit, slowdown, stick
        See `systems.servers.run`.
    patience : float
        Mean of exponential patience while waiting, infinite by default.
    keep_quitters : bool
        Whether the log has jobs that gave up; the truth always counts them.
    up, down : float
        Mean times for which a server is up and down.
    split : int
        Servers of the treatment's short jobs (class 0), the others are for its long ones; 0: no split.
    speed_up : float
        Factor of the treated jobs' requirements.
    contrasts : dict
        Servers sampled by control and treatment.
    first_come : bool
        Whether the log is one of servers that work on one job at a time, in order; else the
        description says what the mean service time is.
    """

    arrivals: Callable
    requirements: Callable
    treated: Callable
    limit: int = 1
    slowdown: float = 0.0
    stick: int = 0
    patience: float = np.inf
    keep_quitters: bool = True
    up: float = np.inf
    down: float = 0.0
    split: int = 0
    speed_up: float = 1.0
    contrasts: dict = field(default_factory=lambda: CONTRASTS)
    first_come: bool = True

    @property
    def capacity(self):
        """Requirements that the servers work off in a unit of time."""
        most = min(self.limit, EVERYONE)
        sharing = 1.0 if self.limit == EVERYONE else most / (1 + self.slowdown * (most - 1))
        available = 1.0 if np.isinf(self.up) else self.up / (self.up + self.down)
        return SERVERS * sharing * available


def poisson(rng, rate, n):
    return np.cumsum(rng.exponential(1 / rate, n)), np.full(n, -1)


def on_off(low, high, mean):
    """Rate in turn `low` and `high` times the average (half of the time each), for exponential times."""

    def draw(rng, rate, n):
        phases = int(1.5 * n / rate / mean) + 100
        length = rng.exponential(mean, phases)
        return _inverse(rng, rate, n, length, np.resize([low, high], phases)), np.full(n, -1)

    return draw


def cycle(swing, period):
    """Rate of a sine, in steps of a hundredth of its period."""

    def draw(rng, rate, n):
        steps = int(100 * (1.2 * n / rate / period + 2))
        phase = 2 * np.pi * (np.arange(steps) + 0.5) / 100
        length = np.full(steps, period / 100)
        return _inverse(rng, rate, n, length, 1 + swing * np.sin(phase)), np.full(n, -1)

    return draw


def _inverse(rng, rate, n, length, factor):
    """Arrival times of a Poisson process whose rate is constant for each of the lengths."""
    mass = np.concatenate(([0.0], np.cumsum(rate * factor * length)))
    unit = np.cumsum(rng.exponential(1.0, n))
    assert unit[-1] < mass[-1], "the phases drawn end before the arrivals do"
    return np.interp(unit, mass, np.concatenate(([0.0], np.cumsum(length))))


def together(size):
    """Poisson batches of a geometric number of simultaneous arrivals."""

    def draw(rng, rate, n):
        sizes = rng.geometric(1 / size, n)
        times = np.cumsum(rng.exponential(size / rate, n))
        return np.repeat(times, sizes)[:n], np.full(n, -1)

    return draw


def sessions(jobs, gap):
    """Poisson sessions of a geometric number of jobs, exponential times apart."""

    def draw(rng, rate, n):
        started = int(1.2 * n / jobs) + 1000
        sizes = rng.geometric(1 / jobs, started)
        starts = np.cumsum(rng.exponential(jobs / rate, started))
        number = np.repeat(np.arange(started), sizes)
        gaps = rng.exponential(gap, len(number))
        total = np.cumsum(gaps)
        opening = np.cumsum(sizes) - sizes
        times = np.repeat(starts - total[opening], sizes) + total
        first = np.argsort(times, kind="stable")[:n]
        # The last sessions drawn must start after the last arrival kept, or arrivals would thin out.
        assert times[first[-1]] < starts[-1]
        return times[first], number[first]

    return draw


def exponential(rng, n):
    return rng.exponential(1.0, n), None


def deterministic(rng, n):
    return np.ones(n), None


def pareto(shape):
    def draw(rng, n):
        return (1 + rng.pareto(shape, n)) * (shape - 1) / shape, None

    return draw


def short_and_long(mean):
    """One in five jobs is long and has that mean, the others are shorter."""

    def draw(rng, n):
        long = rng.random(n) < 0.2
        return rng.exponential(1.0, n) * np.where(long, mean, (1 - 0.2 * mean) / 0.8), long.astype(
            int
        )

    return draw


def by_job(rng, n):
    return rng.random(n) < 0.5, None


def by_user(jobs, active):
    """A user has about `jobs` jobs, among those of about `active` others, and one arm for all."""

    def draw(rng, n):
        user = (np.arange(n) + rng.random(n) * jobs * active).astype(int) // jobs
        return (rng.random(user.max() + 1) < 0.5)[user], user

    return draw


_PLAIN = {"arrivals": poisson, "requirements": exponential, "treated": by_job}

SYSTEMS = {
    "fcfs": System(**_PLAIN),
    "processor_sharing": System(**_PLAIN, limit=EVERYONE, slowdown=1.0, first_come=False),
    "batching": System(**_PLAIN, limit=8, slowdown=0.15, first_come=False),
    "two_classes": System(**_PLAIN | {"requirements": short_and_long(3.0)}, split=4),
    "breakdowns": System(**_PLAIN, up=200.0, down=10.0, first_come=False),
    "sticky": System(**_PLAIN | {"arrivals": sessions(jobs=5, gap=5.0)}, stick=4),
    "abandonment": System(**_PLAIN, patience=5.0, first_come=False),
    "service_treatment": System(
        **_PLAIN, speed_up=0.95, contrasts={"weak": (2, 2), "medium": (2, 3), "strong": (1, 1)}
    ),
    "bursts": System(**_PLAIN | {"arrivals": on_off(0.6, 1.4, mean=15.0)}),
    "user_assignment": System(**_PLAIN | {"treated": by_user(jobs=20, active=50)}),
}
"""The ten systems."""

VARIANTS = {
    "fcfs_deterministic": System(**_PLAIN | {"requirements": deterministic}),
    "fcfs_pareto": System(**_PLAIN | {"requirements": pareto(2.5)}),
    # Here what queue lengths leave unexplained nearly cancels between the arms.
    "two_classes_quiet": System(**_PLAIN | {"requirements": short_and_long(2.0)}, split=6),
    "abandonment_lost": System(**_PLAIN, patience=5.0, keep_quitters=False, first_come=False),
    "batch_arrivals": System(**_PLAIN | {"arrivals": together(3.0)}),
    "cycle": System(**_PLAIN | {"arrivals": cycle(0.3, period=200.0)}),
}
"""The same with another service law, arrival process, or log."""

ALL = SYSTEMS | VARIANTS


@dataclass(frozen=True)
class Jobs:
    """All that happened, one entry per job."""

    arrival: np.ndarray
    departure: np.ndarray
    requirement: np.ndarray
    treated: np.ndarray
    chosen: np.ndarray
    quit: np.ndarray
    kind: np.ndarray | None
    user: np.ndarray | None
    session: np.ndarray

    @property
    def response(self):
        return self.departure - self.arrival


def simulate_jobs(system, contrast, load, seed, arrivals, treat=None, loop=run):
    """Simulate one system from empty.

    Parameters
    ----------
    system : System
    contrast : {"weak", "medium", "strong"}
    load : float
        Share of the capacity that arrives.
    seed : int or sequence of int
        The same seed gives the same arrivals, requirements and permutations in every arm.
    arrivals : int
    treat : bool, optional
        Treat all jobs or none, instead of half of them at random.
    loop : Callable
        The event loop.

    Returns
    -------
    Jobs
    """
    draws = iter(np.random.default_rng(seed).spawn(6))
    arrival, session = system.arrivals(next(draws), load * system.capacity, arrivals)
    requirement, kind = system.requirements(next(draws), arrivals)
    treated, user = system.treated(next(draws), arrivals)
    order = next(draws).permuted(
        np.tile(np.arange(SERVERS, dtype=np.int8), (arrivals, 1)), axis=1
    )  # fmt: skip
    deadline = np.full(arrivals, np.inf)
    patience = next(draws).exponential(1.0, arrivals)
    if np.isfinite(system.patience):
        deadline = arrival + system.patience * patience
    switches = _switches(next(draws), system.up, system.down, arrival[-1])
    if treat is not None:
        treated = np.full(arrivals, treat)
    requirement = np.where(treated, system.speed_up, 1.0) * requirement
    first = np.zeros((2, arrivals), np.int64)
    last = np.full((2, arrivals), SERVERS)
    if system.split:
        first[1] = np.where(kind == 0, 0, system.split)
        last[1] = np.where(kind == 0, system.split, SERVERS)
    departure, chosen = loop(
        arrival, requirement, treated, order, np.array(system.contrasts[contrast]), first, last,
        session, max(session.max() + 1, 1), system.stick, deadline, *switches,
        system.limit, system.slowdown,
    )  # fmt: skip
    quit_ = departure == deadline
    return Jobs(
        arrival, departure, requirement, treated, chosen, quit_, kind, user, session
    )  # fmt: skip


def _switches(rng, up, down, end):
    if np.isinf(up):
        return np.empty(0), np.empty(0, np.int64)
    rounds = int(1.5 * end / (up + down)) + 50
    lengths = np.stack(
        [rng.exponential(up, (SERVERS, rounds)), rng.exponential(down, (SERVERS, rounds))], axis=2
    )
    times = np.cumsum(lengths.reshape(SERVERS, -1), axis=1)
    assert times[:, -1].min() > end
    server = np.repeat(np.arange(SERVERS), 2 * rounds)
    order = np.argsort(times, axis=None)
    return times.ravel()[order], server[order]
