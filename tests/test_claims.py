"""Every rule on fabricated tables that must pass it, fail it, or leave it open."""

import math

import numpy as np
import pandas as pd
import pytest

from queuebench.claims.ab_tests import ab_test_evidence
from queuebench.claims.verdicts import (
    INCONCLUSIVE,
    NOT_REPRODUCED,
    REPRODUCED,
    Claim,
    Evidence,
    claim_rows,
    holm,
    judge,
)
from queuebench.tables.claims import claims_table


def evidence(value, error, low=0.0, high=math.inf, **place):
    return Evidence(place, "x", value, error, low, high)


@pytest.mark.parametrize(
    ("value", "error", "low", "high", "verdict"),
    [
        (3.0, 1.0, 0.0, math.inf, REPRODUCED),
        (-3.0, 1.0, 0.0, math.inf, NOT_REPRODUCED),
        (1.0, 1.0, 0.0, math.inf, INCONCLUSIVE),
        (-1.0, 1.0, 0.0, math.inf, INCONCLUSIVE),
        (3.0, 0.1, 2.0, 5.0, REPRODUCED),
        (5.5, 0.1, 2.0, 5.0, NOT_REPRODUCED),
        (1.5, 0.1, 2.0, 5.0, NOT_REPRODUCED),
        (4.95, 0.1, 2.0, 5.0, INCONCLUSIVE),
        (3.5, 4.0, 2.0, 5.0, INCONCLUSIVE),
        (0.5, 0.0, 0.0, 1.0, REPRODUCED),
        (1.5, 0.0, 0.0, 1.0, NOT_REPRODUCED),
        (math.nan, 1.0, 0.0, 1.0, INCONCLUSIVE),
        (1.0, math.nan, 0.0, 2.0, INCONCLUSIVE),
    ],
)
def test_a_single_place(value, error, low, high, verdict):
    assert judge([evidence(value, error, low, high)]) == verdict


def test_several_places():
    good, bad, open_ = evidence(9.0, 1.0), evidence(-9.0, 1.0), evidence(0.5, 1.0)
    assert judge([good, good]) == REPRODUCED
    assert judge([good, bad]) == NOT_REPRODUCED
    assert judge([good, open_]) == INCONCLUSIVE


def test_holm_by_hand():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])


def test_the_chance_of_a_false_verdict_is_bounded():
    """Twenty places just on the edge: the claim falls in at most 2.5 % of 4000 studies (+ 4 se)."""
    rng = np.random.default_rng(0)
    fell = np.mean(
        [
            judge([evidence(v, 1.0) for v in rng.normal(size=20)]) == NOT_REPRODUCED
            for _ in range(4000)
        ]
    )
    assert fell < 0.025 + 4 * np.sqrt(0.025 / 4000)


def test_rows_show_the_least_favourable_comparison_and_an_overall_verdict():
    claim = Claim("c", "text", "source")
    rows = claim_rows(
        claim,
        [
            evidence(9.0, 1.0, load=0.5),
            evidence(-9.0, 1.0, load=0.5),
            evidence(9.0, 1.0, load=0.7),
        ],
    )
    assert [row["where"] for row in rows] == ["overall", "load 0.5", "load 0.7"]
    assert [row["verdict"] for row in rows] == [NOT_REPRODUCED, NOT_REPRODUCED, REPRODUCED]
    assert rows[1]["measured"] == -9.0
    assert claim_rows(claim, []) == []


ROW = {
    "scenario": "s", "load": 0.5, "design": "bernoulli", "horizon": np.nan, "gte": -1.0,
    "gte_se": 0.001, "mean": -1.0, "mean_se": 0.01, "bias": 0.0, "bias_se": 0.01, "sd": 1.0,
    "sd_se": 0.02, "mse": 1.0, "mse_se": 0.05,
}  # fmt: skip
PERFECT = {
    ("naive", np.nan): {"mean": -0.6, "bias": 0.4, "sd": 0.01, "sd_se": 0.0005, "mse": 2.0},
    ("group", np.nan): {"design": "group", "bias": 0.3, "mse": 2.0},
    ("switchback", np.nan): {"design": "sw", "bias": 0.3, "mse": 2.0},
    ("qdq", 30.0): {"bias": 0.2, "mse": 2.0},
    ("wdq", 30.0): {"bias": 0.2, "mse": 2.0},
    ("mixed_dq", 30.0): {"sd": 0.3, "sd_se": 0.01, "mse": 0.5},
    ("mixed_dq", 10.0): {"sd": 0.3, "sd_se": 0.01, "mse": 0.5},
    ("qdq", 10.0): {"bias": 0.5},
    ("wdq", 10.0): {"bias": 0.5},
}


def verdicts(changes=None, truth=None, met=0.0, families=None):
    """Overall verdicts on a fabricated study in which everything the papers say holds, but for changes."""
    rows = {key: {**ROW, **own} for key, own in PERFECT.items()}
    for key, change in (changes or {}).items():
        rows[key] |= change
    mse = pd.DataFrame(
        [{"estimator": name, **row, "horizon": h} for (name, h), row in rows.items()]
    )
    truth = {"gte": -1.0, "gte_queue": -1.0, "little_se": 0.001, "response_control": 2.0} | (
        truth or {}
    )
    rng = np.random.default_rng(0)
    diagnostics = pd.DataFrame(
        {
            "scenario": "s", "load": 0.5, "design": "bernoulli", "in_system_control": 10.0,
            "in_system_treated": 10.0 * (1 + met + 0.005 * rng.normal(size=50)),
        }
    )  # fmt: skip
    tables = {
        "mse": mse, "diagnostics": diagnostics,
        "truth": pd.DataFrame([{"scenario": "s", "load": 0.5, **truth}]),
    }  # fmt: skip
    families = families or {"s": ["homogeneous", "heavy_tailed", "delayed", "nonstationary"]}
    table = claims_table(ab_test_evidence(tables, families))
    return table[table["where"] == "overall"].set_index("id")["verdict"]


def test_a_study_in_which_everything_holds_reproduces_everything():
    assert set(verdicts()) == {REPRODUCED}


@pytest.mark.parametrize(
    ("claim", "kwargs"),
    [
        ("naive_underestimates", {"changes": {("naive", np.nan): {"mean": -1.4}}}),
        ("naive_underestimates", {"changes": {("naive", np.nan): {"mean": 0.6}}}),
        ("same_queues", {"met": 0.05}),
        ("qdq_less_bias", {"changes": {("qdq", 30.0): {"bias": 0.7}}}),
        ("wdq_less_bias", {"changes": {("wdq", 30.0): {"bias": -0.7}}}),
        ("dq_spread", {"changes": {("qdq", 30.0): {"sd": 0.2, "sd_se": 0.004}}}),
        ("dq_spread", {"changes": {("wdq", 30.0): {"sd": 9.0, "sd_se": 0.1}}}),
        ("mixing_cuts_spread", {"changes": {("mixed_dq", 30.0): {"sd": 0.8}}}),
        ("mixing_cuts_spread", {"changes": {("mixed_dq", 30.0): {"sd": 0.1, "sd_se": 0.002}}}),
        ("mixed_lowest_mse", {"changes": {("group", np.nan): {"mse": 0.2, "mse_se": 0.01}}}),
        ("mixed_lowest_mse_heavy_tails", {"changes": {("naive", np.nan): {"mse": 0.2, "mse_se": 0.01}}}),
        ("mixed_lowest_mse_delay", {"changes": {("naive", np.nan): {"mse": 0.2, "mse_se": 0.01}}}),
        ("mixed_beats_switchback_periodic", {"changes": {("switchback", np.nan): {"mse": 0.2, "mse_se": 0.01}}}),
        ("mixed_lowest_mse_eventually", {"changes": {("mixed_dq", 30.0): {"bias": 0.9}}}),
        ("horizon_30", {"changes": {("mixed_dq", 10.0): {"mse": 0.1, "mse_se": 0.005}}}),
        ("mixing_converges_sooner", {"changes": {("mixed_dq", 10.0): {"bias": 0.9}}}),
        ("little", {"truth": {"gte_queue": -1.3}}),
    ],
)  # fmt: skip
def test_every_claim_can_fail(claim, kwargs):
    assert verdicts(**kwargs)[claim] == NOT_REPRODUCED


def test_a_scenario_without_an_effect_is_no_evidence():
    assert "mixed_lowest_mse" not in verdicts(families={"s": ["homogeneous", "aa"]}).index


def test_noise_makes_a_claim_inconclusive():
    found = verdicts({("qdq", 30.0): {"bias": 0.2, "bias_se": 1.0}})
    assert found["qdq_less_bias"] == INCONCLUSIVE


def test_claims_without_evidence_have_no_row():
    table = claims_table([(Claim("c", "t", "s"), [])])
    assert len(table) == 0
