"""Which number of a log is to be believed, and what is said of it."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from queuebench.estimators import all_estimators
from queuebench.logs import analyze_log
from queuebench.logs.findings import EVERY, Finding, forbidden
from queuebench.logs.headline import BAND, UNSURE, choose, headline
from queuebench.logs.learned import shape as module
from queuebench.logs.plan import plan_log
from tests.logs.exported import CHOICES, columns_of, write_log

ENTRIES = {entry.name: entry for entry in all_estimators()}


LEARNT = SimpleNamespace(first_come=False, slowness=np.ones(4), arrival=np.arange(1000.0))


def record(choices, shares=()):
    """Return a record of 10 000 jobs that each took 5."""
    return SimpleNamespace(
        replicate=SimpleNamespace(arrivals=10_000, column=lambda _: np.full(10_000, 5.0)),
        setting=SimpleNamespace(treated_share=0.5, choices=choices, shares=shares),
    )


def rows_of(findings=(), check=math.nan, **estimates):
    """Return a main row per estimator: by name, its estimate and standard error."""
    return [
        {"estimator": name, "estimand": ENTRIES[name].estimand, "main": True, "estimate": value,
         "estimate_se": error, "lower_95": value - 2 * error, "upper_95": value + 2 * error,
         "check": check if name.startswith("replay") else math.nan, "note": "",
         "forbidden": " ".join(found.name for found in forbidden(findings, name))}
        for name, (value, error) in estimates.items()
    ]  # fmt: skip


def say(rows, findings=(), servers=4, choices=False, first_come=True):
    made = record(choices)
    return headline(rows, findings, made, servers=servers, first_come=first_come, unit="ms")


@pytest.fixture
def learnt(monkeypatch):
    """Return a function that lets a learnt system say what a slope misses, or in what it is at fault."""

    def set_up(missed, missed_se=0.0, fault=None, system=LEARNT):
        monkeypatch.setattr(module, "learn", lambda *_, **__: system)
        found = SimpleNamespace(missed=missed, missed_se=missed_se)
        monkeypatch.setattr(module, "shape", lambda *_: found)
        monkeypatch.setattr(module, "find_fault", lambda *_: fault)

    return set_up


def test_a_replay_that_passes_its_check_comes_first():
    rows = rows_of(check=0.4, mixed_dq=(-1.0, 0.01), replay=(-2.0, 0.5), naive=(-0.1, 0.001))
    assert choose(rows)["estimator"] == "replay"


@pytest.mark.parametrize("check", [0.01, math.nan])
def test_a_replay_that_does_not_is_not_offered(check):
    rows = rows_of(check=check, mixed_dq=(-1.0, 0.1), replay=(-2.0, 0.05))
    assert choose(rows)["estimator"] == "mixed_dq"
    assert choose(rows_of(check=check, replay=(-2.0, 0.05))) is None


def test_the_least_variable_one_is_not_what_is_chosen():
    rows = rows_of(
        switchback=(-1.0, 0.01), switchback_burn_in=(-2.0, 0.1), switchback_corrected=(-3.0, 0.5)
    )
    assert choose(rows)["estimator"] == "switchback_corrected"
    assert choose(rows[:2])["estimator"] == "switchback_burn_in"


def test_estimates_of_the_effect_come_before_slopes():
    """In one design or not: the order is of what they estimate, then of the rank."""
    ranked = [entry for entry in all_estimators() if entry.rank]
    rows = rows_of(check=0.4, **{entry.name: (-1.0, 0.1) for entry in ranked})
    while rows:
        row = choose(rows)
        assert row["estimand"] == "effect" or all(one["estimand"] == "slope" for one in rows)
        rows.remove(row)


@pytest.mark.parametrize("name", ["naive", "lstd_dq", "mixed_dq_auto", "mixed_dq_markov"])
def test_what_may_not_stand_for_a_log_is_not_offered(name):
    made = say(rows_of(**{name: (-1.0, 0.01)}))
    assert (made.estimator, made.estimand) == (None, "nothing")
    assert "none of the estimators applied may stand for the effect" in made.text[0]


def test_what_a_finding_forbids_is_not_offered():
    findings = [Finding("warning", "w", 1, "queues do not explain", ("mixed_dq",))]
    rows = rows_of(findings, mixed_dq=(-1.0, 0.01), qdq=(-1.2, 0.2))
    assert choose(rows)["estimator"] == "qdq"


def test_every_estimator_forbidden_leaves_no_number():
    findings = [
        Finding("warning", "ramp", 1, "the share was ramped", EVERY),
        Finding("note", "other", 1, "something else"),
        Finding("warning", "service", 1, "services differ", ("mixed_dq",)),
    ]
    made = say(rows_of(findings, mixed_dq=(-1.0, 0.01), naive=(-1.0, 0.1)), findings)
    assert made.estimator is None
    assert all(map(math.isnan, (made.estimate, made.lower, made.effect, made.missed)))
    assert made.text[0].endswith("as the effect of the treatment: the share was ramped")
    assert made.text[1] == "besides: services differ"
    assert made.text[-1].startswith("next: mend that")
    assert "something else" not in " ".join(made.text)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(math.nan, "too short for standard errors"), (0.0, "no estimate shows any difference")],
)
def test_no_headline_without_a_standard_error(error, reason):
    made = say(rows_of(mixed_dq=(-1.0, error), naive=(-1.0, error)))
    assert made.estimator is None
    assert reason in made.text[0]


def test_an_effect_is_its_own_band():
    made = say(rows_of(check=0.4, replay=(-2.0, 0.5)))
    assert made.estimand == "effect"
    assert made.effect == -2.0
    assert made.effect_lower == pytest.approx(-2.0 - BAND)
    assert made.effect_upper == pytest.approx(-2.0 + BAND)
    assert made.missed == 0.0
    assert made.text[0] == (
        "the effect is -2 ms (95 % interval -3 to -1, replay), between -3.4 and -0.6 with some care: the "
        "treatment makes responses shorter"
    )
    assert "policies, speeds, travel time and information are those described" in made.text[1]


def test_nothing_is_learnt_from_a_log_of_several_shares(learnt):
    learnt(missed=-0.5)
    rows, made = rows_of(mixed_dq=(-1.0, 0.1)), record(False, shares=(0.2, 0.8))
    found = headline(rows, [], made, servers=4, first_come=True, unit="ms")
    assert (found.estimand, found.estimate) == ("slope", -1.0)
    assert math.isnan(found.effect)
    assert found.text[0].endswith("the share changed, and a system learnt from a log is run at one")


def test_the_band_of_a_slope(learnt):
    learnt(missed=-0.5, missed_se=0.075)
    made = say(rows_of(mixed_dq=(-1.0, 0.1)))
    assert (made.estimator, made.estimand, made.estimate) == ("mixed_dq", "slope", -1.0)
    reach = math.hypot(BAND * 2 * math.hypot(0.1, 0.075), UNSURE * 0.5)
    assert made.effect == -1.5
    assert made.effect_upper == pytest.approx(-1.5 + reach)
    assert made.effect_lower == pytest.approx(-1.5 - reach)
    assert made.text[0].startswith("the effect is about -1.5 ms, between ")
    assert "is the slope of the mean response at the share run, not the effect" in made.text[0]
    assert "misses about -0.5 ms, 33% of it" in made.text[0]
    assert any(
        text.startswith("next: for the effect itself run several shares") for text in made.text
    )


def test_what_is_little_beside_the_noise_is_said_to_be(learnt):
    learnt(missed=-0.04)
    made = say(rows_of(mixed_dq=(-1.0, 0.1)))
    assert made.text[0].startswith("the effect is -1 ms (95 % interval -1.2 to -0.8, mixed_dq)")
    assert "about -0.04 ms, little beside its error" in made.text[0]
    assert not any("several shares" in text for text in made.text)


@pytest.mark.parametrize(
    ("learning", "servers", "findings", "reason"),
    [
        (
            {"fault": "its mean response is 3, the log's 2"},
            4,
            [],
            r"its mean response is 3, the log's 2",
        ),
        ({"system": None}, 4, [], "too few jobs, or too many servers"),
        ({}, 0, [], "the log names no servers"),
        ({}, 4, [Finding("warning", "s", 1, "services differ", ("wdq",))], "services differ"),
    ],
)
def test_an_effect_that_one_share_does_not_identify(learnt, learning, servers, findings, reason):
    learnt(missed=-0.5, **learning)
    made = say(rows_of(findings, mixed_dq=(-1.0, 0.1)), findings, servers)
    assert (made.estimand, made.estimate) == ("slope", -1.0)
    assert all(map(math.isnan, (made.effect, made.effect_lower, made.effect_upper, made.missed)))
    assert "the effect of treating all jobs is not identified from one share" in made.text[0]
    assert reason in made.text[0]
    assert any("run several shares" in text for text in made.text)


def test_a_replay_is_advised_only_where_it_would_be_right(learnt):
    learnt(missed=-0.5)
    rows = rows_of(mixed_dq=(-1.0, 0.1))
    spoilt = [Finding("warning", "s", 1, "services differ", ("wdq",))]
    for made, advised in (
        (say(rows), True),
        (say(rows, spoilt), False),
        (say(rows, first_come=False), False),
        (say(rows, servers=0), False),
    ):
        (text,) = (text for text in made.text if "several shares" in text)
        assert ("so that the log can be replayed" in text) == advised


def test_a_rejected_structure_is_not_held_against_what_is_learnt(learnt):
    learnt(missed=-0.5)
    findings = [Finding("warning", "replay_rejected", 1, "replay fails", ("replay",))]
    rows = rows_of(findings, check=0.001, replay=(-3.0, 0.1), mixed_dq=(-1.0, 0.1))
    assert say(rows, findings).effect == -1.5


def test_an_open_sign_asks_for_more_arrivals(learnt):
    learnt(missed=0.0)
    made = say(rows_of(mixed_dq=(-1.0, 1.0)))
    assert "its sign is open" in made.text[0]
    # The band reaches 2.8 times the estimate: 2.8 squared times as many.
    assert "about 7.8 times as many arrivals, or log what both arms would have" in made.text[-1]
    coupled = say(rows_of(mixed_dq_coupled=(-1.0, 1.0)), choices=True)
    assert coupled.text[-1].endswith("about 7.8 times as many arrivals")
    clear = say(rows_of(mixed_dq=(-1.0, 0.1)))
    assert not any("arrivals" in text for text in clear.text[1:])


def test_the_report_begins_with_it(simulate, describe, tmp_path):
    _, replicate = simulate(
        arrivals=6000, control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2}
    )  # fmt: skip
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False, choices=CHOICES))
    columns = {name: name for name in CHOICES}
    analysis = analyze_log(log, describe(columns, horizon=5.0, drop=["estimators"]))
    made = analysis.headline
    assert made.estimator == "mixed_dq_coupled"
    report = analysis.report()
    assert report.startswith("what to believe\n")
    words = " ".join(report.split("\n\n")[0].split())
    assert all(" ".join(text.split()) in words for text in made.text)
    again = analyze_log(log, describe(columns, horizon=5.0, drop=["estimators"])).headline
    assert again == made


def test_a_switchback_with_short_blocks(simulate, describe, tmp_path):
    """Blocks of 10 mean service times at load 0.7 hold two thirds of the effect: 5 to 7 standard errors of
    the difference are missing in records of this length."""
    kind = {"kind": "switchback", "period": 10.0, "burn_in": 2.0}
    _, replicate = simulate(
        "switchback", designs={"switchback": kind}, arrivals=60_000, load=0.7,
        control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2},
        warmup=100.0,
    )  # fmt: skip
    log = write_log(tmp_path / "log.parquet", columns_of(replicate, lengths=False))
    analysis = analyze_log(log, describe(horizon=5.0, design=kind))
    found = {finding.name: finding for finding in analysis.findings}
    assert found["carry_over"].kind == "warning"
    assert analysis.headline.estimator == "switchback_corrected"
    shown, withheld = analysis.report().split("not to be used\n")
    assert "\nswitchback " not in shown
    assert "\nswitchback " in withheld
    plan = plan_log(analysis)
    assert plan.reference == "switchback_corrected"
    assert "switchback" not in {row["estimator"] for row in plan.rows}


def test_a_forbidden_number_is_withheld(simulate, describe, tmp_path):
    """It stands under its own heading, with the reason, and in no sensitivity curve."""
    _, replicate = simulate(arrivals=6000)
    columns = columns_of(replicate, lengths=False)
    log = write_log(tmp_path / "log.parquet", columns)
    analysis = analyze_log(log, describe(horizon=5.0, estimators=["naive", "mixed_dq"]))
    analysis.findings.append(Finding("warning", "spoilt", 1, "all is spoilt", EVERY))
    for row in analysis.rows:
        row["forbidden"] = "spoilt" if row["estimator"] == "mixed_dq" else ""
    shown, withheld = analysis.report().split("not to be used\n")
    assert "\nmixed_dq " not in shown
    assert "spoilt: all is spoilt" in withheld
    assert "\nmixed_dq " in withheld.split("\n\n")[0]
    assert "sensitivity" not in analysis.report()
