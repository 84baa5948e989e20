"""The local arrival rate against counting by hand, and costs divided by it."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queuebench.estimators.common.costs import Cost, Costs
from queuebench.estimators.common.local_rate import STEPS, RateTable, local_rate
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace


def record_of(arrival, end, chunk):
    def chunks(name):
        assert name == "arrival_time"
        for begin in range(0, len(arrival), chunk):
            yield (arrival[begin : begin + chunk],)

    return SimpleNamespace(arrivals=len(arrival), record_end=end, chunks=chunks)


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    arrivals=st.integers(2, 400),
    window=st.floats(2.0, 300.0),
    chunk=st.integers(1, 500),
    closed=st.booleans(),
)
def test_the_table_counts_arrivals_within_windows(seed, arrivals, window, chunk, closed):
    rng = np.random.default_rng(seed)
    arrival = np.sort(rng.uniform(0, 100.0, arrivals))
    end = 100.0 if closed else float(arrival[-1])
    table = local_rate(record_of(arrival, end, chunk), window)
    assert table.window <= max(window, end) * (1 + 1e-12)
    assert table.step * (len(table.relative) - 1) == pytest.approx(end)
    average = (arrivals - 1) / (arrival[-1] - arrival[0])
    for place, found in enumerate(table.relative):
        low = max(0.0, (place - STEPS // 2) * table.step)
        high = min(end, (place + STEPS // 2) * table.step)
        # Half open, as steps are; the last one holds the end of the record.
        inside = (arrival >= low * (1 - 1e-14)) & (
            (arrival < high * (1 - 1e-14)) | (high > end * (1 - 1e-9))
        )
        assert found == pytest.approx(inside.sum() / (high - low) / average, rel=1e-9)
    assert (table.at(arrival) > 0).all()


def test_between_its_times_the_table_is_linear():
    table = RateTable(40.0, 2.0, np.array([1.0, 3.0, 0.5]))
    assert table.at(np.array([0.0, 0.5, 2.0, 3.0, 4.0])).tolist() == [1.0, 1.5, 3.0, 1.75, 0.5]


def test_a_constant_rate_is_found_within_noise():
    """A window holds 2000 arrivals, so its share of the average has a standard deviation of 2.2 %; four and
    a half of them are exceeded by one of the 50 independent windows once in 3000 seeds."""
    arrival = np.cumsum(np.random.default_rng(1).exponential(1.0, 100_000))
    table = local_rate(record_of(arrival, float(arrival[-1]), 1000), 2000.0)
    inner = table.relative[STEPS // 2 : -STEPS // 2]
    assert np.abs(inner - 1.0).max() < 0.1


def test_the_queue_length_cost_is_divided_by_the_local_rate(make_cell, tmp_path):
    cell = make_cell(
        arrivals=3000, warmup=40.0,
        arrival_process={"kind": "sinusoidal", "amplitude": 0.5, "period": 200.0},
    )  # fmt: skip
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    replicate = next(iter(Trace(tmp_path / "t.arrow")))
    table = local_rate(replicate, 50.0)
    setting = replace(setting_of(cell, "bernoulli"), amplitude=0.0, local_rate=table)
    costs = Record(replicate, setting).costs
    assert costs.kinds == Cost.QUEUE + 1
    columns = [replicate.column(name) for name in Costs.COLUMNS]
    matrix = np.empty((replicate.arrivals, costs.kinds))
    costs.matrix(*columns, matrix)
    cost = columns[3] / (costs.rate * table.at(columns[0]))
    np.testing.assert_allclose(matrix[:, Cost.QUEUE], cost - cost.mean(), atol=1e-9)
