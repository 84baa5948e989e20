"""LSTD-DQ against a plain version and against the exact oracle."""

import numpy as np
import pytest

from queuebench.estimators.lstd import Features, estimate, lstd_dq, server_groups
from queuebench.queueing.oracle import solve
from tests.references import values as reference
from tests.references.records import records


def plain_lstd(record, trace):
    """Return the estimate with features of states that are counted job by job."""
    groups = list(server_groups(record.setting.classes))
    lengths = reference.lengths_at_arrivals(record)
    after = [
        np.array([reference.features(x, s, groups) for x, s in zip(lengths, chosen, strict=True)])
        for chosen in map(record.replicate.column, ("server_if_control", "server_if_treated"))
    ]
    return reference.lstd(after, record, trace)


@pytest.mark.parametrize("trace", [0.0, 0.6])
@pytest.mark.parametrize("speeds", [{"kind": "equal"}, {"kind": "two_speed", "ratio": 2.0}])
def test_against_a_plain_version(make_cell, tmp_path, trace, speeds):
    cell = make_cell(
        load=0.7, arrivals=2000, warmup=20.0, horizon=2.0, speeds=speeds, system={"servers": 12}
    )
    (record,) = records(cell, tmp_path / "t.arrow")
    found = estimate(record, Features, trace)
    assert found.value == pytest.approx(plain_lstd(record, trace), rel=1e-6)


def test_against_the_oracle(make_cell, tmp_path):
    """N = 4, load 0.6, d = 2 against 3. What LSTD estimates is the DQ estimand.

    Within four standard errors over 12 records and 2 % for what the features cannot express.
    """
    cell = make_cell(
        load=0.6, arrivals=60_000, system={"servers": 4},
        control={"policy": "power_of_d", "d": 2}, treatment={"policy": "power_of_d", "d": 3},
    )  # fmt: skip
    exact = solve(4, 0.6, 2, 3, 0.5, tolerance=1e-6).mixed.dq
    found = [lstd_dq(record) for record in records(cell, tmp_path / "t.arrow", 12)]
    values = np.array([one.value for one in found])
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert abs(values.mean() - exact) < 4 * error + 0.02 * abs(exact)
    assert error < 0.05 * abs(exact)
    # The jackknife's errors against the spread of 12 values, known to 21 %.
    errors = np.mean([one.standard_error for one in found])
    assert errors == pytest.approx(values.std(ddof=1), rel=0.85)


def test_groups():
    assert list(server_groups(np.array([0, 1, 0]))) == [0, 1, 0]
    assert list(server_groups(np.arange(6))) == [0, 0, 0, 1, 1, 1]


def test_alike_arms_have_no_effect(make_cell, tmp_path):
    two = {"policy": "power_of_d", "d": 2}
    cell = make_cell(load=0.7, arrivals=2000, warmup=20.0, control=two, treatment=two)
    (record,) = records(cell, tmp_path / "t.arrow")
    assert lstd_dq(record).value == 0.0
