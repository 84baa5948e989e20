"""How far a slope is from the effect in a system learnt from a log, and whether that system is like the log.

The learnt system is run at no, the experiment's and full treatment, and on both sides of the experiment's
share, with the same random numbers at all of them. It is believed only if at the experiment's share it gives
the mean response, and the queues met by either arm, that the log shows.
"""

import math
from typing import NamedTuple

import numpy as np

from queuebench.estimators.common.inference import batch_means_error
from queuebench.logs.learned.run import WARM, simulate
from queuebench.logs.learned.system import learn

_SIMULATED = 1_500_000
"""Arrivals simulated for each share at most."""
_FEWEST_RUNS = 4
_MOST_RUNS = 100
_PRECISE = 0.15
"""Standard error of what is missed, as a share of it, with which simulation ends."""
_STEP = 0.1
"""Half the distance of the shares between which the slope is taken."""
_RESPONSE = 0.03
"""By how much, beside noise, a learnt system's mean response and queues met may be off."""
_DIFFERENCE = 0.1
"""By how much the difference between the arms' queues may be."""
_NOISE = 3.0
"""Standard errors that are taken for noise."""
_BATCHES = 20


class Shape(NamedTuple):
    """The mean response of a learnt system as a function of the share.

    Attributes
    ----------
    control, here, treatment : float
        Mean response at share 0, at the experiment's share, and at share 1; infinite where queues grow.
    slope : float
        At the experiment's share.
    missed, missed_se : float
        Effect minus slope.
    met : tuple of two float
        Mean queue met by control and treated jobs at the experiment's share.
    """

    control: float
    here: float
    treatment: float
    slope: float
    missed: float
    missed_se: float
    met: tuple


def shape(system, share, precision=0.0, seed=0) -> Shape:
    """Simulate a learnt system at several shares.

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    share : float
        Share of treated jobs of the experiment.
    precision : float, optional
        Standard error of what is missed that is enough however small that is.
    seed : int, optional
    """
    step = min(_STEP, share / 2, (1 - share) / 2)
    shares = 0.0, share - step, share, share + step, 1.0
    most = max(_FEWEST_RUNS, min(_MOST_RUNS, math.ceil(_SIMULATED / len(system.arrival))))
    results = []
    for run in range(most):
        sequence = np.random.SeedSequence((seed, run))
        results.append([simulate(system, at, sequence) for at in shares])
        found = _shape(np.array(results), step)
        enough = max(precision, _PRECISE * abs(found.missed))
        if not math.isfinite(found.missed):
            break
        if len(results) >= _FEWEST_RUNS and found.missed_se <= enough:
            break
    return found


def stand_in(record, servers, *, first_come, precision=0.0):
    """Learn a system from a log, and say why it cannot be believed, or nothing.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
        Of one share of treated jobs.
    servers : int
        Servers that the log names, 0 if it names none.
    first_come : bool
        Whether they work first come, first served.
    precision : float, optional
        See `shape`.

    Returns
    -------
    fault : str or None
    system : queuebench.logs.learned.system.LearnedSystem or None
    found : Shape or None
    """
    if not servers:
        return "the log names no servers, so that nothing can be learnt of other shares", None, None
    setting = record.setting
    system = learn(record.replicate, servers, first_come=first_come, choices=setting.choices)
    if system is None:
        return "too few jobs, or too many servers, to learn from", None, None
    found = shape(system, setting.treated_share, precision)
    fault = find_fault(system, found, record.replicate)
    if fault:
        fault = f"a system learnt from the log does not reproduce it ({fault})"
    return fault, system, found


def _shape(results, step):
    """Return the shape of runs: results of shape (runs, shares, members of `Run`)."""
    response = results[:, :, 0]
    with np.errstate(invalid="ignore"):
        slope = (response[:, 3] - response[:, 1]) / (2 * step)
        missed = response[:, 4] - response[:, 0] - slope
        error = missed.std(ddof=1) / math.sqrt(len(missed)) if len(missed) > 1 else math.inf
    mean = results.mean(axis=0)
    return Shape(
        *(float(mean[k, 0]) for k in (0, 2, 4)), float(slope.mean()), float(missed.mean()),
        float(error), (float(mean[2, 1]), float(mean[2, 2])),
    )  # fmt: skip


def find_fault(system, found, replicate):
    """Say in what a learnt system, run as the experiment was, differs from the log.

    Parameters
    ----------
    system : queuebench.logs.learned.system.LearnedSystem
    found : Shape
        Of the system at the share of the experiment.
    replicate : queuebench.logs.record.replicate.LogReplicate

    Returns
    -------
    str or None
        None where it gives what the log shows, within errors and a tolerance.
    """
    if not all(map(math.isfinite, (found.control, found.here, found.treatment))):
        where = "at the share run" if math.isinf(found.here) else "under one arm alone"
        return f"its queues grow without end {where}"
    kept = slice(int(WARM * len(system.arrival)), len(system.arrival))
    response, met, treated = (
        replicate.column(name)[kept] for name in ("response_time", "queue_length", "treated")
    )
    compared = (
        ("mean response", found.here, mean_with_error(response), _RESPONSE),
        ("mean queue met by control jobs", found.met[0], mean_with_error(met[~treated]), _RESPONSE),
        ("mean queue met by treated jobs", found.met[1], mean_with_error(met[treated]), _RESPONSE),
    )
    for what, learnt, (seen, error), tolerance in compared:
        if abs(learnt - seen) > _NOISE * error + tolerance * seen:
            return f"its {what} is {learnt:.4g}, the log's {seen:.4g}"
    difference = found.met[1] - found.met[0]
    (control, one), (treatment, other) = (compared[k][2] for k in (1, 2))
    seen, error = treatment - control, math.hypot(one, other)
    if abs(difference - seen) > _NOISE * error + _DIFFERENCE * abs(seen):
        return f"its arms' queues met differ by {difference:.4g}, the log's by {seen:.4g}"
    return None


def mean_with_error(values):
    """Return the mean of a record's column and its standard error by batch means."""
    batches = np.array([part.mean() for part in np.array_split(values.astype(float), _BATCHES)])
    return float(values.mean()), batch_means_error(batches, _BATCHES)
