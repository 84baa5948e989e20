"""Whether the queue length that a job met explains how the arms' responses differ."""

import numpy as np

from queuebench.base.jit import kernel
from queuebench.estimators import assuming
from queuebench.estimators.common.batch_means import (
    FEWEST_BATCHES,
    ArmSums,
    batch_count,
    difference,
    influence,
)
from queuebench.estimators.common.inference import batch_means_error
from queuebench.logs.findings import WARNING, Finding

_CLEAR = 5.0
_MATTERS = 0.1


def check_explained(record, applied) -> list[Finding]:
    """Compare the arms' responses among jobs that met equally long queues.

    The fitted cost (`wdq`, `mixed_dq`) replaces a response by the mean response of jobs that met as many
    others. Where a policy uses more than queue lengths (remaining work, say, or a faster kind of
    server), treated and control jobs that met equal queues respond differently, and the fitted cost
    leaves that part of the effect out.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    applied : iterable of str
        Estimators that the text names where they fall.
    """
    length = record.setting.horizon_arrivals(record.setting.batch_horizon)
    batches = batch_count(record.arrivals, length)
    if batches < FEWEST_BATCHES:
        return []
    sums = ArmSums(np.zeros((batches, 2)), np.zeros((batches, 2)))
    costs, before = record.costs, 0
    for treated, server, met, response in record.replicate.chunks(
        "treated", "server", "queue_length", "response_time"
    ):
        _add_residuals(
            before, record.arrivals // batches, treated, server, met, response,
            record.setting.classes, costs.response_by_length, *sums,
        )  # fmt: skip
        before += len(treated)
    gap = difference(sums)
    error = batch_means_error(influence(sums), record.arrivals)
    naive = difference(record.responses)
    if abs(gap) < _CLEAR * error or abs(gap) < _MATTERS * abs(naive):
        return []
    fallen = assuming("queue_state", design="bernoulli")
    named = ", ".join(name for name in applied if name in fallen)
    text = (
        f"among jobs that met equally long queues the treated still respond {gap:+.4g} "
        f"(standard error {error:.2g}): the policies use more than queue lengths, service is not "
        f"exponential, or the treatment acts on it; {named} leave this part out, wdq_observed and qdq do not"
    )
    return [Finding(WARNING, "unexplained_by_queue_length", record.arrivals, text, fallen)]


@kernel
def _add_residuals(
    before, batch_length, treated, server, met, response, classes, by_length, count, total
):
    last = len(count) - 1
    longest = by_length.shape[1] - 1
    for i in range(len(response)):
        batch = min((before + i) // batch_length, last)
        arm = np.int64(treated[i])
        count[batch, arm] += 1.0
        total[batch, arm] += response[i] - by_length[classes[server[i]], min(met[i], longest)]
