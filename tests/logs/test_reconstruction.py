"""Queue lengths and Little's law against counting by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuebench.logs import analyze_log
from queuebench.logs.checks.littles_law import littles_law
from queuebench.logs.record.queues import ServerQueues
from tests.logs.exported import columns_of, write_log


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    jobs=st.integers(1, 300),
    servers=st.integers(1, 4),
    travel_time=st.sampled_from([0.0, 0.7]),
    coarse=st.booleans(),
    ordered=st.booleans(),
    cuts=st.integers(0, 5),
)
def test_queue_lengths(seed, jobs, servers, travel_time, coarse, ordered, cuts):
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.uniform(0, jobs / 2, jobs))
    server = rng.integers(servers, size=jobs).astype(np.int32)
    departure = arrival + travel_time + rng.exponential(servers, jobs)
    if coarse:
        arrival, departure = np.floor(arrival), np.ceil(departure)
    if ordered:
        for s in range(servers):
            departure[server == s] = np.maximum.accumulate(departure[server == s])
    length, start = np.empty(jobs, np.int32), np.empty(jobs)
    queues = ServerQueues(servers, travel_time)
    edges = [0, *np.sort(rng.integers(jobs + 1, size=cuts)).tolist(), jobs]
    for begin, end in itertools.pairwise(edges):
        part = slice(begin, end)
        recorded = np.ones(end - begin, bool)
        queues.follow(
            arrival[part], server[part], departure[part], recorded, length[part], start[part]
        )
    overtaking = meeting = 0
    for i in range(jobs):
        landing = arrival[i] + travel_time
        earlier = [j for j in range(i) if server[j] == server[i]]
        assert length[i] == sum(departure[j] > landing for j in earlier)
        latest = max((departure[j] for j in earlier), default=-np.inf)
        assert start[i] == max(landing, latest)
        overtaking += departure[i] < latest
        meeting += length[i] > 0
    assert queues.overtaking == overtaking
    assert queues.meeting == meeting
    assert queues.services.count.sum() == jobs


def test_a_long_queue_makes_room():
    jobs = 5000
    arrival = np.arange(jobs, dtype=float)
    length, start = np.empty(jobs, np.int32), np.empty(jobs)
    queues = ServerQueues(1, 0.0)
    queues.follow(
        arrival, np.zeros(jobs, np.int32), arrival + 1e6, np.ones(jobs, bool), length, start
    )
    assert np.array_equal(length, np.arange(jobs))


@pytest.mark.parametrize("end", [None, 250.0])
def test_littles_law(simulate, describe, tmp_path, end):
    _, replicate = simulate(load=0.9)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=5.0, **({} if end is None else {"end": end})))
    law = analysis.law
    length = analysis.replicate.record_end
    carry = replicate.carry.to_pylist()
    arrival = replicate.column("arrival_time")
    kept = arrival <= length
    arrivals = [*(job["arrival"] for job in carry), *arrival[kept]]
    departures = [
        *(job["departure"] for job in carry), *(arrival + replicate.column("response_time"))[kept],
    ]  # fmt: skip
    events = sorted([*((t, 1) for t in arrivals), *((t, -1) for t in departures)])
    area, present, now = 0.0, 0, 0.0
    for time, step in events:
        if 0.0 < min(time, length) > now:
            area += present * (min(time, length) - now)
            now = min(time, length)
        present += step
    assert law.mean_in_system == pytest.approx(area / length, rel=1e-9)
    assert abs(law.residual) < 1e-9 * law.mean_in_system
    assert law.carried > 0
    assert law.overhang > 0
    assert law == littles_law(analysis.replicate)
    assert law.met_by_arrivals == pytest.approx(replicate.column("in_system")[kept].mean())
