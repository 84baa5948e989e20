"""Replay: requirements, runs and check against plain versions, exact values and the wrong-sign showcase."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from queuebench.base.randomness import stream
from queuebench.estimators.common.hotelling import hotelling
from queuebench.estimators.common.inference import intervals
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import EstimationError
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.replay import equal_means, replay, replay_record
from queuebench.pipeline.stages.build import Setup
from queuebench.queueing.arrivals import PoissonArrivals
from queuebench.queueing.rebuild import Rebuilder
from queuebench.queueing.service import draw_requirements
from tests.references.records import records
from tests.references.simulation import simulate

MISSPECIFICATIONS = {
    "as it is": lambda structure: structure,
    "delay ignored": lambda structure: replace(structure, information="fresh", age=0.0),
    "delay taken as half": lambda structure: replace(structure, age=structure.age / 2),
    "delay taken as double": lambda structure: replace(structure, age=structure.age * 2),
    "speeds taken as equal": lambda structure: replace(
        structure, speeds=np.ones(len(structure.speeds))
    ),
    "travel time ignored": lambda structure: replace(structure, travel_time=0.0),
}


def rebuilt(record):
    replicate = record.replicate
    carry = replicate.carry.to_pylist()
    carried = [np.array([job[name] for job in carry]) for name in ("server", "departure")]
    rebuilder = Rebuilder(record.setting.structure, (carried[0].astype(int), carried[1]))
    out = np.empty(record.arrivals)
    rebuilder.rebuild(
        *(replicate.column(name) for name in ("arrival_time", "server", "response_time")), out
    )
    return out, rebuilder.impossible


def drawn(cell, record, distribution, parameters):
    """Return the requirements the experiment drew for its recorded arrivals."""
    streams = Setup(cell, "bernoulli").streams(0)
    n = record.arrivals + 20_000
    arrival, requirement = np.empty(n), np.empty(n)
    PoissonArrivals(streams("arrivals"), cell.rate, -cell.experiment.warmup).fill(arrival)
    draw_requirements(streams("service"), distribution, parameters, requirement)
    first = int(np.searchsorted(arrival, 0.0))
    return requirement[first : first + record.arrivals]


@pytest.mark.parametrize("travel_time", [0.0, 0.4])
@pytest.mark.parametrize("age", [0.0, 1.5])
def test_requirements_are_those_that_were_drawn(make_cell, tmp_path, travel_time, age):
    cell = make_cell(
        load=0.8, arrivals=3000, warmup=40.0, travel_time=travel_time,
        speeds={"kind": "two_speed", "ratio": 2.0},
        information={"kind": "constant_age", "age": age},
        service={"distribution": "pareto", "shape": 2.5},
    )  # fmt: skip
    (record,) = records(cell, tmp_path / "t.arrow")
    requirement, impossible = rebuilt(record)
    assert len(record.replicate.carry) > 5
    assert impossible == 0
    expected = drawn(cell, record, "pareto", {"shape": 2.5})
    np.testing.assert_allclose(requirement, expected, rtol=0, atol=1e-9)


def test_a_service_before_its_turn_is_impossible(make_cell, tmp_path):
    cell = make_cell(arrivals=2000, warmup=40.0)
    (record,) = records(cell, tmp_path / "t.arrow")
    arrival, server, response = (
        record.replicate.column(name).copy() for name in ("arrival_time", "server", "response_time")
    )
    met = np.flatnonzero(record.replicate.column("queue_length") > 0)[100]
    response[met] = 1e-3
    rebuilder = Rebuilder(record.setting.structure, (np.array([0]), np.array([-1.0])))
    rebuilder.rebuild(arrival, server, response, np.empty(record.arrivals))
    assert rebuilder.impossible == 1


@pytest.mark.parametrize("travel_time", [0.0, 0.5])
def test_one_server_leaves_nothing_to_chance(make_cell, tmp_path, travel_time):
    """With one server every replay is the experiment itself, jobs carried in included."""
    one = {"policy": "power_of_d", "d": 1}
    cell = make_cell(
        load=0.9, arrivals=1500, warmup=50.0, horizon=20.0, system={"servers": 1},
        travel_time=travel_time, control=one, treatment=one,
    )  # fmt: skip
    for record in records(cell, tmp_path / "t.arrow", replicates=3):
        found = replay_record(record, record.setting.structure)
        assert found.estimate.value == 0.0
        for statistic in found.check.statistics:
            assert statistic.replayed == pytest.approx(statistic.recorded, abs=1e-9)


def permutations(words, servers, samples):
    """Yield the permutation of every arrival: a Fisher-Yates shuffle of what the last one left."""
    order = list(range(servers))
    for row in words:
        for i in range(samples):
            other = i + ((int(row[i]) * (servers - i)) >> 32)
            order[i], order[other] = order[other], order[i]
        yield list(order)


@pytest.mark.parametrize(
    ("information", "travel_time"),
    [({"kind": "fresh"}, 0.0), ({"kind": "constant_age", "age": 1.0}, 0.3)],
)
def test_against_a_simulation_event_by_event(make_cell, tmp_path, information, travel_time):
    cell = make_cell(
        load=0.8, arrivals=1000, warmup=0.0, horizon=3.0, system={"servers": 6},
        information=information, travel_time=travel_time,
        speeds={"kind": "two_speed", "ratio": 1.5},
        treatment={"policy": "power_of_d", "d": 4},
    )  # fmt: skip
    (record,) = records(cell, tmp_path / "t.arrow")
    requirement, _ = rebuilt(record)
    samples = 2
    sides = np.zeros((samples, 3, record.arrivals))
    met = np.zeros((samples, record.arrivals))
    treated = record.replicate.column("treated")
    for sample in range(samples):
        routing = stream(*record.setting.random_key, "replay", 0, sample)
        raw = routing.bit_generator.random_raw(record.arrivals * 2)
        orders = list(permutations(raw.view(np.uint32).reshape(-1, 4), 6, 4))
        for run, arms in enumerate((treated & False, treated | True, treated)):
            jobs, _ = simulate(
                record.replicate.column("arrival_time"), requirement, arms, orders,
                speeds=record.setting.structure.speeds,
                control={"policy": "power_of_d", "d": 2}, treatment={"policy": "power_of_d", "d": 4},
                travel_time=travel_time,
                information=None if information["kind"] == "fresh" else information,
                record_from=-1.0,
            )  # fmt: skip
            sides[sample, run] = [job["response_time"] for job in jobs]
            if run == 2:
                met[sample] = [job["queue_length"] for job in jobs]
    kept = slice(cell.horizon_arrivals(3.0), None)
    mean = sides.mean(axis=0)[:, kept]
    found = replay_record(record, record.setting.structure, samples)
    assert found.estimate.value == pytest.approx((mean[1] - mean[0]).mean(), abs=1e-9)
    assert found.responses == pytest.approx(mean[:2].mean(axis=1), rel=1e-9)
    arm, length = treated[kept], met.mean(axis=0)[kept]
    replayed = [statistic.replayed for statistic in found.check.statistics]
    expected = [mean[2, arm].mean() - mean[2, ~arm].mean()]
    for side in (~arm, arm):
        expected += [mean[2, side].mean(), length[side].mean()]
    assert replayed == pytest.approx(expected, rel=1e-9)


def test_alike_arms_have_no_effect(make_cell, tmp_path):
    two = {"policy": "power_of_d", "d": 2}
    cell = make_cell(load=0.8, arrivals=20_000, control=two, treatment=two, horizon=20.0)
    (record,) = records(cell, tmp_path / "t.arrow")
    estimate = replay(record)
    assert estimate.value == 0.0
    assert estimate.standard_error == 0.0


def test_against_the_exact_effect(make_cell, tmp_path):
    """The oracle's effect at N = 3, load 0.7, d = 1 against 2; four standard errors of 12 replicates,
    exceeded once in some 1000 seeds."""
    cell = make_cell(
        load=0.7, arrivals=40_000, system={"servers": 3},
        control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2},
    )  # fmt: skip
    values = [replay(record).value for record in records(cell, tmp_path / "t.arrow", 12)]
    error = np.std(values, ddof=1) / np.sqrt(12)
    assert abs(np.mean(values) - (-1.448541)) < 4 * error


@pytest.mark.parametrize("seed", [1])
def test_the_check_in_the_wrong_sign_showcase(make_cell, tmp_path, seed):
    """The right structure is accepted and finds the sign, the one without the delay is rejected.

    With a level of 5 % more than two of six rejections of the right one happen once in 450 seeds.
    """
    cell = make_cell(
        load=0.9, seed=seed, arrivals=60_000, information={"kind": "constant_age", "age": 1.5},
        treatment={"policy": "power_of_d", "d": 5},
    )  # fmt: skip
    rejected = 0
    for record in records(cell, tmp_path / "t.arrow", 6):
        right = replay_record(record, record.setting.structure)
        fresh = replay_record(record, MISSPECIFICATIONS["delay ignored"](record.setting.structure))
        assert right.estimate.value > 0 > fresh.estimate.value
        assert fresh.check.p_value < 1e-3
        assert fresh.estimate.note.startswith("fails to reproduce the experiment")
        rejected += right.check.rejects
    assert rejected <= 2


def test_the_check_notices_wrong_speeds(make_cell, tmp_path):
    cell = make_cell(load=0.7, arrivals=40_000, speeds={"kind": "two_speed", "ratio": 1.5})
    for record in records(cell, tmp_path / "t.arrow", 3):
        structure = record.setting.structure
        wrong = MISSPECIFICATIONS["speeds taken as equal"](structure)
        assert replay_record(record, wrong).check.p_value < 1e-3
        assert replay_record(record, structure).check.p_value > 1e-3


def test_intervals_cover_in_small_systems(make_cell, tmp_path):
    """30 records against a precise simulated effect: fewer than 24 of them cover once in 700 seeds."""
    cell = make_cell(load=0.7, arrivals=12_000, system={"servers": 5}, horizon=20.0)
    found = [replay(record) for record in records(cell, tmp_path / "t.arrow", 30)]
    long = replace_arrivals(make_cell, 1_500_000)
    (record,) = records(long, tmp_path / "long.arrow")
    truth = replay(record).value
    limits = [intervals(e.value, e.standard_error, e.freedom) for e in found]
    assert sum(b["lower_95"] <= truth <= b["upper_95"] for b in limits) >= 24


def replace_arrivals(make_cell, arrivals):
    return make_cell(load=0.7, arrivals=arrivals, system={"servers": 5}, horizon=20.0, seed=7)


def test_a_scenario_may_tell_replay_something_else_than_is_so(make_cell):
    """What is simulated stays as it is; what replay is told is what the study of structures tells it."""
    delayed = {"information": {"kind": "constant_age", "age": 1.5}, "travel_time": 0.25}
    speeds = {"kind": "two_speed", "ratio": 2.0}
    assumed = {"information": {"kind": "fresh"}, "speeds": {"kind": "equal"}, "travel_time": 0.0}
    right = setting_of(make_cell(speeds=speeds, **delayed), "bernoulli").structure
    told = setting_of(make_cell(speeds=speeds, assumed=assumed, **delayed), "bernoulli")
    expected = right
    for name in ("delay ignored", "speeds taken as equal", "travel time ignored"):
        expected = MISSPECIFICATIONS[name](expected)
    assert vars(told.structure).keys() == vars(expected).keys()
    for key, value in vars(expected).items():
        assert np.array_equal(getattr(told.structure, key), value), key
    assert told.travel_time == 0.25


def test_hotelling_in_one_dimension_is_students_test():
    values = np.random.default_rng(3).normal(0.3, 2.0, size=(15, 1))
    expected = stats.ttest_1samp(values[:, 0], 0.0).pvalue
    assert hotelling(values) == pytest.approx(expected, rel=1e-10)


def test_hotelling_keeps_its_level():
    """2000 tests at 5 % reject 100 times, give or take four standard deviations of 9.7."""
    rng = np.random.default_rng(4)
    mixing = rng.normal(size=(5, 5))
    rejected = sum(hotelling(rng.normal(size=(14, 5)) @ mixing) < 0.05 for _ in range(2000))
    assert abs(rejected - 100) < 40


def test_equal_means_against_the_analysis_of_variance():
    """With many values per server the chi-square and F tests agree; alike servers pass at the level."""
    rng = np.random.default_rng(5)
    groups = [rng.normal(shift, 1.0, 4000) for shift in (0.0, 0.03, 0.05)]
    sums = np.array([[len(g), g.sum(), g @ g] for g in groups])
    assert equal_means(sums) == pytest.approx(stats.f_oneway(*groups).pvalue, rel=0.02)
    assert equal_means(np.array([[5.0, 2.5, 1.25], [8.0, 4.0, 2.0]])) == 1.0
    assert equal_means(sums[:1]) == 1.0


def test_constant_requirements_leave_nothing_to_compare(make_cell, tmp_path):
    """Only rounding tells constant requirements apart, and that is no evidence against a structure."""
    cell = make_cell(load=0.8, arrivals=40_000, service={"distribution": "constant"})
    for record in records(cell, tmp_path / "t.arrow", 3):
        assert replay_record(record, record.setting.structure).check.p_value > 1e-3


def test_hotelling_without_anything_to_test():
    assert hotelling(np.zeros((12, 3))) == 1.0
    assert np.isnan(hotelling(np.ones((3, 5)) + np.eye(3, 5)))


def test_short_records(make_cell, tmp_path):
    cell = make_cell(arrivals=900, warmup=20.0)
    (record,) = records(cell, tmp_path / "t.arrow")
    found = replay_record(record, record.setting.structure)
    assert np.isnan(found.estimate.standard_error)
    assert np.isnan(found.check.p_value)
    assert found.estimate.note == "record too short for batch means"
    setting = replace(record.setting, batch_horizon=40.0)
    with pytest.raises(EstimationError, match="two horizons of 560 arrivals or more, not 900"):
        replay(Record(record.replicate, setting))
