"""Slopes against log N."""

import numpy as np
import pytest
from scipy import stats

from queuebench.loss_network.online import online_optimum
from queuebench.loss_network.slopes import log_slope
from tests.loss_network.loss_reference import network

SERVERS = [16, 64, 256, 1024]


def test_exact_values_agree_with_ordinary_least_squares():
    values = [3.9, 6.8, 10.3, 14.2]
    expected = stats.linregress(np.log(SERVERS), values)
    slope = log_slope(SERVERS, values)
    assert slope.estimate == pytest.approx(expected.slope)
    assert slope.standard_error == pytest.approx(expected.stderr)


def test_errors_weight_the_fit():
    errors = np.array([0.1, 0.2, 0.5, 1.0])
    values = np.array([1.0, 2.0, 2.5, 7.0])
    design = np.column_stack([np.ones(4), np.log(SERVERS)]) / errors[:, None]
    covariance = np.linalg.inv(design.T @ design)
    expected = covariance @ design.T @ (values / errors)
    slope = log_slope(SERVERS, values, errors)
    assert slope.estimate == pytest.approx(expected[1])
    assert slope.standard_error == pytest.approx(covariance[1, 1] ** 0.5)


def test_online_regret_grows_like_log_n():
    servers = [2**k for k in range(8, 21, 2)]
    slope = log_slope(servers, [online_optimum(network(n)).regret for n in servers])
    assert slope.estimate - 10 * slope.standard_error > 0


def test_what_a_slope_needs():
    with pytest.raises(ValueError, match="needs 3 different"):
        log_slope([16, 64], [1, 2])
    with pytest.raises(ValueError, match="needs 2 different"):
        log_slope([16, 16], [1, 2], [1, 1])
    with pytest.raises(ValueError, match="errors > 0"):
        log_slope([16, 64], [1, 2], [1, 0])
