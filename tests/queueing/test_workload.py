"""Replaying a recorded workload; the file in tests/data is synthetic, in the shape of public ones."""

from pathlib import Path

import numpy as np
import pytest

from queuebench.base.errors import StudyError
from queuebench.base.randomness import stream
from queuebench.pipeline.checks import check_cell
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.pipeline.stages.build import Setup
from queuebench.pipeline.stages.simulate import simulate_batch, simulate_trace
from queuebench.pipeline.stages.truth import simulate_truth
from queuebench.queueing.arrivals import RecordedArrivals
from queuebench.queueing.workload import read_workload
from queuebench.study.cells import parse_study, resolve
from queuebench.study.system import WorkloadFile
from queuebench.trace import Trace

FILE = Path(__file__).parent / "data/workload.csv"
WORKLOAD = {
    "path": str(FILE), "time": "TIMESTAMP", "size": {"ContextTokens": 0.1, "GeneratedTokens": 1.0},
}  # fmt: skip


def replay_cell(load=0.7, **keys):
    scenario = {"kind": "replay", "workload": WORKLOAD} | keys.pop("scenario", {})
    study = {
        "seed": 2, "arrivals": 900, "warmup": 20.0, "horizon": 3.0,
        "system": {"servers": 4, "loads": [load]}, "scenarios": {"replayed": scenario}, **keys,
    }  # fmt: skip
    return resolve(parse_study(study))[0]


def test_gaps_and_sizes_are_those_of_the_file_scaled_to_mean_one():
    workload = read_workload(WorkloadFile(**WORKLOAD))
    assert len(workload.gaps) == len(workload.sizes) == 300
    assert workload.gaps.mean() == pytest.approx(1.0)
    assert workload.sizes.mean() == pytest.approx(1.0)
    first = [line.split(",") for line in FILE.read_text().splitlines()[1:3]]
    tokens = [0.1 * float(row[1]) + float(row[2]) for row in first]
    assert workload.sizes[1] / workload.sizes[0] == pytest.approx(tokens[1] / tokens[0])


def test_it_goes_in_a_circle_from_a_random_place_at_the_asked_rate():
    gaps, sizes = np.array([0.5, 1.0, 1.5]), np.array([3.0, 2.0, 1.0]) / 2
    arrivals = RecordedArrivals(stream(0), 2.0, -1.0, gaps, sizes)
    times, drawn = np.empty(7), np.empty(7)
    arrivals.fill(times)
    arrivals.fill_requirements(drawn)
    steps = np.diff(np.concatenate([[-1.0], times])) * 2.0
    place = int(np.argmin(np.abs(gaps - steps[0])))
    np.testing.assert_allclose(steps, gaps[(place + np.arange(7)) % 3])
    np.testing.assert_allclose(drawn, sizes[(place + np.arange(7)) % 3])


def test_a_trace_holds_the_workloads_sizes(tmp_path):
    cell = replay_cell()
    check_cell(cell)
    simulate_batch(cell, "bernoulli", range(2), tmp_path / "t.arrow")
    workload = read_workload(cell.experiment.workload)
    firsts = []
    for replicate in Trace(tmp_path / "t.arrow"):
        arrival = replicate.column("arrival_time")
        # Lone jobs respond in their own size.
        alone = replicate.column("queue_length") == 0
        responses = replicate.column("response_time")[alone]
        distance = np.abs(responses[:, None] - workload.sizes[None, :]).min(axis=1)
        assert distance.max() < 1e-9
        assert 900 / arrival[-1] == pytest.approx(0.7 * 4, rel=0.05)
        firsts.append(arrival[1] - arrival[0])
    assert firsts[0] != firsts[1]


def test_the_truth_replays_the_same_jobs_in_both_runs():
    cell = replay_cell(truth={"relative": 0.2, "max_arrivals": 60_000})
    truth = simulate_truth(cell)
    assert truth.gte < 0
    assert abs(truth.gte - truth.gte_queue) < 0.05 * truth.response_control


def bursts(path):
    """Write a workload of bursts: thirty jobs within a moment, then a long pause."""
    rng = np.random.default_rng(3)
    rows, now = ["t,size"], 0.0
    for _ in range(40):
        for _ in range(30):
            now += 0.01 * rng.exponential()
            rows.append(f"{now},{rng.exponential()}")
        now += 20.0
    path.write_text("\n".join(rows) + "\n")
    return {"path": str(path), "time": "t", "size": {"size": 1.0}}


def test_littles_law_holds_for_time_averages_and_not_for_the_number_met(tmp_path):
    """Bursts, so that arrivals meet other queues than there are on average.

    The time average against the integral of a step function over all events; the two sides of Little's
    law in the same runs differ by what is at the ends of the record only.
    """
    cell = replay_cell(
        scenario={"workload": bursts(tmp_path / "bursts.csv")},
        truth={"relative": 1e-6, "of_response": 1e-6, "max_arrivals": 40_000},
    )
    truth = simulate_truth(cell)
    over_time = []
    for arm in (0, 1):
        run = Setup(cell).pure(arm)
        blocks = [(b.arrival_time.copy(), b.departure.copy()) for b in run.blocks(arrivals=40_000)]
        arrival, departure = (np.concatenate(column) for column in zip(*blocks, strict=True))
        left = np.concatenate([run.carry[-1], departure])
        events = [(0.0, len(run.carry[0])), *((t, 1) for t in arrival)]
        events = sorted(events + [(t, -1) for t in left if t <= arrival[-1]])
        times, steps = np.array(events).T
        over_time.append(np.sum(np.cumsum(steps)[:-1] * np.diff(times)) / len(arrival))
    assert truth.gte_queue == pytest.approx(over_time[1] - over_time[0], rel=1e-6)
    assert abs(truth.gte_queue - truth.gte) < 0.02 * abs(truth.gte)
    assert abs(truth.gte_queue_seen - truth.gte) > 0.3 * abs(truth.gte)


def test_block_sizes_change_no_byte(tmp_path, monkeypatch):
    from queuebench.queueing import simulation

    simulate_batch(replay_cell(), "bernoulli", range(1), tmp_path / "a.arrow")
    monkeypatch.setattr(simulation, "BLOCK", 130)
    simulate_batch(replay_cell(), "bernoulli", range(1), tmp_path / "b.arrow")
    one, other = (next(iter(Trace(tmp_path / f"{name}.arrow"))) for name in "ab")
    assert one.column("response_time").tobytes() == other.column("response_time").tobytes()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n", "fewer than two jobs"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n2,2,3\n1,2,3\n", "row 2 arrives before"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n1,2,3\n", "same time"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n2,0,0\n", "row 2 has a size"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n2,x,0\n", "row 2, column ContextTokens"),
        ("TIMESTAMP,ContextTokens\n1,2\n2,2\n", "no column GeneratedTokens; its columns are"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    path = tmp_path / "workload.csv"
    path.write_text(text)
    cell = replay_cell(scenario={"workload": {**WORKLOAD, "path": str(path)}})
    with pytest.raises(StudyError, match=message):
        check_cell(cell)


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ({"workload": {**WORKLOAD, "path": "absent.csv"}}, "absent.csv cannot be read"),
        ({"service": {"distribution": "constant"}}, "has its own sizes"),
        (
            {"arrival_process": {"kind": "sinusoidal", "amplitude": 0.2, "period": 20.0}},
            "its own arrivals",
        ),
        ({"kind": "replayed"}, "must be simulated, replay or external"),
        ({"workload": {"path": "x"}}, r"workload\.time: this key is required"),
    ],
)
def test_a_wrong_scenario_is_refused(scenario, message):
    with pytest.raises(StudyError, match=message):
        check_cell(replay_cell(scenario=scenario))


def test_json_lines_are_read(tmp_path):
    path = tmp_path / "w.jsonl"
    path.write_text('{"t": 0, "n": 5}\n{"t": 3, "n": 1}\n{"t": 3, "n": 2}\n')
    workload = read_workload(WorkloadFile(path=str(path), time="t", size={"n": 1.0}))
    np.testing.assert_allclose(workload.sizes, np.array([5, 1, 2]) * 3 / 8)


@pytest.mark.parametrize("whole", [False, True])
def test_ties_are_said_in_the_jobs_logs(tmp_path, whole):
    rows = [line.split(",") for line in FILE.read_text().splitlines()]
    if whole:
        rows[1:] = [[row[0][:19], *row[1:]] for row in rows[1:]]
    (tmp_path / "w.csv").write_text("\n".join(",".join(row) for row in rows))
    times = [row[0] for row in rows[1:]]
    ties = len(times) - len(set(times))
    workload = WORKLOAD | {"path": str(tmp_path / "w.csv")}
    cell = replay_cell(scenario={"workload": workload}, arrivals=100)
    log = tmp_path / "log"
    simulate_trace(cell, "bernoulli", range(1), tmp_path / "t.arrow", log)
    outputs = [tmp_path / "e.parquet", tmp_path / "d.parquet"]
    simulate_and_estimate(cell, range(1), outputs, log)
    said = [line for line in log.read_text().splitlines() if "recorded workload" in line]
    assert len(said) == 2
    for line in said:
        assert "recorded workload of 300 jobs" in line
        assert (f"{ties / 299:.1%} of which arrive at the same time" in line) == (ties > 0)
