import numpy as np
import pandas as pd
import pytest

from queuebench.results.figures.coverage import draw_coverage
from queuebench.results.figures.truncation import draw_truncation
from queuebench.results.figures.winners import draw_winners
from queuebench.results.tables.checks import checks_table, warnings
from queuebench.results.tables.coverage import coverage_table
from queuebench.results.tables.crossover import crossing, crossover_table, verdict
from queuebench.results.tables.disagreement import disagreement_table
from queuebench.results.tables.mse import mse_table
from queuebench.results.tables.rows import summarise
from queuebench.results.tables.sign import arrivals_for_sign, sign_table
from queuebench.results.tables.winners import LENGTHS, winners_table


def fabricated(estimators, replicates=400, gte=-1.0, gte_se=0.0, arrivals=1000, seed=0):
    """Estimates of given (bias, sd), and their truth."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "scenario": "s", "load": 0.5, "design": design, "estimator": name, "horizon": horizon,
            "main": True,
            "replicate": r, "estimate": gte + bias + sd * rng.normal(), "arrivals": arrivals, "note": "",
            "check": np.nan,
        }
        for (design, name, horizon), (bias, sd) in estimators.items()
        for r in range(replicates)
    ]  # fmt: skip
    truth = pd.DataFrame([{"scenario": "s", "load": 0.5, "gte": gte, "gte_se": gte_se}])
    return pd.DataFrame(rows), truth


def test_summary_by_hand():
    found = summarise(np.array([1.0, 2.0, 3.0, 6.0]), gte=2.0, gte_se=0.5)
    assert found["mean"] == 3.0
    assert found["bias"] == 1.0
    assert found["sd"] == pytest.approx(np.sqrt(14 / 3))
    assert found["mse"] == pytest.approx((1 + 0 + 1 + 16) / 4 - 0.25)
    assert found["bias_se"] == pytest.approx(np.hypot(np.sqrt(14 / 3) / 2, 0.5))
    assert found["relative_rmse"] == pytest.approx(np.sqrt(4.25) / 2)


def test_standard_errors_of_sd_and_mse_match_their_spread():
    """Over 2000 normal samples of 50; bounds of four standard errors of the spread (5 %)."""
    rng = np.random.default_rng(0)
    found = [summarise(rng.normal(0.5, 2.0, 50), 0.0, 0.0) for _ in range(2000)]
    for name in ("sd", "mse", "mean"):
        spread = np.std([f[name] for f in found])
        claimed = np.mean([f[f"{name}_se"] for f in found])
        assert claimed == pytest.approx(spread, rel=0.08)


def test_the_truths_error_is_in_standard_errors_and_not_in_the_mse():
    """Over 4000 samples of 50 with a truth as uncertain as a mean of seven of them.

    The mean of the MSE to four standard errors of 4000 values; standard errors to 8 %: the relative
    error of a spread is 1.1 %, and they are linearised.
    """
    rng = np.random.default_rng(1)
    bias, sd, gte, gte_se = 2.0, 1.0, -8.0, 0.4
    found = pd.DataFrame(
        summarise(rng.normal(gte + bias, sd, 50), gte + gte_se * rng.normal(), gte_se)
        for _ in range(4000)
    )
    four = 4 * found["mse"].std() / np.sqrt(4000)
    assert found["mse"].mean() == pytest.approx(bias**2 + sd**2, abs=four)
    assert four < gte_se**2
    for name in ("bias", "mse", "relative_rmse"):
        assert found[f"{name}_se"].mean() == pytest.approx(found[name].std(), rel=0.08)


def test_the_mse_is_never_below_the_spread():
    values = np.array([-0.1, 0.1])
    assert summarise(values, 0.05, 1.0)["mse"] == pytest.approx(0.01)


def test_a_single_replicate_has_no_spread():
    found = summarise(np.array([1.0]), 2.0, 0.1)
    assert found["mse"] == pytest.approx(0.99)
    assert np.isnan(found["relative_rmse_se"])
    assert np.isnan(found["sd"])
    assert np.isnan(found["mse_se"])


def test_ranks_order_a_cell_by_mse():
    estimates, truth = fabricated(
        {
            ("b", "naive", np.nan): (0.5, 0.1),
            ("b", "dq", 30.0): (0.0, 0.2),
            ("g", "group", np.nan): (2.0, 0.1),
        }
    )
    table = mse_table(estimates, truth).set_index("estimator")
    assert table.loc[["dq", "naive", "group"], "rank"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("own", "rival", "expected"),
    [
        ((0.0, 4.0), (1.0, 2.0), 2.0),
        ((0.0, 1.0), (1.0, 2.0), 0.0),
        ((1.0, 4.0), (0.0, 2.0), np.inf),
        ((1.0, 1.0), (0.0, 2.0), np.inf),  # lower for short experiments only
        ((0.0, 1.0), (0.0, 2.0), 0.0),
        ((0.0, 2.0), (0.0, 2.0), np.inf),
    ],
)
def test_crossing(own, rival, expected):
    found = crossing(*(np.array([value]) for value in (*own, *rival)))
    assert found[0] == expected


def test_crossover_finds_the_length_and_every_verdict():
    estimates, truth = fabricated(
        {
            ("b", "biased", np.nan): (0.5, 0.05),
            ("b", "noisy", 30.0): (0.0, 2.0),
            ("b", "poor", 30.0): (1.0, 3.0),
            ("b", "twin", 30.0): (0.0, 2.0),
        }
    )
    table = crossover_table(estimates, truth, seed=1).set_index(["estimator", "rival"])
    found = table.loc[("noisy", "biased")]
    # b2 = 0.25 and variances 4 and 0.0025 at n0 = 1000: the crossing is at 15 990 arrivals.
    assert found["verdict"] == "from"
    assert found["lower"] < 15_990 < found["upper"]
    assert table.loc[("biased", "noisy"), "verdict"] == "never"
    assert table.loc[("biased", "poor"), "verdict"] == "always"
    assert table.loc[("poor", "biased"), "verdict"] == "never"
    assert table.loc[("noisy", "twin"), "verdict"] == "undetermined"


def test_verdicts():
    assert verdict(0.0, 0.0) == "always"
    assert verdict(np.inf, np.inf) == "never"
    assert verdict(5.0, np.inf) == "undetermined"
    assert verdict(0.0, 10.0) == "from"


def test_coverage_counts_intervals_and_uses_exact_estimands():
    estimates, truth = fabricated(
        {("b", "naive", np.nan): (0.5, 0.1), ("b", "dq", 30.0): (0.0, 0.2)}
    )
    for level, z in ((90, 1.645), (95, 1.96)):
        spread = np.where(estimates["estimator"] == "naive", 0.1, 0.2)
        estimates[f"lower_{level}"] = estimates["estimate"] - z * spread
        estimates[f"upper_{level}"] = estimates["estimate"] + z * spread
    exact = pd.DataFrame(
        [
            {
                "scenario": "s",
                "load": 0.5,
                "design": "b",
                "estimator": "naive",
                "horizon": np.nan,
                "estimand": -0.5,
            }
        ]
    )
    table = coverage_table(estimates, truth, exact).set_index(["estimator", "target", "level"])
    assert table.loc[("naive", "gte", 95), "coverage"] < 0.01
    row = table.loc[("naive", "estimand", 95)]
    # 400 replicates: four standard errors of a share of 0.95 are 0.044.
    assert abs(row["coverage"] - 0.95) < 0.044
    assert row["lower"] < 0.95 < row["upper"]
    assert row["estimand_source"] == "exact"
    assert table.loc[("dq", "estimand", 90), "estimand_source"] == "mean"


def with_intervals(estimates, error):
    for level, z in ((90, 1.645), (95, 1.96)):
        estimates[f"lower_{level}"] = estimates["estimate"] - z * error
        estimates[f"upper_{level}"] = estimates["estimate"] + z * error
    return estimates


def test_coverage_of_the_effect_allows_for_the_truths_own_error():
    """200 studies of 50 replicates whose truth is as uncertain as an estimate; the target is 95 %.

    A study's truth is common to its replicates, so shares vary by some 0.09 between studies: the bound
    is four standard errors of 200 of them. Without the truth's error the mean would be 0.83.
    """
    found = []
    for seed in range(200):
        estimates, truth = fabricated({("b", "e", np.nan): (0.0, 0.2)}, 50, gte_se=0.2, seed=seed)
        truth["gte"] += 0.2 * np.random.default_rng([seed, 1]).normal()
        table = coverage_table(with_intervals(estimates, 0.2), truth)
        row = table[(table["target"] == "gte") & (table["level"] == 95)]
        found.append(row["coverage"].item())
    assert np.mean(found) == pytest.approx(0.95, abs=4 * 0.09 / np.sqrt(200))


def test_an_estimator_without_a_standard_error_stays_in_the_table_of_coverage():
    estimates, truth = fabricated({("b", "e", np.nan): (0.0, 0.2)}, replicates=9)
    estimates = with_intervals(estimates, np.nan).assign(note="the record is too short")
    table = coverage_table(estimates, truth)
    assert set(zip(table["target"], table["level"], strict=True)) == {
        (target, level) for target in ("estimand", "gte") for level in (90, 95)
    }
    assert table["coverage"].isna().all()
    assert (table["replicates"] == 0).all()
    assert (table["note"] == "the record is too short").all()
    assert "no confidence intervals" in draw_coverage(table).axes[0].texts[0].get_text()


def test_errors_of_checks_and_of_winners_match_their_spread():
    """Over 300 studies of 60 replicates: the relative error of a spread is 4 %, the bound four of them."""
    found, won = [], []
    rows = {("b", "replay", np.nan): (0.5, 1.0), ("b", "far", np.nan): (9.0, 1.0)}
    for seed in range(300):
        estimates, truth = fabricated(rows, 60, gte_se=0.1, seed=seed)
        truth["gte"] += 0.1 * np.random.default_rng([seed, 1]).normal()
        found.append(checks_table(estimates.assign(check=0.5), truth).iloc[0])
        if seed < 40:
            won.append(winners_table(estimates, truth, seed, []).iloc[0])
    found, won = pd.DataFrame(found), pd.DataFrame(won)
    for name in ("bias", "sd", "right_sign"):
        spread = found[name].astype(float).std()
        assert found[f"{name}_se"].mean() == pytest.approx(spread, rel=0.16), name
    # 40 studies: 11 %; the MSE of a short experiment is nearly all variance.
    for name in ("rmse", "relative_rmse"):
        spread = won[name].astype(float).std()
        assert won[f"{name}_se"].mean() == pytest.approx(spread, rel=0.45), name


def test_the_winner_changes_with_length_and_ties_are_not_clear():
    """With 1000 arrivals: naive has MSE 0.04 + 0.01, dq and its twin 1.00; bias wins from 25 000 on."""
    estimates, truth = fabricated(
        {
            ("b", "naive", np.nan): (0.2, 0.1),
            ("b", "dq", 30.0): (0.0, 1.0),
            ("b", "twin", 30.0): (0.0, 1.0),
            ("b", "replay", np.nan): (0.0, 0.01),
        }
    )
    table = winners_table(estimates, truth, 1, ["replay"])
    everything = table[table["among"] == "all"]
    assert (everything["estimator"] == "replay").all()
    assert everything["clear"].all()
    free = table[table["among"] == "model-free"].set_index("arrivals")
    assert free.loc[LENGTHS[0], ["estimator", "clear"]].tolist() == ["naive", True]
    assert free.loc[LENGTHS[-1], "estimator"] in {"dq", "twin"}
    assert not free.loc[LENGTHS[-1], "clear"]
    assert free.loc[LENGTHS[0], "rmse"] == pytest.approx(0.2, rel=0.1)


def test_two_bootstraps_of_the_winner_give_the_same_bytes():
    estimates, truth = fabricated(
        {("b", "a", np.nan): (0.1, 0.5), ("b", "c", np.nan): (0.0, 0.6)}, replicates=30
    )
    first = winners_table(estimates, truth, 1, [])
    pd.testing.assert_frame_equal(first, winners_table(estimates, truth, 1, []))
    assert 0.0 < first["share"].min() < 1.0


def test_arrivals_for_the_sign_are_those_of_a_normal_estimate():
    """With the arrivals found, 95 % of normal estimates have the sign; 4 se of 40 000 draws."""
    needed = float(arrivals_for_sign(-0.5, 9.0, -1.0))
    draws = np.random.default_rng(3).normal(-0.5, np.sqrt(9.0 / needed), 40_000)
    assert np.mean(draws < 0) == pytest.approx(0.95, abs=4 * np.sqrt(0.05 * 0.95 / 40_000))
    assert np.isinf(arrivals_for_sign(0.5, 9.0, -1.0))
    assert np.isinf(arrivals_for_sign(0.0, 9.0, -1.0))


def test_sign_table_leaves_out_cells_without_an_effect():
    rows = {("b", "right", np.nan): (0.0, 2.0), ("b", "wrong", np.nan): (3.0, 0.1)}
    estimates, truth = fabricated(rows)
    table = sign_table(estimates, truth, 1).set_index("estimator")
    assert table.loc["right", "arrivals"] == pytest.approx(1000 * 4 * 1.645**2, rel=0.25)
    assert (
        table.loc["right", "lower"] < table.loc["right", "arrivals"] < table.loc["right", "upper"]
    )
    assert np.isinf(table.loc["wrong", ["arrivals", "lower", "upper"]].astype(float)).all()
    estimates, truth = fabricated(rows, gte=0.0)
    assert sign_table(estimates, truth, 1).empty


def test_checks_that_reject_too_often_are_said_first():
    estimates, truth = fabricated({("b", "replay", np.nan): (2.0, 0.1)}, replicates=40)
    estimates["check"] = np.where(np.arange(40) < 2, 0.01, 0.5)
    fine = checks_table(estimates, truth)
    assert fine.loc[0, ["rejected", "believed", "right_sign"]].tolist() == [0.05, True, 0.0]
    assert warnings(fine) == []
    estimates["check"] = np.where(np.arange(40) < 20, 0.01, 0.5)
    failed = checks_table(estimates, truth, {"s": "told something else"})
    assert not failed.loc[0, "believed"]
    assert failed.loc[0, "note"] == "told something else"
    (sentence,) = warnings(failed)
    assert "`replay` fails to reproduce the experiments of s at load 0.5" in sentence
    assert "rejects 50%" in sentence


def test_checks_of_estimators_without_any_are_an_empty_table():
    estimates, truth = fabricated({("b", "naive", np.nan): (0.0, 1.0)}, replicates=3)
    table = checks_table(estimates, truth)
    assert table.empty
    assert "rejected" in table.columns
    assert warnings(table) == []


def test_disagreement_counts_joint_and_pairwise_rejections():
    diagnostics = pd.DataFrame(
        {
            "scenario": "s", "load": 0.5, "design": "b", "replicate": range(4),
            "disagreement": [0.01, 0.02, 0.9, 0.06],
            "t_structural_model_based": [9.0, -9.0, 0.1, 2.2],
            "t_structural_model_free": np.nan,
            "freedom": 19,
        }
    )  # fmt: skip
    table = disagreement_table(diagnostics).set_index("compared")
    assert table["fires"].to_dict() == {"all": 0.5, "structural_model_based": 0.75}
    assert (table["replicates"] == 4).all()


def test_estimators_that_say_the_same_compete_as_one():
    """Twins on the same records, as one estimator is another's special case."""
    estimates, truth = fabricated(
        {("b", "one", np.nan): (0.0, 0.1), ("b", "far", np.nan): (5.0, 0.1)}
    )
    twin = estimates[estimates["estimator"] == "one"].assign(estimator="twin")
    silent = twin.assign(estimator="silent", estimate=np.nan)
    table = winners_table(pd.concat([estimates, twin, silent]), truth, 1, [])
    assert (table["estimator"] == "one").all()
    assert (table["runner_up"] == "far").all()
    assert table["clear"].all()
    alone = winners_table(
        pd.concat([estimates[estimates["estimator"] == "one"], twin]), truth, 1, []
    )
    assert alone.empty


def test_few_replicates_say_nothing_of_spread():
    rows = {("b", "a", np.nan): (0.1, 0.5), ("b", "c", np.nan): (0.0, 0.6)}
    for replicates in (1, 4):
        estimates, truth = fabricated(rows, replicates=replicates)
        assert winners_table(estimates, truth, 1, []).empty
        assert sign_table(estimates, truth, 1).empty
        assert crossover_table(estimates, truth, 1).empty
    estimates, truth = fabricated(rows, replicates=5)
    assert len(sign_table(estimates, truth, 1)) == 2


def test_no_sign_is_right_where_there_is_no_effect():
    estimates, truth = fabricated({("b", "replay", np.nan): (0.0, 0.1)}, replicates=9, gte=0.0)
    table = checks_table(estimates.assign(check=0.5), truth)
    assert np.isnan(table.loc[0, "right_sign"])


def test_more_winners_than_colours_are_told_apart_by_number():
    names = [f"e{k:02d}" for k in range(23)]
    winners = pd.DataFrame(
        {
            "scenario": [f"s{k}" for k in range(23)], "load": 0.5, "arrivals": 1e4, "among": "all",
            "design": "b", "estimator": names, "horizon": np.nan, "clear": True,
        }
    )  # fmt: skip
    figure = draw_winners(winners)
    mesh = figure.axes[0].collections[0]
    figure.draw_without_rendering()
    shown = [tuple(colour[:3]) for colour in mesh.get_facecolors()]
    legend = [tuple(patch.get_facecolor()[:3]) for patch in figure.legends[0].get_patches()]
    np.testing.assert_allclose(shown, legend, atol=1e-6)


def test_a_truncation_figure_without_horizons_says_so():
    estimates, truth = fabricated({("b", "naive", np.nan): (0.0, 0.1)}, replicates=9)
    figure = draw_truncation(mse_table(estimates, truth), "s")
    assert "no estimator has a horizon" in figure.axes[0].texts[0].get_text()
