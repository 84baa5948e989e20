"""The occupancy chain against the ordered chain, which is written independently."""

import pytest

from queuebench.queueing.oracle import solve
from tests.queueing.oracle.dense import DenseChain

HORIZONS = (0, 1, 2, 7, 40)
# Both solutions are of the same finite chain: only the solvers' stopping separates them.
TOLERANCE = 1e-9


@pytest.mark.parametrize(
    ("servers", "load", "d_control", "d_treatment", "share", "cut"),
    [
        (2, 0.7, 1, 2, 0.5, 12),
        (2, 0.9, 2, 1, 0.3, 9),
        (3, 0.6, 1, 2, 0.5, 6),
        (3, 0.8, 1, 3, 0.2, 6),
        (3, 0.8, 2, 3, 0.7, 5),
    ],
)
def test_agrees_with_the_ordered_chain(servers, load, d_control, d_treatment, share, cut):
    dense = DenseChain(servers, load, d_control, d_treatment, share, cut)
    result = solve(servers, load, d_control, d_treatment, share, cut=cut, horizons=HORIZONS,
                   tolerance=TOLERANCE)  # fmt: skip
    close = dict(abs=100 * TOLERANCE, rel=0)
    assert result.mixed.policy.c_w == pytest.approx(dense.c_w, **close)
    assert result.naive == pytest.approx(dense.naive, **close)
    assert result.dq == pytest.approx(dense.dq, **close)
    for horizon in HORIZONS:
        assert result.truncated[horizon] == pytest.approx(dense.truncated(horizon), **close)


def test_pure_policies_agree_with_the_ordered_chain():
    result = solve(3, 0.75, 1, 2, cut=6, tolerance=TOLERANCE)
    for policy, share in ((result.control, 0.0), (result.treatment, 1.0)):
        dense = DenseChain(3, 0.75, 1, 2, share, 6)
        assert policy.c_w == pytest.approx(dense.c_w, abs=100 * TOLERANCE)
        assert policy.c_q == pytest.approx(dense.c_w * 3 * 0.75, abs=100 * TOLERANCE)
