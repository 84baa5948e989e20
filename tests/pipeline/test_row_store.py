"""Rows are reused where what they depend on is the same, and nowhere else; the bytes are a fresh run's."""

import re

import pyarrow.parquet as pq
import pytest

from queuebench.estimators.common.registry import all_estimators
from queuebench.pipeline import jobs
from queuebench.pipeline.jobs import row_keys
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.study.cells import parse_study, resolve

STUDY = {
    "seed": 5,
    "arrivals": 1200,
    "warmup": 20.0,
    "system": {"servers": 4, "loads": [0.6]},
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "horizons": [3.0, 5.0, 8.0],
    "designs": {"b": {"kind": "bernoulli"}, "s": {"kind": "switchback", "period": 9.0}},
    "estimators": ["naive", "mixed_dq", "horvitz_thompson", "replay", "switchback"],
    "scenarios": {"one": {}},
}
NAMES = ("estimates", "diagnostics")


def cell(**keys):
    return resolve(parse_study({**STUDY, **keys}))[0]


class Study:
    """A folder of results: runs batches in it and says how many replicates were simulated."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir()
        self.log = ""

    def outputs(self, begin, end):
        return [self.folder / name / "one-load0.6" / f"{begin}-{end}.parquet" for name in NAMES]

    def run(self, settings, begin, end):
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        outputs = self.outputs(begin, end)
        simulate_and_estimate(settings, range(begin, end), outputs, log, row_keys(settings))
        self.log = log.read_text()
        return [path.read_bytes() for path in outputs]

    @property
    def simulated(self):
        return int(self.log.rsplit("done, ", 1)[1].split(" steps")[0])

    @property
    def stored(self):
        return sorted((self.folder / "store/one-load0.6").iterdir())


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path / "results")


@pytest.fixture
def fresh(tmp_path):
    """Return the bytes of a run that has nothing to reuse."""
    folders = iter(range(100))
    return lambda *what: Study(tmp_path / f"fresh{next(folders)}").run(*what)


def test_every_estimator_alone_says_what_it_says_among_others(study, fresh):
    """Added one by one, so that whatever estimators share is computed for each of them alone."""
    names = [
        entry.name for entry in all_estimators() if entry.design in ("bernoulli", "switchback")
    ]
    for last in range(1, len(names) + 1):
        found = study.run(cell(estimators=names[:last]), 0, 1)
    everything = cell(estimators="all")
    assert found == fresh(everything, 0, 1)
    study.run(everything, 0, 1)
    assert study.simulated == 0
    # Fewer need no simulation, but where diagnostics compared one of those that went.
    fewer = cell(
        estimators=[*names[::3], *(entry.name for entry in all_estimators() if entry.compared)]
    )
    assert study.run(fewer, 0, 1) == fresh(fewer, 0, 1)
    assert study.simulated == 0
    study.run(everything, 0, 1)
    assert study.simulated == 0


def test_a_new_estimator_simulates_its_design_alone(study, fresh):
    study.run(cell(estimators=["naive", "dq", "switchback"]), 0, 3)
    assert study.simulated == 6
    more = cell(estimators=["naive", "dq", "switchback", "switchback_burn_in"])
    assert study.run(more, 0, 3) == fresh(more, 0, 3)
    assert study.simulated == 3
    assert "6 of 9 estimates are those of an earlier run" in study.log


def test_a_batch_keeps_what_it_holds_when_its_size_changes(study, fresh):
    for begin in (0, 3):
        study.run(cell(), begin, begin + 3)
    for begin, simulated in ((0, 0), (2, 0), (4, 0), (6, 4)):
        assert study.run(cell(), begin, begin + 2) == fresh(cell(), begin, begin + 2)
        assert study.simulated == simulated
    assert study.run(cell(), 0, 9) == fresh(cell(), 0, 9)
    assert study.simulated == 2
    # One file has it all: those it took its rows from are gone.
    assert [path.name for path in study.stored] == [f"0-9.{name}.rows" for name in NAMES[::-1]]


@pytest.mark.parametrize(
    "keys",
    [
        {"seed": 6},
        {"arrivals": 1201},
        {"treatment": {"policy": "power_of_d", "d": 3}},
        {"horizon": 4.0, "horizons": [3.0, 5.0]},
        {"horizon": 4.0},
        {"assumed": {"travel_time": 1.0}},
    ],
)
def test_another_setting_reuses_nothing(study, fresh, keys):
    study.run(cell(), 0, 2)
    assert study.run(cell(**keys), 0, 2) == fresh(cell(**keys), 0, 2)
    assert study.simulated == 4


def test_a_design_of_another_period_is_simulated_alone(study, fresh):
    study.run(cell(), 0, 2)
    other = cell(designs={**STUDY["designs"], "s": {"kind": "switchback", "period": 12.0}})
    assert study.run(other, 0, 2) == fresh(other, 0, 2)
    assert study.simulated == 2


@pytest.mark.parametrize(
    ("module", "simulated"),
    [
        ("queuebench.estimators.switchback", 2),
        ("queuebench.estimators.horvitz_thompson", 2),
        ("queuebench.estimators.replay", 2),  # One of those that diagnostics compare.
        ("queuebench.pipeline.stages.estimate", 4),
        ("queuebench.pipeline.stages.simulate", 4),
    ],
)
def test_an_edit_estimates_again_what_it_concerns(study, monkeypatch, module, simulated):
    before = study.run(cell(), 0, 2)
    modules = {entry.name: entry.function.__module__ for entry in all_estimators()}
    rows = pq.read_table(study.outputs(0, 2)[0])["estimator"].to_pylist()
    concerned = [name for name in rows if modules[name] == module] or rows
    real = jobs.fingerprint
    monkeypatch.setattr(
        jobs, "fingerprint", lambda *names: real(*names) + ("edited" if module in names else "")
    )
    assert study.run(cell(), 0, 2) == before
    assert study.simulated == simulated
    reused = re.search(r"(\d+) of \d+ estimates are those", study.log)
    assert len(rows) - len(concerned) == (int(reused[1]) if reused else 0)


def test_other_libraries_reuse_nothing(study, monkeypatch):
    study.run(cell(), 0, 1)
    monkeypatch.setattr(jobs, "version", lambda name: "0")
    study.run(cell(), 0, 1)
    assert study.simulated == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[:-1],
        lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:],
        lambda content: bytes([content[0] ^ 1]) + content[1:],
    ],
)
def test_a_damaged_file_is_left_out_said_and_made_again(study, damage):
    before = study.run(cell(), 0, 1)
    for path in study.stored:
        path.write_bytes(damage(path.read_bytes()))
    assert study.run(cell(), 0, 1) == before
    assert study.simulated == 2
    assert study.log.count("is damaged; left out") == 2
    study.run(cell(), 0, 1)
    assert study.simulated == 0


def test_a_file_that_cannot_be_read_or_written_stops_nothing(study):
    before = study.run(cell(), 0, 1)
    for path in study.stored:
        path.unlink()
        path.mkdir()
    assert study.run(cell(), 0, 1) == before
    assert "cannot be read (Is a directory); left out" in study.log
    assert "could not be written (Is a directory); later runs compute again" in study.log


def test_a_workload_is_known_by_its_content(study, tmp_path):
    """Its path and columns are the same."""
    path = tmp_path / "workload.csv"
    replayed = {
        "workload": {"path": str(path), "time": "t", "size": {"s": 1.0}}, "kind": "replay"
    }  # fmt: skip
    for size in (2, 3, 3):
        path.write_text("t,s\n" + "".join(f"{i},{1 + i % size}\n" for i in range(60)))
        study.run(cell(scenarios={"one": replayed}), 0, 1)
    assert study.simulated == 0
    path.write_text(path.read_text() + "60,1\n")
    study.run(cell(scenarios={"one": replayed}), 0, 1)
    assert study.simulated == 2
