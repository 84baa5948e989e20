"""Runs as a whole: identities, independence of block sizes, and agreement with theory."""

import numpy as np
import pytest

from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.queueing import simulation
from queuebench.trace import Trace
from tests.references.simulation import littles_law_area

FEATURES = {
    "plain": {},
    "delayed": {"information": {"kind": "constant_age", "age": 1.0}},
    "travelling": {"travel_time": 0.5, "information": {"kind": "bulletin_board", "period": 2.0}},
    "unequal": {"speeds": {"kind": "two_speed", "ratio": 2.0}},
    "varying": {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.6, "period": 50.0}},
    "constant": {"service": {"distribution": "constant"}},
    "pareto": {"service": {"distribution": "pareto", "shape": 2.5}},
    "round robin": {"treatment": {"policy": "round_robin"}},
}
DESIGNS = {
    "bernoulli": {"kind": "bernoulli"},
    "group": {"kind": "group"},
    "switchback": {"kind": "switchback", "period": 7.0, "burn_in": 2.0},
}


@pytest.fixture
def simulated(make_cell, tmp_path):
    def simulate(design, replicates=range(2), **keys):
        cell = make_cell(
            **{
                "system": {"servers": 6},
                "arrivals": 3000,
                "warmup": 30.0,
                "designs": {design: DESIGNS[design]},
                **keys,
            }
        )
        path = tmp_path / f"{design}-{len(list(tmp_path.iterdir()))}.arrow"
        simulate_batch(cell, design, replicates, path)
        return path

    return simulate


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("feature", FEATURES)
def test_littles_law_is_an_identity_on_every_trace(simulated, design, feature):
    for replicate in Trace(simulated(design, **FEATURES[feature])):
        records = [
            {"arrival_time": a, "response_time": r}
            for a, r in zip(
                replicate.column("arrival_time"), replicate.column("response_time"), strict=True
            )
        ]
        over_jobs, over_time = littles_law_area(
            records, replicate.carry.to_pylist(), replicate.record_end
        )
        assert over_jobs == pytest.approx(over_time, rel=1e-9)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("feature", FEATURES)
def test_the_size_of_blocks_changes_no_byte(simulated, monkeypatch, design, feature):
    def columns(path):
        trace = list(Trace(path))
        names = ["arrival_time", "treated", "server", "queue_length", "in_system", "response_time"]
        return [[r.column(name).tobytes() for name in names] for r in trace]

    whole = columns(simulated(design, **FEATURES[feature]))
    monkeypatch.setattr(simulation, "BLOCK", 258)
    assert columns(simulated(design, **FEATURES[feature])) == whole


def test_the_number_in_system_counts_the_jobs_carried_in(simulated):
    for replicate in Trace(simulated("bernoulli")):
        carried = len(replicate.carry)
        first = replicate.column("arrival_time")[0]
        departed = sum(job["departure"] <= first for job in replicate.carry.to_pylist())
        assert replicate.column("in_system")[0] == carried - departed


def test_a_replicate_does_not_depend_on_its_batch(simulated):
    together = list(Trace(simulated("bernoulli", replicates=range(4))))
    alone = next(iter(Trace(simulated("bernoulli", replicates=range(3, 4)))))
    assert together[3].column("response_time").tobytes() == alone.column("response_time").tobytes()


def test_records_are_as_long_as_asked(simulated):
    for replicate in Trace(simulated("switchback", arrivals=1234)):
        assert replicate.arrivals == 1234
        assert replicate.record_end == replicate.column("arrival_time")[-1]
        np.testing.assert_array_equal(
            replicate.column("block"), replicate.column("arrival_time") // 7.0
        )
        treated = replicate.column("treated")
        block = replicate.column("block")
        for pair in range(block[-1] // 2):
            first, second = treated[block == 2 * pair], treated[block == 2 * pair + 1]
            assert first.all() != second.all()
            assert first.any() != second.any()
    for replicate in Trace(simulated("bernoulli", **FEATURES["varying"], arrivals=3000)):
        assert replicate.record_end == 700.0  # the whole number of cycles nearest to 3000 / 4.2
        assert replicate.column("arrival_time")[-1] <= 700.0


def test_group_arms_keep_to_their_own_servers(simulated):
    for replicate in Trace(simulated("group", speeds={"kind": "two_speed", "ratio": 3.0})):
        server, treated = replicate.column("server"), replicate.column("treated")
        own = [set(server[treated == arm]) for arm in (False, True)]
        assert not own[0] & own[1]
        assert [len(pool & {0, 1, 2}) for pool in own] in ([1, 2], [2, 1])
