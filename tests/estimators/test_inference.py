"""Standard errors against a library, brute force and simulation."""

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.sandwich_covariance import S_hac_simple

from queuebench.estimators.common.batch_means import BLOCKS, ArmSums, difference, influence
from queuebench.estimators.common.costs import Cost
from queuebench.estimators.common.inference import (
    andrews_lags,
    batch_means_error,
    intervals,
    jackknife_estimate,
    newey_west_error,
)
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.registry import estimators_for
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.differences_in_q import mixed_effect, optimal_weight
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace


def autoregression(rng, n, r):
    noise = rng.normal(size=n)
    series = np.empty(n)
    series[0] = noise[0] / np.sqrt(1 - r * r)
    for i in range(1, n):
        series[i] = r * series[i - 1] + noise[i]
    return series


@pytest.mark.parametrize("lags", [0, 3, 20])
def test_newey_west_agrees_with_statsmodels(lags):
    series = autoregression(np.random.default_rng(1), 500, 0.5)
    chosen = max(lags, andrews_lags(series - series.mean()))
    expected = np.sqrt(S_hac_simple((series - series.mean())[:, None], nlags=chosen).item()) / 500
    assert newey_west_error(series, 500, lags) == pytest.approx(expected, rel=1e-12)


def test_andrews_bandwidth_by_hand():
    """With r = 1/2: a = 4/4 / ((1/4) (9/4)) = 16/9, and (16/9 * 1000)^(1/3) * 1.1447 = 13.87."""
    n = 1000
    series = np.zeros(n)
    series[0::2] = 1.0
    series[1::2] = 0.0
    # A series whose lag-one product is half its sum of squares: ones in pairs.
    series = np.tile([1.0, 1.0, 0.0, 0.0], n // 4)
    r = float(series[1:] @ series[:-1] / (series @ series))
    assert r == pytest.approx(0.5)
    assert andrews_lags(series) == 13
    assert andrews_lags(np.zeros(10)) == 0


@pytest.mark.parametrize("r", [0.0, 0.6])
def test_both_errors_match_the_spread_of_means(r):
    """Means of 400 series of 20 000; the spread is known to 3.5 %, four of those are allowed."""
    rng = np.random.default_rng(2)
    means, batch, kernel = [], [], []
    for _ in range(400):
        series = autoregression(rng, 20_000, r)
        means.append(series.mean())
        blocks = (series - series.mean()).reshape(400, 50).sum(axis=1)
        batch.append(batch_means_error(blocks.reshape(40, 10).sum(axis=1), 20_000))
        kernel.append(newey_west_error(blocks, 20_000, 1))
    spread = np.std(means)
    for found in (batch, kernel):
        assert np.sqrt(np.mean(np.square(found))) == pytest.approx(spread, rel=0.14)


def test_intervals_are_students():
    found = intervals(1.0, 0.5, 9)
    reach = 0.5 * stats.t.ppf(0.975, 9)
    assert found["lower_95"] == pytest.approx(1.0 - reach)
    assert found["upper_90"] == pytest.approx(1.0 + 0.5 * stats.t.ppf(0.95, 9))
    assert all(np.isnan(value) for value in intervals(1.0, np.nan, 0).values())


def test_influences_of_batches_sum_to_zero():
    rng = np.random.default_rng(3)
    sums = ArmSums(rng.integers(5, 9, (20, 2)).astype(float), rng.normal(size=(20, 2)))
    assert influence(sums).sum() == pytest.approx(0.0, abs=1e-12)
    merged = sums.batches()
    assert len(merged.count) == 20 // BLOCKS
    assert difference(merged) == pytest.approx(difference(sums))


def test_the_mixtures_jackknife_leaves_out_a_batch_at_a_time(make_cell, tmp_path):
    """Against estimates computed afresh from the Q values of all other batches."""
    from tests.references import estimators as reference

    cell = make_cell(arrivals=4000, system={"servers": 4}, horizon=3.0, warmup=20.0)
    simulate_batch(cell, "bernoulli", range(1), tmp_path / "t.arrow")
    record = Record(next(iter(Trace(tmp_path / "t.arrow"))), setting_of(cell, "bernoulli"))
    sums = record.windows(3.0)
    columns = [record.replicate.column(name) for name in type(record.costs).COLUMNS]
    matrix = np.empty((4000, 4))
    record.costs.matrix(*columns, matrix)
    length = sums.length
    q = {
        cost: np.array(reference.truncated_q(list(matrix[:, cost]), length))
        for cost in (Cost.MARKOV, Cost.QUEUE)
    }
    treated = record.replicate.column("treated")[: sums.starts]
    batches = len(sums.moments)
    batch = np.minimum(np.arange(sums.starts) // (sums.starts // batches), batches - 1)
    expected = []
    for left in range(batches):
        kept = batch != left
        w, c = q[Cost.MARKOV][kept], q[Cost.QUEUE][kept]
        alpha = reference.optimal_alpha(list(w), list(c))
        mixed = alpha * w + (1 - alpha) * c
        expected.append(mixed[treated[kept]].mean() - mixed[~treated[kept]].mean())
    found = mixed_effect(Cost.MARKOV, *sums.left_out())
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert jackknife_estimate(0.0, found).standard_error > 0
    assert optimal_weight(sums.moment_sums(), Cost.MARKOV) != 0.5


def test_pseudo_values_say_what_the_standard_error_says(make_cell, tmp_path):
    """Their mean is the estimate, or its jackknifed form, and their spread the standard error."""
    simulate_batch(cell := make_cell(arrivals=30_000), "bernoulli", range(1), tmp_path / "t.arrow")
    (replicate,) = Trace(tmp_path / "t.arrow")
    record = Record(replicate, setting_of(cell, "bernoulli"))
    told = []
    for entry in estimators_for("bernoulli", choices=True, structure=True):
        estimate = entry.function(record, 30.0 if entry.uses_horizon else None)
        if estimate.parts is None:
            continue
        told.append(entry.name)
        batches = len(estimate.parts)
        assert batches == estimate.freedom + 1
        spread = estimate.parts.std(ddof=1) / np.sqrt(batches)
        assert spread == pytest.approx(estimate.standard_error, rel=1e-9)
        assert estimate.parts.mean() == pytest.approx(estimate.value, abs=estimate.standard_error)
    assert {"wdq", "mixed_dq", "mixed_dq_coupled", "lstd_dq", "replay"} <= set(told)


def test_lepskis_rule_takes_the_shortest_horizon_that_agrees_with_all_longer_ones(monkeypatch):
    from types import SimpleNamespace

    from queuebench.estimators import horizon_choice
    from queuebench.estimators.common.registry import Estimate

    def chosen(values, errors):
        found = {h: Estimate(v, e) for h, (v, e) in enumerate(zip(values, errors, strict=True))}
        monkeypatch.setattr(horizon_choice, "mixed_dq", lambda record, h: found[h])
        record = SimpleNamespace(setting=SimpleNamespace(horizons=tuple(found)))
        return horizon_choice.mixed_dq_auto(record).value

    assert chosen([1.0, 1.0, 1.1], [0.1, 0.5, 1.0]) == 1.0
    assert chosen([0.0, 2.0, 2.3], [0.1, 0.5, 1.0]) == 2.0
    assert chosen([0.0, 2.0, 9.0], [0.1, 0.5, 1.0]) == 9.0
    assert chosen([1.0, 1.0, 9.0], [0.1, 0.5, np.nan]) == 1.0
    assert chosen([0.0, 2.0, 9.0], [np.nan, np.nan, np.nan]) == 0.0
