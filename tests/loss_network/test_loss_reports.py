"""Errors, epochs, regret estimators, rows and brackets."""

import math

import numpy as np
import pytest

from queuebench.loss_network.decomposition import decompose
from queuebench.loss_network.epochs import EpochSums, find_epochs, renewal_regret, sum_epochs
from queuebench.loss_network.errors import admission_errors
from queuebench.loss_network.events import HIGH, LOW, TICK, draw_events
from queuebench.loss_network.online import online_optimum
from queuebench.loss_network.policies import policy
from queuebench.loss_network.policies.promise import promise_bounds
from queuebench.loss_network.regret import batch_means, mean_idle, ratio_estimate
from queuebench.loss_network.study import run_path, trace_path
from queuebench.loss_network.summaries import (
    exact_rows,
    summarise_epochs,
    summarise_errors,
    summarise_regret,
)
from tests.loss_network.loss_reference import hypothetical, network, random_events


@pytest.mark.parametrize("name", ["online", "pfi", "sss", "sss_stop", "rolling_horizon", "xie3"])
@pytest.mark.parametrize("servers", [1, 9, 40])
def test_errors_agree_with_forward_scans(name, servers):
    net = network(servers)
    events = random_events(servers, 600, 11, tick_share=0.45)
    path = policy(name).run(net, events, 4.0)
    expected = [0, 0, 0, 0]
    for e in range(50, 550):
        if events.kind[e] != LOW:
            continue
        idle = servers - path.busy[e]
        holds = hypothetical(events, servers, e, idle, math.isqrt(servers), math.inf)
        expected[0] += 1
        expected[1] += holds and not path.taken[e]
        expected[2] += path.taken[e] and not holds
        expected[3] += idle == 0
    errors = admission_errors(net, events, path, promise_bounds(net, events), 50, 550)
    assert list(errors) == expected
    if name == "pfi":
        assert errors.type_1 == errors.type_2 == 0


def test_epochs_agree_with_a_plain_loop():
    net = network(16)
    events = draw_events(net, 5000, 6, 0)
    path = policy("online").run(net, events, None)
    epochs, current = [], None
    for e in range(300, 4700):
        rejected = int(events.kind[e] == HIGH and not path.taken[e])
        wasted = int(events.kind[e] == TICK and not path.taken[e])
        if current is not None:
            current[1] += rejected
            current[2] += wasted
            current[3] |= path.busy[e] <= 12
        if path.busy[e] == 14 and path.busy[e + 1] == 15:
            if current is not None:
                epochs.append((events.time[e] - current[0], *current[1:]))
            current = [events.time[e], 0, 0, False]
    found = find_epochs(net, events, path, 300, 4700)
    assert len(epochs) > 100
    assert list(zip(*(column.tolist() for column in found), strict=True)) == epochs


def test_renewal_estimate_of_given_epochs():
    net = network(4)
    sums = EpochSums(2, 4.0, 2, 3, 0, 13.0, 11.0, 10.0, 6.0, 4.5, 3.0)
    # Epochs of regret 2 and 3 and length 1 and 3: rate 5/4, residuals 0.75 and -0.75.
    renewal = renewal_regret(net, sums)
    assert renewal.regret == 1.25
    assert renewal.regret_se == pytest.approx(math.sqrt(2 * 0.75**2 * 2) / 4)
    assert renewal.lag_correlation == pytest.approx(-0.5)


def test_one_server_has_no_epochs():
    net = network(1)
    events = draw_events(net, 500, 1, 0)
    epochs = find_epochs(net, events, policy("online").run(net, events, None), 0, 500)
    assert len(epochs.length) == 0
    assert math.isnan(renewal_regret(net, sum_epochs(net, epochs)).regret)


def test_ratio_estimate_by_hand():
    ratio = ratio_estimate([2, 3], [1, 3])
    assert ratio.estimate == 1.25
    assert ratio.standard_error == pytest.approx(math.sqrt(2 * 0.75**2 * 2) / 4)
    assert math.isnan(ratio_estimate([2], [1]).standard_error)


def test_batches_add_up_to_the_whole():
    net = network(16)
    (row,) = run_path(net, 0, 1, 5000, (4,), names=["online"]).regret
    events = draw_events(net, 5000, 1, 0)
    path = policy("online").run(net, events, None)
    first, last = 1.0, float(events.time[-1]) - 1.0
    for batches in (2, 7, 50):
        batched = batch_means(net, events, path, first, last, batches)
        assert batched.estimate == pytest.approx(row["regret"], rel=1e-12)
    with pytest.raises(ValueError, match="batches >= 2"):
        batch_means(net, events, path, first, last, 1)


def test_mean_idle_is_a_time_average():
    events = random_events(5, 200, 3)
    net = network(5)
    path = policy("online").run(net, events, None)
    inside = slice(20, 150)
    weights = np.diff(events.time[inside])
    average = np.average(5 - path.busy[:-1][inside][1:], weights=weights)
    assert mean_idle(net, events, path, 20, 150) == pytest.approx(average, rel=1e-12)


GRID = (1, 4, 8)


@pytest.fixture(scope="module")
def paths():
    return [run_path(network(16), r, 3, 20_000, GRID, bound_reach=(16, 8)) for r in range(3)]


def test_rows_cover_every_policy_and_window(paths):
    keys = {(row["policy"], row["window_multiplier"]) for row in paths[0].regret}
    windowed = {(name, c) for name in ("sss", "sss_stop", "rolling_horizon") for c in GRID}
    plain = {"online", "xie3", "xie5", "pfi", "offline", "offline_opposite"}
    assert keys == windowed | {(name, None) for name in plain}
    judged = {row["policy"] for row in paths[0].errors}
    assert judged == {name for name, _ in keys} - {"offline", "offline_opposite"}
    assert len(paths[0].epochs) == len(paths[0].regret)
    for row in paths[0].regret:
        assert (row["window"] is None) == (row["window_multiplier"] is None)
        served = row["busy_end"] - row["busy_start"]
        total = row["rejected_high"] + row["wasted_ticks"] - served
        assert row["regret"] == pytest.approx(total / row["duration"], rel=1e-12)
    thresholds = {row["policy"]: row["threshold"] for row in paths[0].regret}
    assert thresholds["online"] == 2
    assert thresholds["pfi"] == thresholds["sss_stop"] == 4
    assert thresholds["sss"] is None


def test_rows_do_not_depend_on_what_else_is_run(paths):
    alone = run_path(network(16), 1, 3, 20_000, GRID, names=["sss"], bound_reach=(16, 8))
    assert alone.regret == [row for row in paths[1].regret if row["policy"] == "sss"]
    assert alone.bounds == paths[1].bounds
    assert alone.errors == [row for row in paths[1].errors if row["policy"] == "sss"]


def test_reach_limits_servers_and_windows():
    reach = {"offline": (8, None), "sss": (None, 4)}
    rows = run_path(network(16), 0, 3, 20_000, GRID, ["offline", "sss"], reach, (16, 1))
    keys = [(row["policy"], row["window_multiplier"]) for row in rows.regret]
    assert keys == [("sss", 1), ("sss", 4)]
    assert [row["window_multiplier"] for row in rows.bounds] == [1]
    assert run_path(network(16), 0, 3, 20_000, GRID, ["sss"], None, (15, None)).bounds == []


def test_a_short_path_is_refused():
    with pytest.raises(ValueError, match="events >= 511"):
        run_path(network(16), 0, 3, 300, GRID)


def test_summaries_pool_replicates(paths):
    rows = [row for path in paths for row in path.regret]
    table = {(r["policy"], r["window_multiplier"]): r for r in summarise_regret(rows)}
    summary = table["sss", 4]
    group = [r for r in rows if (r["policy"], r["window_multiplier"]) == ("sss", 4)]
    durations = sum(r["duration"] for r in group)
    assert summary["replicates"] == 3
    assert summary["wasted_ticks"] == sum(r["wasted_ticks"] for r in group) / durations
    assert summary["rejected_high_opposite"] is None
    offline, opposite = table["offline", None], table["offline_opposite", None]
    assert offline["rejected_high_opposite"] == opposite["rejected_high"]
    assert offline["rejected_high"] < opposite["rejected_high"]
    errors = summarise_errors([row for path in paths for row in path.errors])
    pfi = next(row for row in errors if row["policy"] == "pfi")
    assert pfi["type_1"] == pfi["type_2"] == 0 < pfi["forced_refusals"] < 1
    epochs = summarise_epochs(network(16), [row for path in paths for row in path.epochs])
    online = next(row for row in epochs if row["policy"] == "online")
    assert online["independent"]
    assert online["regret_renewal"] == pytest.approx(table["online", None]["regret"], rel=0.02)
    rows = [row for path in paths for row in path.epochs if row["policy"] == "online"]
    means = [row["length"] / row["epochs"] for row in rows]
    plain = np.std(means, ddof=1) / np.sqrt(len(means))
    # Replicates have nearly as many epochs each, so that the ratio's error is that of a mean.
    assert online["mean_length_se"] == pytest.approx(plain, rel=0.2)
    for name in ("rejected_high", "wasted_ticks", "recovered", "lag_correlation"):
        assert 0 < online[f"{name}_se"] < 0.2
    offline = table["offline", None]
    for name in ("mean_idle", "rejected_high_opposite", "wasted_ticks_opposite"):
        assert 0 < offline[f"{name}_se"] < 0.2 * max(offline[name], 1.0)


def test_exact_rows_have_the_columns_of_simulated_ones(paths):
    exact = exact_rows(network(16))
    assert [row["policy"] for row in exact] == ["online", "xie3", "xie5"]
    assert list(exact[0]) == list(summarise_regret(paths[0].regret)[0])
    assert exact[0]["regret"] == online_optimum(network(16)).regret


def make_rows(regrets):
    """Regret rows of unit duration from {(policy, multiplier): one regret per replicate}."""
    return [
        {"servers": 16, "policy": name, "window_multiplier": c, "replicate": r}
        | {"regret": value, "duration": 1.0}
        for (name, c), values in regrets.items()
        for r, value in enumerate(values)
    ]


def test_brackets_choose_on_other_replicates_than_they_measure():
    # At c = 4 each candidate is best on its own replicate, so cross-fitting takes the other one.
    rows = make_rows(
        {("sss", 4): [1.0, 3.0], ("sss_stop", 4): [3.0, 1.0], ("offline", None): [1.0, 1.0]}
    )
    (row,) = decompose(network(16), rows, [4])
    assert row["fluid"] - row["lookahead_lower"] == pytest.approx(3)
    assert row["c_long_high"] == 2
    assert row["c_vol"] == 1
    exact = online_optimum(network(16)).regret
    assert row["c_short_low"] == pytest.approx(exact - 3)
    assert row["c_short_high"] == pytest.approx(exact - 1)


def test_brackets_use_windows_up_to_their_own_and_the_online_optimum():
    rows = make_rows(
        {
            ("sss", 1): [2.0, 2.1],
            ("sss", 4): [9.0, 9.0],
            ("sss", 8): [1.0, 1.1],
            ("pfi", None): [0.5, 0.6],
        }
    )
    at = {row["window_multiplier"]: row for row in decompose(network(16), rows, [0.5, 1, 4, 8])}
    exact = online_optimum(network(16)).regret
    regrets = [at[c]["fluid"] - at[c]["lookahead_lower"] for c in (0.5, 1, 4, 8)]
    assert regrets == pytest.approx([exact, 2.05, 2.05, 1.05])
    assert at[0.5]["chosen"] == "online"
    assert (at[4]["chosen"], at[4]["chosen_multiplier"]) == ("sss", 1)
    for name in ("offline", "c_vol", "lookahead_upper", "c_long_high", "c_short_high"):
        assert at[4][name] is None
    assert at[4]["c_vol_bound"] == pytest.approx(0.55)


def test_brackets_use_bounds_at_windows_from_their_own_on():
    exact = online_optimum(network(16)).regret
    rows = make_rows({("sss", 1): [2.0, 2.1], ("offline", None): [1.0, 1.1]})
    bounds = [
        {"servers": 16, "window_multiplier": c, "replicate": r, "duration": 1.0}
        | {"gain_bound": exact - regret}
        for c, regret in ((1, 1.6), (2, 1.7), (4, 0.3))
        for r in range(2)
    ]
    at = {row["window_multiplier"]: row for row in decompose(network(16), rows, [1, 2, 4], bounds)}
    assert [at[c]["fluid"] - at[c]["lookahead_upper"] for c in (1, 2, 4)] == pytest.approx(
        [1.7, 1.7, 1.05]
    )
    assert [at[c]["c_long_low"] for c in (1, 2, 4)] == pytest.approx([0.65, 0.65, 0])
    assert at[1]["c_short_high"] == pytest.approx(exact - 1.7)


def test_brackets_need_two_replicates():
    with pytest.raises(ValueError, match="replicates >= 2"):
        decompose(network(16), make_rows({("sss", 1): [1.0]}), [1])


def test_brackets_of_simulated_rows_are_in_order(paths):
    rows = [row for path in paths for row in path.regret]
    bounds = [row for path in paths for row in path.bounds]
    assert len(bounds) == 3 * len(GRID)
    for row in decompose(network(16), rows, GRID, bounds):
        assert row["online"] < row["lookahead_lower"] <= row["lookahead_upper"] < row["fluid"]
        parts = row["c_vol"] + row["c_long_high"] + row["c_short_low"]
        assert parts == pytest.approx(row["fluid"] - row["online"])


def test_traces_hold_the_columns_of_the_policies():
    net = network(16)
    events = draw_events(net, 2000, 1, 0)
    trace = trace_path(net, events, [("pfi", None), ("sss", 4)], 100, 200)
    assert list(trace)[:3] == ["time", "kind", "mark"]
    assert list(trace)[3:] == ["busy_pfi", "decision_pfi", "busy_sss_c4", "decision_sss_c4"]
    assert {len(column) for column in trace.values()} == {100}
    step = np.where(trace["kind"] == TICK, -1, 1) * trace["decision_pfi"]
    np.testing.assert_array_equal(np.diff(trace["busy_pfi"]), step[:-1])
