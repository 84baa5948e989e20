"""The jackknifed mixture against the definition: estimates of the record without each batch."""

import numpy as np
import pytest

from queuebench.estimators.block_jackknife import mixed_dq_jackknife
from queuebench.estimators.differences_in_q import mixed_dq
from tests.references import estimators as reference
from tests.references.records import records

HORIZON = 2.0


def plain_mixture(response, queue, treated):
    """Return the mixture of two arrays of Q values."""
    covariance = np.cov(response, queue, bias=True)
    gap = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    alpha = (covariance[1, 1] - covariance[0, 1]) / gap
    q = alpha * response + (1 - alpha) * queue
    return q[treated].mean() - q[~treated].mean()


def test_pseudo_values(make_cell, tmp_path):
    cell = make_cell(load=0.8, arrivals=3000, warmup=20.0, system={"servers": 4})
    (record,) = records(cell, tmp_path / "t.arrow")
    names = ("server", "queue_length", "response_time", "arrival_time", "in_system", "treated")
    server, met, response, arrival, in_system, treated = (
        list(record.replicate.column(name)) for name in names
    )
    length = cell.horizon_arrivals(HORIZON)
    fitted = reference.fitted_cost(server, met, response, record.setting.structure.speeds)
    queue = reference.queue_length_cost(in_system, reference.lambda_hat(arrival))
    q = [np.array(reference.truncated_q(cost, length)) for cost in (fitted, queue)]
    starts = len(q[0])
    arms = np.array(treated[:starts])
    batches = len(record.windows(HORIZON).moments)
    batch = np.minimum(np.arange(starts) // (starts // batches), batches - 1)
    whole = plain_mixture(*q, arms)
    pseudo = np.array(
        [
            batches * whole
            - (batches - 1) * plain_mixture(*(one[batch != b] for one in q), arms[batch != b])
            for b in range(batches)
        ]
    )
    found = mixed_dq_jackknife(record, HORIZON)
    assert found.value == pytest.approx(pseudo.mean(), rel=1e-7)
    assert found.standard_error == pytest.approx(np.sqrt(pseudo.var(ddof=1) / batches), rel=1e-7)
    assert found.freedom == batches - 1


def test_short_records_are_left_as_they_are(make_cell, tmp_path):
    cell = make_cell(arrivals=200, warmup=20.0, system={"servers": 4})
    (record,) = records(cell, tmp_path / "t.arrow")
    found, plain = mixed_dq_jackknife(record, 4.0), mixed_dq(record, 4.0)
    assert found.value == plain.value
    assert found.note == "record too short for batch means"
