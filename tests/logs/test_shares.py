"""Logs of a design of several shares: how they are described, the record made of them, what is checked."""

import datetime
import math

import numpy as np
import pyarrow as pa
import pytest

from queuebench.estimators.common import registry
from queuebench.estimators.common.registry import Estimate, Estimator
from queuebench.logs import LogError, analyze_log, parse_config
from queuebench.logs.checks.assignment import check_users
from queuebench.logs.read import shares as read_shares
from queuebench.logs.record import normalise
from queuebench.logs.record import replicate as log_replicate
from queuebench.study.shares import quadrature_weights
from tests.logs.exported import columns_of, write_log

PERIOD = 100.0
SHARES = (0.2, 0.5, 0.9)


def _difference(record, horizon=None):
    columns = record.replicate.chunks("treated", "response_time")
    treated, response = map(np.concatenate, zip(*columns, strict=True))
    return Estimate(response[treated].mean() - response[~treated].mean(), 1.0, 9)


@pytest.fixture
def analyse(tmp_path, describe, monkeypatch):
    """Return a function that analyses columns with an estimator that any record allows."""
    entry = Estimator(
        "any_shares", _difference, design="shares", observed_costs=True, estimand="effect", assumes=[]
    )  # fmt: skip
    monkeypatch.setitem(registry._ESTIMATORS, entry.name, entry)

    def run(table, suffix=".parquet", columns=None, design=None, **keys):
        keys = {"estimators": [entry.name]} | keys
        columns = {"share": "share"} if columns is None else columns
        design = {"kind": "shares"} | (design or {})
        log = write_log(tmp_path / f"log{suffix}", table)
        return analyze_log(log, describe(columns=columns, design=design, **keys))

    return run


@pytest.fixture
def refusal(analyse):
    """Return a function that says what a log of shares is refused with, without the file's name."""

    def refuse(*args, **keys):
        with pytest.raises(LogError) as caught:
            analyse(*args, **keys)
        message = str(caught.value)
        assert "\n" not in message
        return message.split(": ", 1)[1]

    return refuse


def cycle(shares=SHARES, blocks=60, seed=5):
    """Return the shares of some blocks: every turn has all of them, in random order, none twice in a row."""
    rng = np.random.default_rng(seed)
    found = [shares[0]]
    while len(found) < blocks:
        turn = list(rng.permutation(shares))
        found += turn if turn[0] != found[-1] else turn[::-1]
    return np.array(found[:blocks])


@pytest.fixture
def drawn(small_log):
    """Return a function that makes the columns of a log whose share changes every `PERIOD`."""

    def make(jobs=6000, of_block=None, seed=2):
        columns = small_log(jobs=jobs, seed=seed)
        block = np.floor(np.array(columns["arrival_time"]) / PERIOD).astype(int)
        of_block = (
            cycle(blocks=block[-1] + 1) if of_block is None else np.resize(of_block, block[-1] + 1)
        )
        share = of_block[block]
        arm = np.random.default_rng(seed).random(jobs) < share
        return columns | {
            "arm": np.where(arm, "B", "A").tolist(), "share": share.tolist(), "block": block.tolist(),
        }  # fmt: skip

    return make


def schedule(of_block):
    return [{"start": k * PERIOD, "share": float(share)} for k, share in enumerate(of_block)]


def same_record(analysis, table, shift=0):
    replicate = analysis.replicate
    assert replicate.column("share").dtype == np.float64
    assert replicate.column("block").dtype == np.int32
    assert np.array_equal(replicate.column("share"), table["share"])
    assert np.array_equal(replicate.column("block"), np.array(table["block"]) - shift)
    assert np.array_equal(replicate.column("treated"), np.array(table["arm"]) == "B")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("period", [None, PERIOD])
@pytest.mark.parametrize("scheduled", [False, True])
def test_column_schedule_and_period_say_the_same(drawn, analyse, suffix, period, scheduled):
    table = drawn()
    design = {"burn_in": 20.0} | ({"period": period} if period else {})
    columns = None
    if scheduled:
        columns, design["schedule"] = {}, schedule(cycle(blocks=table["block"][-1] + 5))
    analysis = analyse(table, suffix, columns, design)
    same_record(analysis, table)
    setting = analysis.setting
    assert setting.design == "shares"
    assert setting.shares == SHARES
    assert setting.weights == tuple(quadrature_weights(SHARES))
    assert (setting.period, setting.burn_in) == (period or 0.0, 20.0)
    # All tests together alarm in one of 200 seeds.
    assert not analysis.findings


def test_pieces_and_the_order_of_rows_change_nothing(drawn, analyse, monkeypatch):
    monkeypatch.setattr(normalise, "CHUNK", 97)
    monkeypatch.setattr(log_replicate, "CHUNK", 101)
    table = drawn(jobs=2000)
    same_record(analyse(table), table)
    order = np.random.default_rng(3).permutation(2000)
    shuffled = {name: [values[i] for i in order] for name, values in table.items()}
    for design in ({}, {"period": PERIOD}):
        same_record(analyse(shuffled, design=design), table)


def test_a_simulated_record_comes_back(simulate, analyse):
    """Every column of a trace that was given one share after the other."""
    _, replicate = simulate()
    table = columns_of(replicate, lengths=False)
    carried = len(replicate.carry)
    middle = replicate.column("arrival_time")[1500]
    share = np.where(replicate.column("arrival_time") < middle, 0.4, 0.6)
    table["share"] = [None] * carried + share.tolist()
    by_column = analyse(table)
    steps = [{"start": 0.0, "share": 0.4}, {"start": float(middle), "share": 0.6}]
    by_schedule = analyse(table, columns={}, design={"schedule": steps})
    for analysis in (by_column, by_schedule):
        assert analysis.setting.shares == (0.4, 0.6)
        assert np.array_equal(analysis.replicate.column("share"), share)
        assert np.array_equal(analysis.replicate.column("block"), (share > 0.5).astype(int))
        for name in ("arrival_time", "treated", "server", "queue_length", "in_system"):
            assert np.array_equal(analysis.replicate.column(name), replicate.column(name)), name


def test_a_schedule_of_dates(drawn, analyse):
    table = drawn(jobs=1000)
    origin = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    moments = [round((origin.timestamp() + t) * 1e9) for t in table["arrival_time"]]
    steps = [
        {"start": f"{origin + datetime.timedelta(seconds=step['start']):%Y-%m-%dT%H:%M:%SZ}",
         "share": step["share"]}
        for step in schedule(cycle(blocks=20))
    ]  # fmt: skip
    analysis = analyse(
        table | {"arrival_time": pa.array(moments, pa.timestamp("ns", "UTC"))},
        columns={}, design={"schedule": steps}, start=steps[0]["start"],
    )  # fmt: skip
    same_record(analysis, table)


def test_blocks_of_a_period_count_from_the_records_start(drawn, analyse):
    """Two blocks in succession at one share are two with a period and one without."""
    table = drawn(jobs=2000, of_block=(0.5, 0.2, 0.2))
    first = table["block"].index(2)
    inside = {name: values[first:] for name, values in table.items()}
    same_record(analyse(table, design={"period": PERIOD}, start=2 * PERIOD), inside, shift=2)
    blocks = analyse(table, start=2 * PERIOD).replicate.column("block")
    changes = np.diff(inside["share"]) != 0
    assert np.array_equal(blocks, np.append(0, np.cumsum(changes)))


def test_rows_that_are_only_present_need_no_share(drawn, analyse):
    table = drawn(jobs=2000)
    table["share"][:50] = [None] * 50
    table["arm"][100], table["share"][100] = None, None
    start = (table["arrival_time"][49] + table["arrival_time"][50]) / 2
    analysis = analyse(table, start=start, without_arm="present")
    kept = table["share"][50:100] + table["share"][101:]
    assert np.array_equal(analysis.replicate.column("share"), kept)


def test_weights_may_be_given(drawn, analyse):
    table = drawn(jobs=1000, of_block=(0.0, 0.5, 0.75, 1.0))
    analysis = analyse(table, design={"weights": [0, 0.25, 0.75, 0]})
    assert analysis.setting.shares == (0.0, 0.5, 0.75, 1.0)
    assert analysis.setting.weights == (0.0, 0.25, 0.75, 0.0)
    inner = quadrature_weights([0.5, 0.75])
    assert analyse(table).setting.weights == pytest.approx((0.0, *inner, 0.0))


COLUMNS = {"arrival_time": "t", "arm": "a", "response_time": "r"}
STEPS = [{"start": 0, "share": 0.2}, {"start": 5, "share": 0.8}]


@pytest.mark.parametrize(
    ("columns", "design", "expected"),
    [
        ({}, {}, "a design of kind shares needs exactly one of columns.share and design.schedule"),
        ({"share": "p"}, {"schedule": STEPS}, "a design of kind shares needs exactly one of "),
        ({"share": "p"}, {"kind": "bernoulli"}, "columns.share is for a design of kind shares, not ber"),
        ({}, {"kind": "bernoulli", "schedule": STEPS}, "design.schedule: unknown key"),
        ({"share": "p"}, {"period": 0}, "design.period: should be greater than 0"),
        ({"share": "p"}, {"burn_in": -1}, "design.burn_in: should be greater than or equal to 0"),
        ({"share": "p"}, {"period": 5, "burn_in": 5}, "design: burn_in must be shorter than the period 5"),
        ({"share": "p"}, {"weights": [0.5, 0.4]}, "design.weights: must sum to 1, not 0.9"),
        ({"share": "p"}, {"weights": [1e308, 1e308]}, "design.weights: must sum to 1, not inf"),
        ({"share": "p"}, {"weights": []}, "design.weights: "),
        ({"share": "p"}, {"weights": ["a"]}, "design.weights.0: "),
        ({}, {"schedule": []}, "design.schedule: "),
        ({}, {"schedule": [{"start": 0}]}, "design.schedule.0.share: this key is required"),
        ({}, {"schedule": [{"start": 0, "share": 1.5}]}, "design.schedule.0.share: should be less than"),
        ({}, {"schedule": [{"start": 0, "share": "half"}]}, "design.schedule.0.share: "),
        ({}, {"schedule": [{"start": 0, "sahre": 0.5}]}, "design.schedule.0.sahre: unknown key, did you"),
    ],
)  # fmt: skip
def test_wrong_descriptions(columns, design, expected):
    values = {"columns": COLUMNS | columns, "treatment": "B", "design": {"kind": "shares"} | design}
    with pytest.raises(LogError) as caught:
        parse_config(values)
    assert str(caught.value).split(": ", 1)[1].startswith(expected)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "row 8: share must be a number from 0 to 1; every row of the record needs one"),
        (math.nan, "row 8: share must be a number from 0 to 1"),
        (math.inf, "row 8: share must be a number from 0 to 1"),
        (1.01, "row 8: share must be a number from 0 to 1"),
        (-0.2, "row 8: share must be a number from 0 to 1"),
    ],
)
@pytest.mark.parametrize("period", [None, PERIOD])
def test_wrong_shares(drawn, refusal, suffix, value, expected, period):
    table = drawn(jobs=400)
    table["share"][7] = value
    message = refusal(table, suffix, design={"period": period} if period else {})
    assert message.startswith(expected)


def test_shares_that_are_text(drawn, refusal):
    table = drawn(jobs=400)
    table["share"] = ["a half", *map(str, table["share"][1:])]
    assert refusal(table).startswith("row 1: share: 'a half' is not a number")


@pytest.mark.parametrize(("share", "arm", "name"), [(0.0, "B", "treatment"), (1.0, "A", "control")])
def test_an_arm_that_its_share_rules_out(drawn, refusal, share, arm, name):
    table = drawn(jobs=400, of_block=(share, 0.5))
    table["arm"][11] = arm
    assert refusal(table) == f"row 12: the arm is {name} at the share {share:g}"


def test_a_share_that_changes_within_a_block(drawn, refusal):
    table = drawn(jobs=400)
    table["share"][20] = 0.55
    message = refusal(table, design={"period": PERIOD})
    assert message.startswith(
        "row 21: share changes within a block, 100 long and counted from the rec"
    )
    steps = [{"start": 0.0, "share": 0.3}, {"start": 1.5 * PERIOD, "share": 0.6}]
    message = refusal(table, columns={}, design={"period": PERIOD, "schedule": steps})
    row = 1 + next(i for i, t in enumerate(table["arrival_time"]) if t >= 1.5 * PERIOD)
    assert message.startswith(f"rows {row}, ") or message.startswith(f"row {row}")


def test_blocks_of_the_log_that_are_others(drawn, refusal, analyse):
    table = drawn(jobs=1000)
    columns = {"share": "share", "block": "block"}
    analyse(table, columns=columns)
    table["block"][30] = 99
    for design in ({}, {"period": PERIOD}):
        message = refusal(table, columns=columns, design=design)
        assert message.startswith("row 31: block changes within a block")


@pytest.mark.parametrize("design", [{}, {"period": PERIOD}])
def test_too_many_shares_to_be_shares(drawn, refusal, design, monkeypatch):
    monkeypatch.setattr(normalise, "CHUNK", 30)
    table = drawn(jobs=400)
    table["share"] = np.linspace(0.1, 0.9, 400).tolist()
    assert refusal(table, design=design).startswith("row 51: share: more than 50 different values")
    table["share"][3] = 2.0
    assert refusal(table, design=design).startswith("row 4: share must be a number")


def test_shares_of_another_design(drawn, refusal):
    message = refusal(drawn(jobs=400, of_block=(0.5,)))
    assert message.startswith("the record was run at one share, 0.5; ")
    message = refusal(drawn(jobs=400, of_block=(0.0, 1.0)))
    assert message.startswith("the record was run at the shares 0 and 1 only; ")


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        ((0, 100, 100), "design.schedule.2.start: must be later than the start before it"),
        ((0, 100, 50), "design.schedule.2.start: must be later than the start before it"),
        ((10, 20, 100), "design.schedule.0.start: must not be after the record's start"),
        (
            (0, "2026-03-01", 50),
            "design.schedule.1.start: must be a number, like the log's arrival",
        ),
    ],
)
def test_schedules_that_do_not_fit_the_log(drawn, refusal, starts, expected):
    steps = [{"start": start, "share": p} for start, p in zip(starts, SHARES, strict=True)]
    message = refusal(drawn(jobs=400), columns={}, design={"schedule": steps})
    assert message.startswith(expected)


def test_weights_that_do_not_fit_the_log(drawn, refusal):
    message = refusal(drawn(jobs=400), design={"weights": [0.5, 0.5]})
    assert message == "design.weights: there are 2, but the record has 3 shares (0.2, 0.5, 0.9)"
    table = drawn(jobs=400, of_block=(0.0, 0.5))
    message = refusal(table, design={"weights": [0.5, 0.5]})
    assert message.startswith("design.weights: must be 0 at the share 0, ")


def test_periods_of_which_there_would_be_too_many(drawn, refusal, monkeypatch):
    message = refusal(drawn(jobs=400), design={"period": 1e-300})
    assert message.startswith("design.period: 1e-300 is too short: it makes ")
    monkeypatch.setattr(read_shares, "MOST_BLOCKS", 3)
    assert refusal(drawn(jobs=400), design={"period": PERIOD}).startswith(
        "design.period: 100 is too"
    )


def test_shares_that_alternate_at_one_moment(drawn, refusal, analyse):
    """A coarse clock hides the order of arrivals about a change; two of them there can be told."""
    table = drawn(jobs=400)
    change = table["block"].index(1)
    table["arrival_time"][change - 1] = table["arrival_time"][change]
    table["response_time"][change] = table["response_time"][change - 1] + 1.0
    assert analyse(table).replicate.column("block").max() == table["block"][-1]
    table["response_time"][change] = table["response_time"][change - 1] / 2
    message = refusal(table)
    assert "share changes more than once at one time; log finer times" in message


def by_name(analysis):
    return {found.name: found for found in analysis.findings}


def redrawn(table, probability):
    """Return the table with arms drawn by other probabilities than the shares."""
    arm = np.random.default_rng(8).random(len(table["arm"])) < probability
    return table | {"arm": np.where(arm, "B", "A").tolist()}


def test_a_share_that_was_not_kept(drawn, analyse):
    table = drawn()
    share = np.array(table["share"])
    found = by_name(analyse(redrawn(table, np.where(share == 0.5, 0.42, share))))
    mismatch = found["share_mismatch"]
    assert mismatch.text.startswith(
        "among the arrivals at the share 0.5: the share of treated arrivals is 0.4"
    )
    assert mismatch.forbids == ("*",)
    both = by_name(analyse(redrawn(table, np.where(share < 0.9, 0.35, share))))["share_mismatch"]
    assert "at the share 0.2 (1 more share likewise): " in both.text


def test_one_arm_only_at_a_share(drawn, analyse):
    table = drawn()
    share = np.array(table["share"])
    found = by_name(analyse(redrawn(table, np.where(share == 0.2, 0.0, share))))
    assert "at the share 0.2: all 2," in found["share_mismatch"].text
    assert "are control" in found["share_mismatch"].text


def test_a_share_that_drifts_between_its_blocks(drawn, analyse):
    table = drawn()
    share, late = np.array(table["share"]), np.arange(6000) > 3000
    moved = np.where(share == 0.5, np.where(late, 0.65, 0.35), share)
    found = by_name(analyse(redrawn(table, moved)))
    assert set(found) == {"share_drift", "dependent_assignment"}
    assert found["share_drift"].text.startswith("among the arrivals at the share 0.5: the share of")
    assert set(registry.assuming("independent_assignment")) <= set(found["share_drift"].forbids)


def test_assignments_in_turn(drawn, analyse):
    table = drawn(of_block=(0.5, 0.25))
    arms = np.where(np.array(table["share"]) == 0.5, np.arange(6000) % 2, np.arange(6000) % 4 == 0)
    found = by_name(analyse(redrawn(table, arms)))
    assert (
        "(1 more share likewise): assignments depend on the ones"
        in found["dependent_assignment"].text
    )


def test_assignment_by_user(drawn, analyse):
    """Shares that change make users change arms too, or keep them where shares are extreme."""
    table = drawn()
    user = np.random.default_rng(4).integers(1500, size=6000)
    table["user"] = user.tolist()
    columns = {"share": "share", "user": "user"}
    assert "assigned_by_user" not in by_name(analyse(table, columns=columns))
    fixed = np.random.default_rng(4).random(1500)[user] < table["share"]
    assert "assigned_by_user" in by_name(analyse(redrawn(table, fixed), columns=columns))


def test_users_are_compared_with_their_own_shares():
    """At extreme shares nearly every user keeps an arm; that is no sign of assignment by user."""
    rng = np.random.default_rng(6)
    users, share = rng.integers(2000, size=8000), rng.choice([0.02, 0.5], size=8000)
    share[users < 1000] = 0.02
    treated = rng.random(8000) < share
    # One alarm in 10 000 seeds.
    assert check_users(users, treated, share) == []
    assert check_users(users, treated) != []


def test_a_treatment_of_service_is_found(drawn, analyse):
    """Idle servers, exponential services of which the treated ones are a fifth shorter."""
    rng = np.random.default_rng(7)
    table = drawn() | {"arrival_time": np.arange(0.0, 300_000.0, 50.0).tolist()}
    shorter = np.where(np.array(table["arm"]) == "B", 0.8, 1.0)
    table["response_time"] = (shorter * rng.exponential(1.0, 6000)).tolist()
    found = by_name(analyse(table))["service_differs"]
    assert "the treated services average -0." in found.text
    assert "naive" not in found.text


def test_a_varying_rate_is_taken_locally(drawn, analyse):
    table = drawn()
    slow = np.array(table["arrival_time"])
    table["arrival_time"] = (slow + 400.0 * np.sin(slow / 1000.0)).tolist()
    analysis = analyse(table)
    assert analysis.setting.local_rate is not None
    assert by_name(analysis)["varying_rate"].kind == "note"


def test_nothing_is_replayed(drawn, analyse):
    arm = {"policy": "power_of_d", "d": 1}
    analysis = analyse(drawn(jobs=1000), structure={"control": arm, "treatment": arm})
    assert analysis.setting.structure is None
    assert "not_replayed" in by_name(analysis)
