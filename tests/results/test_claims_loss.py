"""The loss network's claims on fabricated tables that must pass and fail them."""

import numpy as np
import pandas as pd
import pytest

from queuebench.results.claims.loss_network import loss_evidence
from queuebench.results.claims.verdicts import INCONCLUSIVE, NOT_REPRODUCED, REPRODUCED
from queuebench.results.tables.claims import claims_table

SERVERS = np.array([16, 64, 256, 1024])
LOG = np.log(SERVERS)


def verdicts(
    online=1.0, c_vol=0.0, long=0.0, short=1.0, sss=20.0, pfi=0.0, gap=0.0, error=0.01,
    curvature=0.0,
):  # fmt: skip
    """Overall verdicts where every quantity grows with a given slope against log N."""
    steps = LOG + curvature * LOG**2
    regret = pd.concat(
        [
            pd.DataFrame(
                {
                    "servers": SERVERS, "policy": policy, "source": source,
                    "window_multiplier": multiplier, "regret": 3.0 + slope * steps,
                    "regret_se": 0.0 if source == "exact" else error,
                }
            )
            for policy, source, multiplier, slope in [
                ("online", "exact", np.nan, online),
                ("pfi", "simulated", np.nan, pfi),
                ("sss", "simulated", 1.0, sss),
                ("sss", "simulated", 32.0, 0.0),
            ]
        ]
    )  # fmt: skip
    decomposition = pd.DataFrame(
        {
            "servers": SERVERS, "window_multiplier": 32.0,
            "c_vol": 2.0 + c_vol * LOG, "c_vol_se": error,
            "c_long_high": 0.1 + long * LOG, "c_long_high_se": error,
            "c_short_low": 0.5 + short * LOG, "c_short_low_se": error,
        }
    )  # fmt: skip
    single_use = pd.DataFrame(
        {"servers": SERVERS, "gap": 1.5 + gap * LOG + 1e-6 * np.array([1, -1, 1, -1])}
    )
    tables = {"regret": regret, "regret_decomposition": decomposition, "single_use": single_use}
    table = claims_table(loss_evidence(tables))
    return table[table["where"] == "overall"].set_index("id")["verdict"]


def test_a_study_in_which_everything_holds_reproduces_everything():
    found = verdicts(curvature=0.001)
    assert len(found) == 7
    assert set(found) == {REPRODUCED}


@pytest.mark.parametrize(
    ("claim", "slopes"),
    [
        ("online_log", {"online": -1.0}),
        ("variability_bounded", {"c_vol": 0.6}),
        ("variability_bounded", {"pfi": 0.6}),
        ("long_term_bounded", {"long": 0.6}),
        ("short_window_unbounded", {"sss": 0.5}),
        ("short_term_log", {"short": 0.1}),
        ("short_term_log", {"short": 2.0}),
        ("regret_is_uncertainty", {"c_vol": 0.6}),
        ("single_use_bounded", {"gap": 0.6}),
    ],
)
def test_every_claim_can_fail(claim, slopes):
    assert verdicts(curvature=0.001, **slopes)[claim] == NOT_REPRODUCED


def test_noise_makes_claims_inconclusive():
    found = verdicts(curvature=0.001, error=2.0)
    assert found["variability_bounded"] == INCONCLUSIVE
    assert found["short_term_log"] == INCONCLUSIVE


def test_two_numbers_of_servers_are_no_evidence():
    regret = pd.DataFrame({"servers": [16, 64]})
    assert all(evidence == [] for _, evidence in loss_evidence({"regret": regret}))
