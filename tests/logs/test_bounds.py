"""What theory says of the effect, against exact systems."""

import math

import numpy as np
import pytest

from queuebench.logs import analyze_log
from queuebench.logs.bounds import Bounds, bounds_text, effect_bounds, random_response
from queuebench.logs.learned.system import LearnedSystem
from queuebench.queueing.oracle import effect_curve
from tests.logs.exported import columns_of, write_log
from tests.logs.test_learned_system import SERVERS, laws

SHARES = 0.25, 0.5, 0.75
MANY = 10**12
"""Arrivals without noise of the share."""

CELLS = [
    (servers, load, *choices)
    for servers in (4, 6)
    for load in (0.5, 0.7)
    for choices in ((1, 2), (2, 3), (2, 5))
    if choices[1] <= servers
]
_SLOW = pytest.mark.slow(seconds=160)


@pytest.mark.parametrize(
    "cell", [pytest.param(c, marks=_SLOW) if c == (6, 0.7, 1, 2) else c for c in CELLS], ids=str
)
def test_bounds_hold_in_exact_systems(cell):
    """With exact slopes and levels, in either direction; 1 / (1 - load) is the response of random choices.

    States left out change levels by a part of 1e-4 at most; the bounds are farther away than that.
    """
    load = cell[1]
    control, *mixed, treatment = effect_curve(*cell, (0.0, *SHARES, 1.0), tolerance=1e-4)
    effect = treatment.policy.c_w - control.policy.c_w
    for share, found in zip(SHARES, mixed, strict=True):
        level, worst = found.policy.c_w, 1.0 / (1.0 - load)
        made = effect_bounds(found.dq, found.dq, share, MANY, level, worst, 1.0)
        assert made.most < effect < made.least < 0.0
        assert math.isnan(made.curved) if share < 0.5 else effect < made.curved < made.least
        turned = effect_bounds(-found.dq, -found.dq, 1.0 - share, MANY, level, worst, 1.0)
        assert turned == pytest.approx([-value for value in made], nan_ok=True)


def test_ends_of_the_intervals_are_the_cautious_ones():
    made = effect_bounds(-3.0, -1.0, 0.5, MANY, 6.0, 9.0, 1.0)
    assert made == (-0.5, -1.0, -(9.0 - (6.0 - 1.5)))
    # No response is shorter than a service.
    assert effect_bounds(-30.0, -1.0, 0.5, MANY, 6.0, 9.0, 1.0).most == -8.0
    assert effect_bounds(-1.0, 1.0, 0.5, MANY, 6.0, 9.0) is None
    # What assumptions contradict each other about is not said.
    assert math.isnan(effect_bounds(-3.0, -2.9, 0.9, MANY, 6.0, 5.0).most)
    for worst in (math.nan, math.inf):
        assert math.isnan(effect_bounds(-3.0, -1.0, 0.5, MANY, 6.0, worst).most)


def test_a_share_of_a_half_may_be_a_little_less():
    assert effect_bounds(-2.0, -2.0, 0.495, 10_000, 6.0, math.nan).curved == -2.0
    assert math.isnan(effect_bounds(-2.0, -2.0, 0.47, 10_000, 6.0, math.nan).curved)


def learnt(slowness, load=0.8, burst=1, number=400_000):
    """Return a system of exponential services; arrivals come in bursts of a hundred fast or slow ones."""
    rng = np.random.default_rng(1)
    gaps = rng.exponential(1 / (load * SERVERS), number)
    gaps *= np.repeat(np.where(rng.random(number // 100) < 0.5, 1 / burst, 2 - 1 / burst), 100)
    service = np.quantile(rng.exponential(1.0, 10**6), np.linspace(0, 1, 10_001))
    return LearnedSystem(
        np.cumsum(gaps), laws(1, 2), True, service / service.mean(), np.array(slowness),
        np.array([0.0, 1.0]),
    )  # fmt: skip


def test_a_random_choice_of_server_against_a_queue_of_each():
    """1 / (1 - r) s for each; the load is known to 1 in 600 and its error counts fivefold, four of them."""
    assert random_response(learnt(np.ones(SERVERS)), 0, 0.0) == pytest.approx(5.0, rel=0.035)
    slowness = [0.8, 0.9, 1.0, 1.0, 1.1]
    expected = np.mean([s / (1 - 0.8 * s) for s in slowness])
    assert random_response(learnt(slowness), 0, 0.0) == pytest.approx(expected, rel=0.05)
    system = learnt(np.ones(SERVERS))
    error = math.sqrt(2.0 / 400_000)
    larger = random_response(system._replace(slowness=np.full(SERVERS, 1.0 + 3 * error)), 0, 0.0)
    assert random_response(system, 0, 3.0) == pytest.approx(larger, rel=1e-3)
    assert math.isinf(random_response(system, 0, 1000.0))


def test_what_the_log_contradicts_bounds_nothing():
    system = learnt(np.ones(SERVERS))
    assert random_response(system, 1, 0.0) == random_response(system, 0, 0.0)
    worse = system._replace(places=1.0 - system.places[:, :, ::-1] + 1.0 / SERVERS)
    assert math.isnan(random_response(worse, 1, 0.0))
    assert math.isnan(random_response(system._replace(first_come=False), 0, 0.0))
    assert math.isnan(random_response(learnt(np.ones(SERVERS), burst=1.5), 0, 0.0))


def test_the_sentence():
    text = bounds_text(Bounds(-0.5, -1.0, -4.0), "ms")
    assert "below -0.5 ms if the mean response falls as more jobs have the treatment" in text
    assert "below -1 ms if its curvature lessens too" in text
    assert "above -4 ms if besides the first jobs arrive as a Poisson process and control" in text
    text = bounds_text(Bounds(0.5, math.nan, math.nan), "ms")
    assert "above 0.5 ms if the mean response falls as more jobs have the control" in text
    assert "curvature lessens" not in text
    assert "Poisson" not in text


def test_a_log_is_told_its_bounds(simulate, describe, tmp_path):
    """Random against the shorter of two: the effect, -1.535, is within bounds and beyond the slope, -1.16."""
    _, replicate = simulate(
        arrivals=60_000, system={"servers": 4}, load=0.7, warmup=100.0,
        control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2},
    )  # fmt: skip
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    made = analyze_log(log, describe(horizon=10.0)).headline
    assert made.bounds.most < -1.535 < made.bounds.curved < made.bounds.least < 0.0
    assert any(text.startswith("theory says that the effect is below") for text in made.text)
