import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from queuebench.queueing.in_system import InSystemCounter


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 80),
    stay=st.sampled_from([0.1, 3.0, 40.0]),
    bursts=st.booleans(),
    cuts=st.lists(st.integers(1, 79), max_size=4),
)
def test_counts_agree_with_the_definition(seed, n, stay, bursts, cuts):
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(size=n) * (np.where(rng.random(n) < 0.1, 100.0, 0.01) if bursts else 1.0)
    arrival = np.cumsum(gaps)
    departure = arrival + rng.exponential(size=n) * stay
    # Departures at the very moment of a later arrival have left.
    for i in range(0, n - 2, 5):
        departure[i] = arrival[i + 2]
    expected = [int(np.sum(departure[:j] > arrival[j])) for j in range(n)]
    counter, out = InSystemCounter(), np.zeros(n, np.int32)
    edges = sorted({0, n, *(cut for cut in cuts if cut < n)})
    for begin, end in itertools.pairwise(edges):
        counter.count(arrival[begin:end], departure[begin:end], out[begin:end])
    assert out.tolist() == expected
