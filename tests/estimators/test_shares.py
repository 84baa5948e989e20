"""Designs of several shares: sections against loops, quadrature, and the curve through levels and slopes."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.linalg import cholesky, lstsq

from queuebench.estimators import EstimationError, all_estimators
from queuebench.estimators.common import share_curve as curves
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.sections import Section, rounds, sections_of
from queuebench.estimators.common.setting import setting_of
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.study.cells import parse_study, resolve
from queuebench.trace import Trace
from tests.references import estimators as reference

HORIZON = 3.0
OVER_SHARES = [entry for entry in all_estimators() if entry.design == "shares"]
SLOPES = [
    entry for entry in all_estimators()
    if f"{entry.name}_quadrature" in {other.name for other in OVER_SHARES}
]  # fmt: skip


def cell_of(design, **changes):
    study = {
        "seed": 3, "arrivals": 4000, "horizon": HORIZON, "warmup": 20.0,
        "system": {"servers": 4, "loads": [0.6]},
        "control": {"policy": "power_of_d", "d": 1}, "treatment": {"policy": "power_of_d", "d": 2},
        "designs": {"bernoulli": {"kind": "bernoulli"}, "shares": {"kind": "shares"} | design},
        "scenarios": {"one": {}},
    } | changes  # fmt: skip
    return resolve(parse_study(study))[0]


def record_of(folder, design, **changes):
    cell = cell_of(design, **changes)
    simulate_batch(cell, "shares", range(1), folder / "trace.arrow")
    (replicate,) = Trace(folder / "trace.arrow")
    return Record(replicate, setting_of(cell, "shares"))


CYCLES = {"shares": [0.2, 0.7, 1.0], "period": 33.0, "burn_in": 4.0}
RAMP = {"shares": [0.0, 0.4, 0.8], "period": 500.0, "burn_in": 20.0, "order": "ramp"}
FEW = {"shares": [0.3, 0.6], "period": 210.0, "burn_in": 10.0}
TWICE = {"shares": [0.0, 0.0, 0.5, 1.0], "period": 25.0, "burn_in": 5.0}
DESIGNS = {"cycles": CYCLES, "ramp": RAMP, "few": FEW, "twice": TWICE}


@pytest.fixture(params=DESIGNS)
def record(request, tmp_path):
    return record_of(tmp_path, DESIGNS[request.param])


def plain_stretches(record):
    """Return by share the numbers of the arrivals of every stretch, and when it starts and stops."""
    replicate, burn_in = record.replicate, record.setting.burn_in
    arrival, block, share = (replicate.column(n) for n in ("arrival_time", "block", "share"))
    blocks = []
    for number in sorted(set(block)):
        own = [i for i in range(len(arrival)) if block[i] == number]
        begin = arrival[own[0]] if blocks else replicate.record_start
        again = blocks and blocks[-1][0] == share[own[0]]
        blocks.append([share[own[0]], own, begin if again else begin + burn_in])
    ends = [arrival[own[0]] for _, own, _ in blocks[1:]] + [replicate.record_end]
    found = {}
    for (one, own, start), end in zip(blocks, ends, strict=True):
        inside = [i for i in own if arrival[i] >= start]
        if len(inside) > 1:
            found.setdefault(one, []).append((inside, start, end))
    return {
        one: [s for s in parts if s[2] - s[1] >= 0.5 * np.median([p[2] - p[1] for p in parts])]
        for one, parts in sorted(found.items())
    }


def test_sections_are_the_blocks_of_a_share_without_their_burn_in(record):
    replicate = record.replicate
    jobs = [(j["server"], j["arrival"], j["departure"]) for j in replicate.carry.to_pylist()]
    columns = [replicate.column(name) for name in ("server", "arrival_time", "response_time")]
    jobs += [(s, a, a + w) for s, a, w in zip(*columns, strict=True)]
    sections, plain = sections_of(record), plain_stretches(record)
    assert list(sections) == list(plain) == list(record.setting.shares)
    for share, section in sections.items():
        assert section.setting.treated_share == share
        assert len(section.stretches) == len(plain[share])
        for stretch, (inside, start, end) in zip(section.stretches, plain[share], strict=True):
            part = stretch.replicate
            assert (part.record_start, part.record_end, part.arrivals) == (start, end, len(inside))
            for name in ("arrival_time", "treated", "response_time", "share"):
                assert np.array_equal(part.column(name), replicate.column(name)[inside])
            present = {job for job in jobs if job[1] < start < job[2]}
            carried = part.carry.to_pylist()
            assert {(j["server"], j["arrival"], j["departure"]) for j in carried} == present


def plain_difference(record, section, kind):
    """Return Differences in Q of a section by loops over its stretches."""
    replicate = record.replicate
    arrival, treated, response, present = (
        replicate.column(n) for n in ("arrival_time", "treated", "response_time", "in_system")
    )
    stretches = [inside for inside, _, _ in plain_stretches(record)[section]]
    every = [i for inside in stretches for i in inside]
    spans = sum(arrival[inside[-1]] - arrival[inside[0]] for inside in stretches)
    rate = (len(every) - len(stretches)) / spans
    cost = response if kind == "response" else present / rate
    centre = reference.mean(cost[every])
    length = reference.horizon_arrivals(HORIZON, record.setting.rate)
    q = {True: [], False: []}
    for inside in stretches:
        for start in inside[: len(inside) - length]:
            window = range(start, start + length + 1)
            q[bool(treated[start])].append(sum(cost[i] - centre for i in window))
    return reference.mean(q[True]) - reference.mean(q[False])


@pytest.mark.parametrize(("name", "kind"), [("wdq_observed", "response"), ("qdq", "queue")])
def test_quadrature_agrees_with_loops(record, name, kind):
    (entry,) = (entry for entry in OVER_SHARES if entry.name == f"{name}_quadrature")
    weights = dict(zip(record.setting.shares, record.setting.weights, strict=True))
    inside = {share: weight for share, weight in weights.items() if 0 < share < 1}
    assert sum(inside.values()) == pytest.approx(1.0)
    plain = sum(w * plain_difference(record, share, kind) for share, w in inside.items())
    assert entry.function(record, HORIZON).value == pytest.approx(plain, rel=1e-9)


def test_levels_are_the_mean_responses_of_sections(record):
    found = curves.share_curve(record)
    response = record.replicate.column("response_time")
    for level, parts in zip(found.levels, plain_stretches(record).values(), strict=True):
        every = [i for inside, _, _ in parts for i in inside]
        assert level == pytest.approx(reference.mean(response[every]), rel=1e-12)


@pytest.mark.parametrize("entry", SLOPES, ids=lambda entry: entry.name)
def test_a_section_of_one_whole_record_gives_the_records_own_estimate(entry, tmp_path):
    cell = cell_of(CYCLES, arrivals=6000)
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "trace.arrow")
    (replicate,) = Trace(tmp_path / "trace.arrow")
    setting = setting_of(cell, "bernoulli")
    horizon = HORIZON if entry.uses_horizon else None
    whole = entry.function(Record(replicate, setting), horizon)
    section = entry.function(Section([replicate], setting), horizon)
    assert section.value == pytest.approx(whole.value, rel=1e-9)
    assert section.standard_error == pytest.approx(whole.standard_error, rel=1.0)


def test_batches_are_rounds_where_there_are_ten_stretches(tmp_path):
    assert rounds(sections_of(record_of(tmp_path, CYCLES)).values())
    few = sections_of(record_of(tmp_path, FEW))
    assert not rounds(few.values())
    assert all(sum(section.batches) >= 10 for section in few.values())


def test_a_share_that_was_never_run_and_blocks_shorter_than_the_horizon_are_refused(tmp_path):
    record = record_of(tmp_path, CYCLES)
    absent = Record(record.replicate, replace(record.setting, shares=(0.2, 0.5, 0.7, 1.0)))
    with pytest.raises(
        EstimationError, match=r"no block of treated share 0\.5 in the record is longer"
    ):
        sections_of(absent)
    (entry,) = (entry for entry in OVER_SHARES if entry.name == "qdq_quadrature")
    with pytest.raises(EstimationError, match="longer than half of a block's"):
        entry.function(record, 20.0)


# The curve


def data_of(shares, level, slope, sd=1e-3, batches=200, seed=1):
    """Return data of a curve with independent noise in levels and slopes."""
    shares = np.array(shares)
    sloped = np.flatnonzero((shares > 0) & (shares < 1))
    mean = np.concatenate([level(shares), slope(shares[sloped])])
    noise = np.random.default_rng(seed).standard_normal((batches, len(mean)))
    noise = (noise - noise.mean(axis=0)) * sd * np.sqrt(batches)
    groups = [(list(range(len(mean))), mean + noise)]
    return curves._Data(shares, sloped, mean, groups)


CUBIC = Polynomial([3.0, -2.0, 1.5, -0.4])


def reciprocal(p):
    return 1.0 / Polynomial([0.3, 0.4, -0.1, 0.05])(p)


def reciprocal_slope(p):
    inside = Polynomial([0.3, 0.4, -0.1, 0.05])
    return -inside.deriv()(p) / inside(p) ** 2


@pytest.mark.parametrize("shares", [[0.2, 0.8], [0.1, 0.5, 0.9], [0.0, 0.5, 1.0]])
@pytest.mark.parametrize(
    ("level", "slope", "scale"),
    [(CUBIC, CUBIC.deriv(), False), (reciprocal, reciprocal_slope, True)],
    ids=["T", "1/T"],
)
def test_fits_are_exact_for_what_they_suppose(shares, level, slope, scale):
    data = data_of(shares, level, slope)
    fit = curves._fit(data, scale, 3)
    (curve,), (misfit,) = curves._predict(fit, data, data.values[None])
    assert curve == pytest.approx(level(curves.GRID), rel=1e-9)
    assert misfit == pytest.approx(0.0, abs=1e-6)


def test_a_fit_is_generalised_least_squares():
    data = data_of([0.1, 0.4, 0.9], np.exp, np.exp, sd=0.1)
    p, degree = data.shares, 3
    model = np.vstack(
        [[q**j for j in range(degree + 1)] for q in p]
        + [[j * q ** max(j - 1, 0) for j in range(degree + 1)] for q in p]
    )
    white = cholesky(np.linalg.inv(data.covariance))
    best = lstsq(white @ model, white @ data.values)[0]
    rest = white @ (data.values - model @ best)
    (curve,), (misfit,) = curves._predict(curves._fit(data, False, degree), data, data.values[None])
    assert curve == pytest.approx(Polynomial(best)(curves.GRID), rel=1e-8)
    assert misfit == pytest.approx(rest @ rest, rel=1e-8)


def test_the_scale_is_the_one_that_fits():
    for level, slope, other in (
        (CUBIC, CUBIC.deriv(), True),
        (reciprocal, reciprocal_slope, False),
    ):
        data = data_of([0.1, 0.5, 0.9], level, slope, sd=1e-4)
        wrong = curves._predict(curves._fit(data, other, 3), data, data.values[None])[1][0]
        assert wrong > 100.0
        (curve,) = curves.chosen_curves(data, data.values[None])
        assert curve == pytest.approx(level(curves.GRID), rel=1e-8)


def test_the_error_of_a_mean_over_samples_is_the_classical_one_where_nothing_is_chosen():
    rng = np.random.default_rng(5)
    batches, samples = 40, 20_000
    parts = rng.standard_normal(batches)
    drawn = rng.multinomial(batches, np.full(batches, 1 / batches), samples)
    classical = parts.var(ddof=1) / batches
    # The Monte Carlo part has been taken off; what is left of it is about sqrt(2 B) / samples of B / samples.
    assert curves._variance(drawn, drawn @ parts[:, None] / batches)[0] == pytest.approx(
        classical, rel=0.05
    )


def test_a_short_record_is_interpolated_and_says_so(tmp_path):
    record = record_of(tmp_path, RAMP | {"period": 12.0, "burn_in": 0.0}, arrivals=100)
    found = curves.share_curve(record)
    through = Polynomial.fit(found.shares, found.levels, len(found.shares) - 1)
    assert found.curve == pytest.approx(through(curves.GRID))
    assert math.isnan(found.estimate.standard_error)
    assert "too short" in found.estimate.note


def test_pseudo_values_have_the_estimate_as_their_mean(tmp_path):
    found = curves.share_curve(record_of(tmp_path, CYCLES)).estimate
    assert found.parts.mean() == pytest.approx(found.value)
    spread = found.parts.std(ddof=1) / math.sqrt(len(found.parts))
    assert spread == pytest.approx(found.standard_error)
    assert len(found.parts) == found.freedom + 1
