"""Estimators away from the plain system: other service laws, old information, a varying rate.

Tables are those of an earlier prototype: means and standard deviations of at least 100 replicates (N = 20,
horizon 30, n = 100 000). A mean is compared within four standard errors of the difference, the prototype's
own included, and half a unit of the table's last digit; a standard deviation within four times the
relative error ``sqrt(1 / 2R + 1 / 200)`` of two normal samples. One comparison raises a false alarm once
in 16 000 seeds, all of them together about once in 250.
"""

import numpy as np
import pandas as pd
import pytest

from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.pipeline.stages.truth import simulate_truth

ERRORS = 4
EARLIER = 100
REPLICATES = 200


@pytest.fixture
def estimate(tmp_path):
    """Return a function that runs replicates of a cell: a table of replicates by estimators."""

    def run(cell, replicates=REPLICATES):
        outputs = [tmp_path / "estimates.parquet", tmp_path / "diagnostics.parquet"]
        simulate_and_estimate(cell, range(replicates), outputs)
        rows = pd.read_parquet(outputs[0])
        return rows.pivot(
            index="replicate", columns="estimator", values=["estimate", "estimate_se", "alpha"]
        )

    return run


def mean_and_error(sample):
    return sample.mean(), sample.std() / np.sqrt(len(sample))


def assert_mean_as_tabled(sample, tabled, sd, digits):
    mean, error = mean_and_error(sample)
    bound = ERRORS * np.hypot(error, sd / np.sqrt(EARLIER)) + 0.5 * 10**-digits
    assert abs(mean - tabled) < bound, f"{mean:.4f} +- {error:.4f}, not {tabled}"


def assert_sd_as_tabled(sample, sd):
    bound = ERRORS * np.sqrt(1 / (2 * len(sample)) + 1 / (2 * EARLIER))
    assert sample.std() == pytest.approx(sd, rel=bound)


def assert_truth_as_tabled(truth, tabled, digits):
    assert abs(truth.gte - tabled) < ERRORS * truth.gte_se + 0.5 * 10**-digits


# service law, load, GTE and its digits, then mean and sd of naive, mixed_dq_markov and mixed_dq,
# and the fitted mixture's alpha
CONSTANT = {"distribution": "constant"}
PARETO = {"distribution": "pareto", "shape": 2.5}
ROWS = [
    (CONSTANT, 0.5, (-0.0688, 4), (-0.066, 0.002), (-0.142, 0.050), (-0.063, 0.021), 1.22),
    (CONSTANT, 0.8, (-0.164, 3), (-0.118, 0.003), (-0.33, 0.17), (-0.141, 0.063), 1.89),
    (CONSTANT, 0.9, (-0.26, 2), (-0.148, 0.004), (-0.55, 0.32), (-0.24, 0.17), 2.94),
    (PARETO, 0.5, (-0.099, 3), (-0.101, 0.009), (-0.134, 0.045), (-0.100, 0.033), 1.29),
    (PARETO, 0.8, (-0.241, 3), (-0.182, 0.012), (-0.240, 0.19), (-0.215, 0.18), 2.23),
]


@pytest.mark.slow
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_the_table_of_other_service_laws(make_cell, estimate, row):
    service, load, gte, naive, markov, fitted, alpha = ROWS[row]
    # A seed per row: cells of the same name and load share arrivals and arms.
    cell = make_cell(
        load=load, arrivals=100_000, service=service, seed=row + 1, truth={"relative": 0.01}
    )
    truth = simulate_truth(cell)
    assert_truth_as_tabled(truth, *gte)
    table = estimate(cell)
    digits = 2 if service == CONSTANT and load > 0.5 else 3
    for name, (mean, sd), places in (
        ("naive", naive, 3), ("mixed_dq_markov", markov, digits), ("mixed_dq", fitted, digits)
    ):  # fmt: skip
        assert_mean_as_tabled(table["estimate", name], mean, sd, places)
        if name != "naive":  # whose tabled spread has a single digit
            assert_sd_as_tabled(table["estimate", name], sd)
    weight, error = mean_and_error(table["alpha", "mixed_dq"])
    assert abs(weight - alpha) < ERRORS * error * np.sqrt(1 + REPLICATES / EARLIER) + 0.005
    if service == CONSTANT:
        assert_markov_is_wrong_and_fitted_near(table["estimate"], truth)


def assert_markov_is_wrong_and_fitted_near(estimates, truth):
    """The Markov cost misses by more than half of the effect; the fitted one by less than a fifth.

    The fitted cost is not exact either: a queue's length says something about the service under way.
    Measured on 400 to 800 replicates it misses 11 % of the effect at load 0.5 and 16 % at 0.8.
    """
    size = abs(truth.gte)
    away, error = {}, {}
    for name in ("mixed_dq_markov", "mixed_dq"):
        mean, own = mean_and_error(estimates[name])
        away[name] = abs(mean - truth.gte)
        error[name] = ERRORS * np.hypot(own, truth.gte_se)
    assert away["mixed_dq_markov"] > 0.5 * size + error["mixed_dq_markov"]
    assert away["mixed_dq"] < 0.2 * size + error["mixed_dq"]
    assert away["mixed_dq"] + error["mixed_dq"] < away["mixed_dq_markov"]


# load, d of the treatment, age, GTE, then mean and sd of naive and of mixed_dq_markov
DELAYED = [
    (0.9, 3, 1.0, -0.230, (-0.229, 0.017), (-0.14, 0.83)),
    (0.9, 3, 2.0, +0.038, (-0.172, 0.019), (+0.08, 1.0)),
    (0.9, 3, 4.0, +0.550, (-0.081, 0.026), (+0.40, 1.3)),
    (0.9, 5, 1.5, +0.262, (-0.2297, 0.021), (+0.32, 0.96)),
    (0.8, 5, 1.5, +0.288, (-0.114, 0.015), (+0.27, 0.43)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "d", "age", "gte", "naive", "mixed"), DELAYED)
def test_old_information_turns_the_sign(make_cell, estimate, load, d, age, gte, naive, mixed):
    cell = make_cell(
        load=load, arrivals=100_000, treatment={"policy": "power_of_d", "d": d},
        information={"kind": "constant_age", "age": age},
        truth={"relative": 0.01}, seed=round(100 * load + 10 * age) + d,
    )  # fmt: skip
    truth = simulate_truth(cell)
    assert_truth_as_tabled(truth, gte, 3)
    table = estimate(cell, 100)
    for name, (mean, sd), digits in (("naive", naive, 3), ("mixed_dq_markov", mixed, 2)):
        assert_mean_as_tabled(table["estimate", name], mean, sd, digits)
        assert_sd_as_tabled(table["estimate", name], sd)
    for name in ("mixed_dq", "mixed_dq_markov", "qdq"):
        mean, error = mean_and_error(table["estimate", name])
        assert abs(mean - truth.gte) < ERRORS * np.hypot(error, truth.gte_se)


@pytest.mark.slow
def test_the_showcase_is_wrong_with_confidence(make_cell, estimate):
    """Load 0.9, d = 2 against 5, age 1.5: each experiment says better, and the truth is worse."""
    cell = make_cell(
        load=0.9, arrivals=150_000, treatment={"policy": "power_of_d", "d": 5},
        information={"kind": "constant_age", "age": 1.5},
        truth={"relative": 0.01}, estimators=["naive"],
    )  # fmt: skip
    truth = simulate_truth(cell)
    assert truth.gte > 20 * truth.gte_se
    table = estimate(cell, 50)
    naive, own_error = table["estimate", "naive"], table["estimate_se", "naive"]
    assert np.all(naive < 0)
    assert np.median(naive / own_error) < -10
    assert np.all(naive / own_error < -5)


@pytest.mark.slow
@pytest.mark.parametrize(("load", "amplitude", "period"), [(0.6, 0.6, 100.0), (0.4, 0.8, 200.0)])
def test_centring_by_phase_keeps_the_mean_and_removes_variance(
    make_cell, estimate, load, amplitude, period
):
    """Both forms are near the effect; the centred one varies less: `qdq` surely, `wdq` by more than half.

    Measured, the variance shrinks by a factor of 2 to 3 for `qdq` and of 3.5 to 6 for `wdq`; what is
    left is the queues' own noise, which a busy system has much of. The logarithm of a ratio of two
    variances of correlation r has a variance of ``4 (1 - r^2) / R``.
    """
    process = {"kind": "sinusoidal", "amplitude": amplitude, "period": period}
    names = ["qdq", "qdq_uncentred", "wdq", "wdq_uncentred", "mixed_dq"]
    cell = make_cell(
        load=load, arrivals=100_000, arrival_process=process,
        truth={"relative": 0.01}, estimators=names,
    )  # fmt: skip
    truth = simulate_truth(cell)
    found = estimate(cell)["estimate"]
    for name in names:
        mean, error = mean_and_error(found[name])
        assert abs(mean - truth.gte) < ERRORS * np.hypot(error, truth.gte_se), name
    for name, gain in (("qdq", 1.0), ("wdq", 2.0)):
        centred, plain = found[name], found[f"{name}_uncentred"]
        error = np.sqrt(4 * (1 - centred.corr(plain) ** 2) / len(found))
        assert np.log(plain.var() / centred.var()) > np.log(gain) + ERRORS * error
