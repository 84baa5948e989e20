"""Plans from the log of a pilot."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from exported import CHOICES, columns_of, write_log
from test_structure import STRUCTURE

from queuebench.cli import main
from queuebench.log_plan import plan_log
from queuebench.logs import analyze_log
from queuebench.plan import plan_cell
from queuebench.tables.crossover import crossing

KEYS = {
    "system": {"servers": 4},
    "load": 0.6,
    "horizon": 5.0,
    "control": {"policy": "power_of_d", "d": 1},
    "treatment": {"policy": "power_of_d", "d": 2},
    "warmup": 100.0,
}
KNOWN = {"control": KEYS["control"], "treatment": KEYS["treatment"]}


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
    assert plan.given
    assert plan.reference == "mixed_dq"
    assert set(rows_of(plan)) == set(main_rows)
    bias = naive["estimate"] - mixed["estimate"]
    for name, row in rows_of(plan).items():
        se = main_rows[name]["estimate_se"]
        assert row["for_width"] == pytest.approx(40_000 * (2 * 1.959964 * se / 0.1) ** 2)
        if name != "naive":
            assert row["for_sign"] == pytest.approx(40_000 * (1.644854 * se / 0.2) ** 2)
            expected = crossing(0.0, se**2, bias**2, naive["estimate_se"] ** 2) * 40_000
            assert row["beats_naive_from"] == pytest.approx(float(expected))
    assert rows_of(plan)["naive"]["beats_naive_from"] is None
    mean = -0.2 + bias
    right = np.inf if mean > 0 else 40_000 * (1.644854 * naive["estimate_se"] / mean) ** 2
    assert rows_of(plan)["naive"]["for_sign"] == pytest.approx(right)
    arrival = analysis.replicate.column("arrival_time")
    assert plan.rate == pytest.approx(40_000 / arrival[-1])


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
    assert "time_for_sign" in printed
    assert "mean service times" in printed


def test_rows_without_a_spread_are_not_enough_arrivals(simulate, describe, tmp_path):
    """Alike policies with choices: the coupled rows, LSTD and replay see no difference at all."""
    two = {"policy": "power_of_d", "d": 2}
    _, replicate = simulate(arrivals=6000, control=two, treatment=two)
    columns = columns_of(replicate, lengths=False, choices=CHOICES)
    log = write_log(tmp_path / "log.parquet", columns)
    description = describe(
        {name: name for name in CHOICES}, horizon=5.0, structure={"control": two, "treatment": two}
    )
    plan = plan_log(analyze_log(log, description), effect=0.1)
    assert {"naive", "mixed_dq"} <= set(rows_of(plan))
    assert not {"mixed_dq_coupled", "lstd_dq", "replay"} & set(rows_of(plan))
    assert min(row["for_width"] for row in plan.rows) > 0
    (caution,) = (text for text in plan.cautions if "standard error of 0" in text)
    assert "mixed_dq_coupled" in caution
    assert plan.reference == "mixed_dq"


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


def made_analysis(**errors):
    """Return an analysis with a row of estimate -1 per estimator, with these standard errors."""
    rows = [
        {"estimator": name, "horizon": None, "main": True, "estimate": -1.0, "estimate_se": error, "note": ""}
        for name, error in errors.items()
    ]  # fmt: skip
    return SimpleNamespace(
        rows=rows, findings=[], replicate=SimpleNamespace(arrivals=1000, record_end=100.0)
    )


def test_a_reference_that_may_be_wrong_is_cautioned_of():
    analysis = made_analysis(naive=0.1, lstd_dq=0.2, mixed_dq=math.nan)
    for effect in (None, -1.0):
        plan = plan_log(analysis, effect=effect)
        assert plan.reference == "naive"
        (caution,) = (text for text in plan.cautions if "naive stands for the truth" in text)
        assert ("give --effect" in caution) == (effect is None)
    trusted = plan_log(made_analysis(naive=0.1, mixed_dq=0.2))
    assert trusted.reference == "mixed_dq"
    assert not any("stands for the truth" in text for text in trusted.cautions)


def test_an_effect_against_the_pilot_is_cautioned_of():
    clear, within_noise = made_analysis(mixed_dq=0.2), made_analysis(mixed_dq=0.9)
    (caution,) = plan_log(clear, effect=0.5).cautions
    assert caution.startswith("the effect given, 0.5, has the other sign than mixed_dq's")
    assert plan_log(clear, effect=-0.5).cautions == []
    assert plan_log(within_noise, effect=0.5).cautions == []
