"""Simulated regret against checked values, within Monte Carlo error.

The checked values are known to 0.02, or to 1 % where that is more, and to half their last digit.
On top come 4.5 standard errors from batch means of at least 80 batches: with Student's law a false
alarm of 2.5e-5 per value, 6e-4 for the 24 values of three networks (seeds are fixed, so it either
always happens or never).
"""

import pytest

from queuebench.loss_network.online import online_optimum, trunk_reservation
from queuebench.loss_network.study import run_path
from queuebench.loss_network.summaries import summarise_epochs, summarise_errors, summarise_regret
from tests.loss_network.loss_reference import network

GRID = (1, 4, 8, 16, 32)
COLUMNS = [("online", None), ("pfi", None), *(("sss", c) for c in GRID), ("offline", None)]
VALUES = {
    16: "3.928 3.38 3.60 3.10 3.27 3.86 4.74 2.59",
    64: "6.8261 4.60 7.31 4.70 4.21 4.24 4.61 3.52",
    256: "10.3449 4.58 17.3 7.36 5.18 4.48 4.43 3.93",
    1024: "14.1525 4.5 50 13.7 6.7 4.7 4.5 4.1",
    4096: "17.967 4.6 160 - - 4.9 4.6",  # no checked values at c = 4 and 8
}
TYPE_1 = {(16, 4): 0.17, (16, 16): 0.51, (256, 32): 0.02}
NAMES = ["online", "xie3", "pfi", "sss", "offline"]


def simulate(servers, count, replicates):
    paths = [
        run_path(network(servers), r, 2024, count, GRID, NAMES, bound_reach=(0, None))
        for r in range(replicates)
    ]
    return [[row for rows in lists for row in rows] for lists in zip(*paths, strict=True)]


def by_key(rows):
    return {(row["policy"], row["window_multiplier"]): row for row in rows}


def check_values(servers, count, replicates):
    regret, errors, epochs, _ = simulate(servers, count, replicates)
    table = by_key(summarise_regret(regret))
    for key, text in zip(COLUMNS, VALUES[servers].split(), strict=False):
        if text == "-":
            continue
        half_digit = 0.5 * 10.0 ** -len(text.partition(".")[2])
        known = max(0.02, 0.01 * float(text), half_digit)
        slack = known + 4.5 * table[key]["regret_batch_se"]
        assert table[key]["regret"] == pytest.approx(float(text), abs=slack), key
    for name in ("online", "xie3"):
        row = table[name, None]
        exact = trunk_reservation(network(servers), row["threshold"])
        slack = 4.5 * row["regret_batch_se"]
        assert row["regret"] == pytest.approx(exact.regret, abs=slack)
    assert table["online", None]["threshold"] == online_optimum(network(servers)).threshold
    # Ticks are wasted at the rate mu times the mean number idle, except under the offline optimum.
    # The two differ by a martingale whose variance rate is the rate of wasted ticks.
    duration = sum(row["duration"] for row in regret if row["policy"] == "online")
    for key in COLUMNS[:-1]:
        row = table[key]
        slack = 4.5 * (row["wasted_ticks"] / duration) ** 0.5
        if key[0] == "online":
            assert row["wasted_ticks"] == pytest.approx(row["mean_idle"], abs=slack), key
        else:
            # Looking ahead the two agree in the mean, but the difference is no martingale.
            assert row["wasted_ticks"] == pytest.approx(row["mean_idle"], rel=0.03, abs=slack), key
    assert table["offline", None]["wasted_ticks"] < table["offline", None]["mean_idle"] - 0.5
    renewal = {
        (row["policy"], row["window_multiplier"]): row
        for row in summarise_epochs(network(servers), epochs)
    }
    for key in COLUMNS:
        # Both see nearly the same events, so they agree to well within one standard error.
        slack = 1.0 * table[key]["regret_batch_se"]
        assert renewal[key]["regret_renewal"] == pytest.approx(table[key]["regret"], abs=slack)
    shares = by_key(summarise_errors(errors))
    for (n, c), share in TYPE_1.items():
        if n == servers:
            assert shares["sss", c]["type_1"] == pytest.approx(share, abs=0.01)
    type_1 = [shares["sss", c]["type_1"] for c in GRID]
    type_2 = [shares["sss", c]["type_2"] for c in GRID]
    assert type_1 == sorted(type_1)
    assert type_2 == sorted(type_2, reverse=True)


@pytest.mark.parametrize("servers", [16, 64, 256])
def test_simulated_values(servers):
    check_values(servers, 1_000_000, 4)


@pytest.mark.slow
@pytest.mark.parametrize("servers", [1024, 4096])
def test_simulated_values_with_many_servers(servers):
    check_values(servers, 10_000_000, 4)
