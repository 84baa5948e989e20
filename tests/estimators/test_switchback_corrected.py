"""The corrected switchback against a plain version, and its bias against the exact oracle's effect."""

import math

import numpy as np
import pytest

from queuebench.estimators import EstimationError
from queuebench.estimators.common.inference import batch_means_error
from queuebench.estimators.common.record import Record
from queuebench.estimators.common.setting import setting_of
from queuebench.estimators.switchback import switchback
from queuebench.estimators.switchback_corrected import CELLS, LAG, switchback_corrected
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.trace import Trace

EFFECT = -0.3572
"""Of d = 3 against 2 with N = 20 at load 0.8 (exact)."""


def records(make_cell, path, replicates=1, period=10.0, **keys):
    design = {"kind": "switchback", "period": period}
    cell = make_cell(designs={"tested": design}, **keys)
    simulate_batch(cell, "tested", range(replicates), path)
    return [Record(replicate, setting_of(cell, "tested")) for replicate in Trace(path)]


def blocks_of(record):
    """Return, by block, its arm and the cell, number in system and response of its jobs."""
    names = ("arrival_time", "block", "treated", "in_system", "response_time")
    period = record.setting.period
    last = 2 * math.floor(record.replicate.record_end / (2 * period))
    found = {}
    for t, block, arm, x, w in zip(
        *(record.replicate.column(n).tolist() for n in names), strict=True
    ):
        if block < last:
            cell = math.floor((t - block * period) / (period / CELLS))
            found.setdefault(block, (int(arm), []))[1].append((cell, x, w))
    return found


def plain_relaxation(blocks, period, used):
    """Return tau, with the number in system at the first arrival in or after each cell."""
    samples = {0: [], 1: []}
    for block in used:
        arm, jobs = blocks[block]
        for cell in range(jobs[0][0] + 1, jobs[-1][0] + 1):
            if cell >= LAG:
                x, y = (next(x for c, x, _ in jobs if c >= at) for at in (cell - LAG, cell))
                samples[arm].append((x, y))
    above = below = 0.0
    for pairs in samples.values():
        mean_x, mean_y = np.mean(pairs, axis=0)
        above += sum((x - mean_x) * (y - mean_y) for x, y in pairs)
        below += sum((x - mean_x) ** 2 for x, _ in pairs)
    return -period * LAG / CELLS / math.log(above / below)


def plain_share(arm, before, cell, period, tau):
    """Return the mean of M over a cell, from the arms of the four blocks before, the last one first."""
    start = 0.5 * math.exp(-4 * period / tau)
    for age, other in enumerate(before):
        start += other * (math.exp(-age * period / tau) - math.exp(-(age + 1) * period / tau))
    edges = [cell * period / CELLS, (cell + 1) * period / CELLS]
    left = tau * (math.exp(-edges[0] / tau) - math.exp(-edges[1] / tau)) / (edges[1] - edges[0])
    return arm * (1 - left) + start * left


def plain_estimate(blocks, period, used):
    """Return the estimate from the jobs of some blocks, whatever their neighbours' arms."""
    tau = plain_relaxation(blocks, period, used)
    rows, responses = [], []
    arms = [0, 1, 0, 1] + [blocks[b][0] for b in range(len(blocks))]
    for b in used:
        arm, jobs = blocks[b]
        for cell, _, response in jobs:
            before = arms[b : b + 4][::-1]
            rows.append([1.0, arm, plain_share(arm, before, cell, period, tau)])
            responses.append(response)
    fitted = np.linalg.lstsq(np.array(rows), np.array(responses), rcond=None)[0]
    return fitted[1] + fitted[2]


@pytest.mark.parametrize(("seed", "period", "batches"), [(1, 2.9, 17), (2, 3.0, 17), (3, 8.0, 10)])
def test_against_a_plain_version(make_cell, tmp_path, seed, period, batches):
    """With about 70 and 26 pairs of blocks, which do not divide into the batches."""
    (record,) = records(
        make_cell, tmp_path / "t.arrow", period=period, load=0.8, arrivals=4000, seed=seed,
        system={"servers": 12}, warmup=20.0,
    )  # fmt: skip
    blocks = blocks_of(record)
    pairs = len(blocks) // 2
    assert pairs % batches
    found = switchback_corrected(record)
    assert found.value == pytest.approx(plain_estimate(blocks, period, list(blocks)), rel=1e-9)
    assert found.freedom == batches - 1
    batch = [block // 2 * batches // pairs for block in range(2 * pairs)]
    sizes = [batch.count(number) // 2 for number in range(batches)]
    assert max(sizes) - min(sizes) == 1
    left_out = [
        plain_estimate(blocks, period, [block for block in blocks if batch[block] != number])
        for number in range(batches)
    ]
    error = math.sqrt((batches - 1) * np.var(left_out))
    assert found.standard_error == pytest.approx(error, rel=1e-6)


def test_the_carry_over_is_gone(make_cell, tmp_path):
    """Blocks of 30, 100 000 arrivals, 40 records: within four standard errors of the effect.

    Measured on 100 records: `switchback` misses 0.059 of 0.357 with a spread of 0.034, this one 0.002 with
    0.047. A false alarm once in 16 000 seeds.
    """
    found = records(
        make_cell, tmp_path / "t.arrow", 40, period=30.0, load=0.8, arrivals=100_000,
        treatment={"policy": "power_of_d", "d": 3}, control={"policy": "power_of_d", "d": 2},
        system={"servers": 20},
    )  # fmt: skip
    estimates = [switchback_corrected(record) for record in found]
    values = np.array([estimate.value for estimate in estimates])
    error = values.std(ddof=1) / np.sqrt(len(values))
    assert error < 0.012
    assert abs(values.mean() - EFFECT) < 4 * error
    assert np.mean([switchback(record).value for record in found]) - EFFECT > 0.03
    # Jackknife errors against the spread of 40 values, known to 11 %.
    errors = np.mean([estimate.standard_error for estimate in estimates])
    assert errors == pytest.approx(values.std(ddof=1), rel=0.5)


def test_pseudo_values_have_the_standard_error(make_cell, tmp_path):
    """They let two estimates of one record be compared, pair of blocks by pair of blocks."""
    keys = {"system": {"servers": 4}, "warmup": 20.0, "load": 0.9}
    (record,) = records(make_cell, tmp_path / "t.arrow", arrivals=4000, **keys)
    for estimator in (switchback, switchback_corrected):
        found = estimator(record)
        assert len(found.parts) == found.freedom + 1
        error = batch_means_error(found.parts, len(found.parts))
        assert error == pytest.approx(found.standard_error, rel=1e-9)
    assert switchback(record).parts.mean() == pytest.approx(switchback(record).value, rel=1e-9)


def test_too_few_blocks(make_cell, tmp_path):
    keys = {"system": {"servers": 4}, "warmup": 20.0, "load": 0.7}
    (short,) = records(make_cell, tmp_path / "t.arrow", arrivals=300, **keys)
    assert switchback_corrected(short).note == "fewer than 10 pairs of blocks"
    short.replicate.__dict__["record_end"] = 15.0
    with pytest.raises(EstimationError, match="no complete pair of blocks of 10"):
        switchback_corrected(short)
