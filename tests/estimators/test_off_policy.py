"""Off-policy LSTD against a plain version and against the exact oracle."""

import numpy as np
import pytest

from queuebench.estimators import EstimationError, estimators_for
from queuebench.estimators.common.setting import applying
from queuebench.estimators.lstd import lstd_dq, server_groups
from queuebench.estimators.off_policy import lstd_off_policy, lstd_off_policy_coupled
from queuebench.queueing.oracle import solve
from tests.references import values as reference
from tests.references.records import records


def plain_average_cost(phi, following, cost, weight, used):
    """Return eta from all equations at once, its own unknown the last."""
    instruments = np.column_stack([phi[:, used], np.ones(len(phi))])
    change = np.column_stack([phi[:, used] - following[:, used], np.ones(len(phi))])
    weighted = instruments * weight[:, None]
    return np.linalg.solve(weighted.T @ change, weighted.T @ cost)[-1]


def plain_off_policy(record, coupled):
    """Return the estimate with whole matrices."""
    names = ("treated", "server_if_control", "server_if_treated", "in_system", "arrival_time")
    treated, *chosen, in_system, arrival = (record.replicate.column(name) for name in names)
    groups = list(server_groups(record.setting.classes))
    lengths = reference.lengths_at_arrivals(record)
    after = [
        np.array([reference.features(x, s, groups) for x, s in zip(lengths, servers, strict=True)])
        for servers in chosen
    ]
    phi = np.where(treated[:, None], after[1], after[0])
    cost = (in_system * (arrival[-1] - arrival[0]) / (len(arrival) - 1))[1:]
    now, later = phi[:-1], phi[1:]
    following = [after[arm][1:] if coupled else later for arm in (0, 1)]
    weights = [np.ones(len(now)) if coupled else 1.0 * (treated[1:] == arm) for arm in (0, 1)]
    moves = 0.0
    for arm in (0, 1):
        mean = np.average(now, axis=0, weights=weights[arm])
        moves += weights[arm] @ ((now - mean) * (now - following[arm]))
    used = moves > 1e-4 * moves.max()
    eta = [plain_average_cost(now, following[a], cost, weights[a], used) for a in (0, 1)]
    return eta[1] - eta[0]


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("speeds", [{"kind": "equal"}, {"kind": "two_speed", "ratio": 2.0}])
def test_against_a_plain_version(make_cell, tmp_path, coupled, speeds):
    cell = make_cell(
        load=0.85, arrivals=4000, warmup=40.0, horizon=2.0, speeds=speeds,
        system={"servers": 12, "treated_share": 0.4},
    )  # fmt: skip
    (record,) = records(cell, tmp_path / "t.arrow")
    found = (lstd_off_policy_coupled if coupled else lstd_off_policy)(record)
    assert found.value == pytest.approx(plain_off_policy(record, coupled), rel=1e-6)
    assert found.standard_error > 0.0


def test_what_differences_in_q_leave_out(make_cell, tmp_path):
    """N = 3, load 0.5, d = 1 against 2: the whole effect, of which the DQ estimand is a good part short.

    Within four standard errors over 10 records, and 3 % of the effect for what the features cannot express.
    """
    cell = make_cell(
        load=0.5, arrivals=60_000, system={"servers": 3},
        control={"policy": "power_of_d", "d": 1}, treatment={"policy": "power_of_d", "d": 2},
    )  # fmt: skip
    exact = solve(3, 0.5, 1, 2, 0.5, tolerance=1e-6)
    found = records(cell, tmp_path / "t.arrow", 10)
    for estimator, target in (
        (lstd_off_policy, exact.gte), (lstd_off_policy_coupled, exact.gte), (lstd_dq, exact.mixed.dq)
    ):  # fmt: skip
        values = np.array([estimator(record).value for record in found])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert abs(values.mean() - target) < 4 * error + 0.03 * abs(exact.gte)
        assert (
            abs(values.mean() - exact.gte) < 0.5 * abs(exact.gte - exact.mixed.dq)
            or target != exact.gte
        )
    assert abs(exact.mixed.dq) < 0.9 * abs(exact.gte)


def test_arms_that_choose_alike_cost_the_same(make_cell, tmp_path):
    two = {"policy": "power_of_d", "d": 2}
    cell = make_cell(load=0.7, arrivals=2000, warmup=20.0, control=two, treatment=two)
    (record,) = records(cell, tmp_path / "t.arrow")
    assert lstd_off_policy_coupled(record).value == 0.0


def test_an_arm_without_arrivals(make_cell, tmp_path):
    cell = make_cell(arrivals=60, system={"servers": 4, "treated_share": 1e-6}, warmup=5.0)
    (record,) = records(cell, tmp_path / "t.arrow")
    with pytest.raises(EstimationError, match="an arm has no arrivals"):
        lstd_off_policy(record)


def test_not_offered_where_the_rate_varies():
    names = {"lstd_dq", "lstd_dq_trace", "lstd_off_policy", "lstd_off_policy_coupled"}
    for periodic in (False, True):
        offered = estimators_for("bernoulli", periodic=periodic, choices=True, structure=True)
        assert names.isdisjoint(entry.name for entry in offered) == periodic
        assert "mixed_dq" in [entry.name for entry in offered]


def test_a_cell_with_a_varying_rate_does_without(make_cell):
    sinusoidal = {"kind": "sinusoidal", "amplitude": 0.2, "period": 50.0}
    for keys, expected in (({}, True), ({"arrival_process": sinusoidal}, False)):
        names = [entry.name for entry in applying(make_cell(**keys), "bernoulli")]
        assert ("lstd_dq" in names) == expected
