"""What a record says about itself, beside estimates: what each arm met.

These are no estimates of the effect. They show the mechanism of interference: treated and control
arrivals meet the same queues; and whether estimators that assume different things agree.
"""

import json

import numpy as np
import pyarrow as pa

from queuebench.base.jit import kernel
from queuebench.estimators.common.disagreement import PAIRS, disagreement
from queuebench.estimators.common.registry import EstimationError, in_role
from queuebench.estimators.common.share_curve import share_curve

DIAGNOSTICS_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("load", pa.float64()),
        ("design", pa.string()),
        ("replicate", pa.int64()),
        ("arrivals", pa.int64()),
        ("treated", pa.int64()),
        ("in_system_control", pa.float64()),
        ("in_system_treated", pa.float64()),
        ("response_control", pa.float64()),
        ("response_treated", pa.float64()),
        ("disagreement", pa.float64()),
        *((f"t_{one}_{other}", pa.float64()) for one, other in PAIRS),
        ("freedom", pa.int64()),
        ("shares", pa.string()),
    ]
)


def diagnose(replicate):
    """Return the diagnostics of one replicate.

    Parameters
    ----------
    replicate : queuebench.trace.Replicate

    Returns
    -------
    dict
        ``arrivals`` and ``treated``, numbers of jobs; ``in_system_*``, mean number in system that an
        arm's arrivals met; ``response_*``, an arm's mean response in mean service times. NaN for
        an arm without arrivals.
    """
    sums = np.zeros((2, 3))
    for columns in replicate.chunks("treated", "in_system", "response_time"):
        _tally(*columns, sums)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums[:, 1:] / sums[:, :1]
    return {
        "arrivals": replicate.arrivals,
        "treated": int(sums[1, 0]),
        "in_system_control": means[0, 0],
        "in_system_treated": means[1, 0],
        "response_control": means[0, 1],
        "response_treated": means[1, 1],
    }


def compare(estimates):
    """Return whether estimators that assume different things agree on one replicate.

    Parameters
    ----------
    estimates : dict of str to queuebench.estimators.common.registry.Estimate

    Returns
    -------
    dict
        ``disagreement``, the p-value of their being equal; ``t_*``, difference of a pair over its
        standard error; ``freedom`` of the t values. See `queuebench.estimators.common.disagreement`.
    """
    found = disagreement(estimates)
    pairs = {f"t_{one}_{other}": t for (one, other), t in found.t.items()}
    return {"disagreement": found.p_value, **pairs, "freedom": found.freedom}


def describe_shares(record, horizon):
    """Return levels and slopes of a record under a design of several shares.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    horizon : float
        In mean service times.

    Returns
    -------
    dict
        ``shares``: as JSON a list of share, mean response and slope, this by the mixture of both costs and
        null where there is none; empty under other designs.
    """
    if not record.setting.shares:
        return {"shares": ""}
    try:
        curve = share_curve(record, in_role("mixture").function, horizon)
    except EstimationError:
        curve = share_curve(record)
    slopes = [None if np.isnan(slope) else float(slope) for slope in curve.slopes]
    rows = zip(curve.shares.tolist(), curve.levels.tolist(), slopes, strict=True)
    return {"shares": json.dumps(list(rows))}


@kernel
def _tally(treated, in_system, response, sums):
    for i in range(len(treated)):
        arm = np.int64(treated[i])
        sums[arm, 0] += 1.0
        sums[arm, 1] += in_system[i]
        sums[arm, 2] += response[i]
