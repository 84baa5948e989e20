"""Plans from the log of a pilot."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from queuebench.cli import main
from queuebench.estimators import all_estimators
from queuebench.logs import LogError, analyze_log, design_plan
from queuebench.logs.findings import EVERY, Finding, forbidden
from queuebench.logs.headline import Headline
from queuebench.logs.plan import plan_log, plan_text
from queuebench.pipeline.stages.plan import plan_cell
from queuebench.results.tables.crossover import crossing
from tests.logs.exported import CHOICES, columns_of, write_log
from tests.logs.test_structure import STRUCTURE

KEYS = {
    "system": {"servers": 4},
    "load": 0.6,
    "horizon": 5.0,
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "warmup": 100.0,
}
KNOWN = {"control": KEYS["control"], "treatment": KEYS["treatment"]}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Compare designs by few arrivals: what is compared is for another file of tests."""
    monkeypatch.setattr(design_plan, "ARRIVALS", 100_000)


@pytest.fixture
def pilot(simulate, tmp_path):
    _, replicate = simulate(arrivals=40_000, **KEYS)
    return write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))


def rows_of(plan):
    return {row["estimator"]: row for row in plan.rows}


def test_lengths_follow_from_the_pilots_standard_errors(pilot, describe):
    analysis = analyze_log(pilot, describe(horizon=5.0))
    plan = plan_log(analysis, width=0.1, effect=-0.2)
    main_rows = {row["estimator"]: row for row in analysis.rows if row["main"]}
    naive, mixed = main_rows["naive"], main_rows["mixed_dq"]
    missed = analysis.headline.missed
    assert plan.given
    assert plan.reference == analysis.headline.estimator == "mixed_dq"
    assert plan.against == "effect"
    assert set(rows_of(plan)) == set(main_rows)
    against = naive["estimate"] - mixed["estimate"] - missed
    assert rows_of(plan)["naive"]["bias"] == pytest.approx(against)
    assert rows_of(plan)["mixed_dq"]["bias"] == pytest.approx(-missed)
    for name, row in rows_of(plan).items():
        se, bias = main_rows[name]["estimate_se"], row["bias"]
        assert row["for_width"] == pytest.approx(40_000 * (2 * 1.959964 * se / 0.1) ** 2)
        mean = -0.2 + bias
        right = np.inf if mean > 0 else 40_000 * (1.644854 * se / mean) ** 2
        assert row["for_sign"] == pytest.approx(right)
        if name != "naive":
            apart = main_rows[name]["estimate"] - mixed["estimate"]
            if abs(apart) < 1.959964 * math.hypot(se, mixed["estimate_se"]):
                assert bias == pytest.approx(-missed)
            expected = crossing(bias**2, se**2, against**2, naive["estimate_se"] ** 2) * 40_000
            assert row["beats_naive_from"] == pytest.approx(float(expected))
    assert rows_of(plan)["naive"]["beats_naive_from"] is None
    arrival = analysis.replicate.column("arrival_time")
    assert plan.rate == pytest.approx(40_000 / arrival[-1])


def test_the_expected_effect_is_the_headlines(pilot, describe):
    """The slope misses part of it, and the plan knows which."""
    analysis = analyze_log(pilot, describe(horizon=5.0))
    made, plan = analysis.headline, plan_log(analysis)
    assert made.estimand == "slope"
    assert plan.effect == made.effect == pytest.approx(made.estimate + made.missed)


def test_a_pilots_plan_agrees_with_the_simulated_one(pilot, describe, make_cell):
    """Lengths go with variances: 100 batches against 100 replicates, each with 14 % of noise. Four standard
    errors of the logarithm of their ratio, 0.8, are exceeded by one of the two once in 8000 seeds."""
    cell = make_cell(arrivals=4000, truth={"relative": 0.05, "max_arrivals": 400_000},
                     estimators=["naive", "wdq"], **KEYS)  # fmt: skip
    gte, table = plan_cell(cell, 100, 0.5)
    description = describe(horizon=5.0, arrival_rate=cell.rate, structure=KNOWN)
    plan = plan_log(analyze_log(pilot, description), width=0.5)
    assert plan.reference == "replay"
    assert plan.effect == pytest.approx(gte, rel=0.15)
    for _, simulated in table.iterrows():
        row = rows_of(plan)[simulated["estimator"]]
        assert abs(math.log(row["for_width"] / simulated["for_width"])) < 0.8
        assert simulated["time_for_width"] == pytest.approx(simulated["for_width"] / cell.rate)
        if simulated["estimator"] == "wdq":
            assert abs(math.log(row["for_sign"] / simulated["for_sign"])) < 1.1


def test_what_is_within_noise_is_undetermined(simulate, describe, tmp_path):
    """Alike policies: the naive difference is unbiased, and no effect is there."""
    two = {"policy": "power_of_d", "d": 2}
    _, replicate = simulate(arrivals=6000, control=two, treatment=two)
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    plan = plan_log(analyze_log(log, describe(horizon=5.0)))
    assert plan.reference == "mixed_dq"
    assert math.isnan(rows_of(plan)["wdq_observed"]["beats_naive_from"])
    assert math.isnan(rows_of(plan)["naive"]["for_sign"])
    assert any("give --effect" in text for text in plan.cautions)
    assert any("undetermined" in text for text in plan.cautions)
    replayed = analyze_log(log, describe(horizon=5.0, structure={"control": two, "treatment": two}))
    assert "replay" not in rows_of(plan_log(replayed))


def test_a_rejected_replay_is_no_reference(simulate, describe, tmp_path, capsys):
    _, replicate = simulate(
        load=0.9, arrivals=20_000, information={"kind": "constant_age", "age": 1.5},
        treatment={"policy": "power_of_d", "d": 5},
    )  # fmt: skip
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    wrong = describe(structure=STRUCTURE | {"treatment": {"policy": "power_of_d", "d": 5}})
    plan = plan_log(analyze_log(log, wrong))
    assert "replay" not in rows_of(plan)
    assert plan.reference == "mixed_dq"
    assert main(["plan", "--log", str(log), "--config", str(wrong)]) == 0
    assert capsys.readouterr().out.startswith("replay fails to reproduce the experiment")


def test_the_command(pilot, describe, capsys):
    arguments = ["plan", "--log", str(pilot), "--config", str(describe(horizon=5.0))]
    assert main([*arguments, "--width=0.2", "--effect=-0.5"]) == 0
    printed = capsys.readouterr().out
    assert "the effect is -0.5 s (as given)" in printed
    assert "width 0.2 s" in printed
    assert main(arguments) == 0
    assert "(estimated by mixed_dq)" in capsys.readouterr().out


def test_designs_without_naive(simulate, describe, tmp_path, capsys):
    kind = {"kind": "switchback", "period": 25.0, "burn_in": 5.0}
    _, replicate = simulate("switchback", arrivals=20_000, designs={"switchback": kind})
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    description = describe(horizon=5.0, design=kind)
    plan = plan_log(analyze_log(log, description))
    assert {row["beats_naive_from"] for row in plan.rows} == {None}
    assert main(["plan", "--log", str(log), "--config", str(description)]) == 0
    assert "estimated by switchback" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "plan: give either --configfile and --cell, or --log and --config"),
        (["--log=l"], "plan: --log needs --config too"),
        (["--config=c"], "plan: --config needs --log too"),
        (["--configfile=s"], "plan: --configfile needs --cell too"),
        (["--configfile=s", "--cell=c", "--log=l"], "plan: --configfile and --log do not go together"),
        (["--log=l", "--cell=c"], "plan: --cell and --log do not go together"),
        (["--configfile=s", "--cell=c", "--effect=1"], "plan: --configfile and --effect do not go"),
        (["--log=l", "--config=c", "--replicates=3"], "plan: --log and --replicates do not go"),
        (["--log=l", "--config=c", "--effect=0"], "--effect: must be a finite number other than 0"),
        (["--log=l", "--config=c", "--effect=nan"], "--effect: must be a finite number other than 0"),
        (["--log=l", "--config=c", "--width=0"], "--width: must be above 0 and finite, got 0"),
        (["--log=l", "--config=c", "--width=inf"], "--width: must be above 0 and finite, got inf"),
        (["--log=l", "--config=c"], "c: cannot be read"),
        (["--configfile=s", "--cell=c", "--replicates=1"], "--replicates: must be 2 or more, got 1"),
    ],
)  # fmt: skip
def test_options_that_make_no_plan(capsys, options, expected):
    assert main(["plan", *options]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"queuebench: {expected}")
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_a_log_that_is_too_short(small_log, describe, tmp_path, capsys):
    log = write_log(tmp_path / "log.parquet", small_log(jobs=60))
    description = describe(horizon=5.0, drop=["start"])
    assert main(["plan", "--log", str(log), "--config", str(description)]) == 2
    assert "are too few for standard errors" in capsys.readouterr().err


def test_a_simulated_plan_prints_times(tmp_path, capsys):
    keys = {
        "seed": 3, "arrivals": 1000, "warmup": 20.0, "horizon": 5.0, "estimators": ["naive", "wdq"],
        "truth": {"relative": 0.5, "max_arrivals": 20_000},
        "system": {"servers": 4, "loads": [0.6]}, "scenarios": {"plain": {}},
    }  # fmt: skip
    study = tmp_path / "study.yaml"
    study.write_text(yaml.safe_dump(keys))
    arguments = ["--configfile", str(study), "--cell", "plain-load0.6", "--replicates", "3"]
    assert main(["plan", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "time in mean service times" in printed
    head, *rows = printed.splitlines()[4:]
    assert head.split()[:2] == ["estimator", "estimates"]
    assert {row.split()[0] for row in rows} == {"naive", "wdq"}


def test_rows_without_a_spread_are_not_enough_arrivals(simulate, describe, tmp_path):
    """Alike policies with choices: the coupled rows, LSTD and replay see no difference at all, and a finding
    forbids what supposes that the arms choose differently; observed costs are left."""
    two = {"policy": "power_of_d", "d": 2}
    _, replicate = simulate(arrivals=6000, control=two, treatment=two)
    columns = columns_of(replicate, lengths=False, choices=CHOICES)
    log = write_log(tmp_path / "log.parquet", columns)
    description = describe(
        {name: name for name in CHOICES}, horizon=5.0, structure={"control": two, "treatment": two}
    )
    plan = plan_log(analyze_log(log, description), effect=0.1)
    assert {"naive", "wdq_observed", "qdq"} <= set(rows_of(plan))
    assert not {"mixed_dq_coupled", "lstd_dq", "replay"} & set(rows_of(plan))
    assert min(row["for_width"] for row in plan.rows) > 0
    (caution,) = (text for text in plan.cautions if " left out: " in text)
    assert "mixed_dq_coupled" in caution
    assert plan.reference == "wdq_observed"


def test_a_standard_error_of_zero_is_not_planned_with():
    analysis = made_analysis(made_headline(0.2), mixed_dq=0.2, lstd_dq=0.0)
    plan = plan_log(analysis)
    assert set(rows_of(plan)) == {"mixed_dq"}
    assert any(text.startswith("lstd_dq left out: a standard error of 0") for text in plan.cautions)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("option", ["--effect=1e-300", "--width=1e-300"])
def test_tiny_options_take_forever(pilot, describe, capsys, option):
    description = describe(horizon=5.0)
    assert main(["plan", "--log", str(pilot), "--config", str(description), option]) == 0
    printed = capsys.readouterr()
    assert "never" in printed.out
    assert printed.err == ""


def test_few_pairs_of_blocks_are_what_is_said(simulate, describe, tmp_path):
    kind = {"kind": "switchback", "period": 100.0}
    _, replicate = simulate("switchback", arrivals=3000, designs={"switchback": kind})
    log = write_log(tmp_path / "log.parquet", columns_of(replicate))
    analysis = analyze_log(log, describe(horizon=5.0, design=kind))
    with pytest.raises(ValueError, match=r"switchback.*: fewer than 10 pairs of blocks") as refusal:
        plan_log(analysis)
    assert "horizon" not in str(refusal.value)
    assert str(refusal.value).endswith("take a longer pilot")


def made_analysis(headline, findings=(), **errors):
    """Return an analysis with a row of estimate -1 per estimator, with these standard errors."""
    estimands = {entry.name: entry.estimand for entry in all_estimators()}
    rows = [
        {"estimator": name, "estimand": estimands[name], "horizon": None, "main": True, "estimate": -1.0,
         "estimate_se": error, "note": "", "check": math.nan,
         "forbidden": " ".join(found.name for found in forbidden(findings, name))}
        for name, error in errors.items()
    ]  # fmt: skip
    return SimpleNamespace(
        rows=rows, findings=list(findings), headline=headline,
        replicate=SimpleNamespace(arrivals=1000, record_end=100.0),
    )  # fmt: skip


def made_headline(error, missed=0.0):
    reach = 2 * error
    return Headline(
        "mixed_dq", "slope", -1.0, -1.0 - reach, -1.0 + reach, -1.0 + missed,
        -1.0 + missed - reach, -1.0 + missed + reach, missed,
    )  # fmt: skip


def test_a_slope_alone_is_planned_with_under_a_caution():
    slope = made_headline(0.2, missed=math.nan)
    for effect in (None, -1.0):
        plan = plan_log(made_analysis(slope, naive=0.1, mixed_dq=0.2), effect=effect)
        assert (plan.effect, plan.against) == (-1.0, "slope")
        (caution,) = (text for text in plan.cautions if "not identified from one share" in text)
        assert ("give --effect" in caution) == (effect is None)
    identified = plan_log(made_analysis(made_headline(0.2, missed=-0.5), naive=0.1, mixed_dq=0.2))
    assert (identified.effect, identified.against) == (-1.5, "effect")
    assert not any("not identified" in text for text in identified.cautions)


def test_what_a_slope_misses_is_the_bias_of_slopes_alone():
    analysis = made_analysis(made_headline(0.2, missed=-0.5), naive=0.001, mixed_dq=0.2, qdq=0.3)
    rows = rows_of(plan_log(analysis))
    assert rows["mixed_dq"]["bias"] == rows["qdq"]["bias"] == 0.5
    # 0.5 is clear of the hypotenuse of 1.96 * 0.2 and 0.6 * 0.5 by little: 0.494.
    assert rows["naive"]["bias"] == 0.5
    noisier = made_analysis(made_headline(0.3, missed=-0.5), naive=0.1, mixed_dq=0.3)
    assert math.isnan(rows_of(plan_log(noisier))["naive"]["bias"])


def test_without_a_number_to_believe_an_effect_must_be_given():
    spoilt = [Finding("warning", "ramp", 1, "the share was ramped", EVERY)]
    nothing = Headline(None, "nothing", text=["no number is to be believed"])
    with pytest.raises(
        LogError, match=r"nothing of this pilot can be planned with: the share was ramped"
    ):
        plan_log(made_analysis(nothing, spoilt, naive=0.1, mixed_dq=0.2))
    partly = [Finding("warning", "w", 1, "queues do not explain", ("mixed_dq",))]
    analysis = made_analysis(nothing, partly, naive=0.1, mixed_dq=0.2)
    with pytest.raises(LogError, match=r"--effect: no number is to be believed; give the effect"):
        plan_log(analysis)
    plan = plan_log(analysis, effect=-1.0)
    assert plan.reference is None
    assert set(rows_of(plan)) == {"naive"}
    assert math.isnan(rows_of(plan)["naive"]["for_sign"])
    assert any(text == "mixed_dq left out: queues do not explain" for text in plan.cautions)


def test_an_effect_against_the_pilot_is_cautioned_of():
    clear, within_noise = (
        made_analysis(made_headline(error), mixed_dq=error) for error in (0.2, 0.9)
    )
    (caution,) = plan_log(clear, effect=0.5).cautions
    assert caution.startswith("the effect given, 0.5, has the other sign than mixed_dq's")
    assert plan_log(clear, effect=-0.5).cautions == []
    assert plan_log(within_noise, effect=0.5).cautions == []


def test_the_printed_plan_says_biases_and_times_as_people_do():
    analysis = made_analysis(made_headline(0.2, missed=-0.5), naive=0.001, mixed_dq=0.2)
    printed = plan_text(plan_log(analysis), "h", 1000).splitlines()
    assert any(
        "bias is the estimate minus the effect by mixed_dq, in h" in line for line in printed
    )
    (row,) = (line for line in printed if line.startswith("mixed_dq "))
    assert row.split()[:4] == ["mixed_dq", "slope", "+0.5", "0.2"]
    # 1000 (2 * 1.959964 * 0.2 / 1.5)^2 arrivals at 10 an hour are 27.3 hours.
    assert row.split()[4:9] == ["274", "1", "d", "3", "h"]
