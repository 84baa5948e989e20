"""Replay: every recorded job sent again through the known policies, all control and all treatment.

The record holds arrival times, and the service requirement of each job can be rebuilt from it
(`queuebench.queueing.rebuild`). Let ``R_j^a`` be the response of job j when all jobs are dispatched by arm
a's policy, with fresh sampling randomness that both arms share. The estimate is the mean of
``D_j = R_j^1 - R_j^0`` over the recorded jobs but the first horizon, averaged over `SAMPLES` draws of the
sampling. Source: this project; it is the classical comparison of systems by trace-driven simulation on common
random numbers (Law, Simulation Modeling and Analysis, chapters 6 and 11).

Assumptions: first come, first served at every server; the policies, speeds, travel time and information
are those of `Setting.structure`; a job's requirement and the arrival times do not depend on the dispatch.
Nothing is assumed about distributions.

Both replays start with the jobs that were in the system when the record started, at the servers and
with the departures they had. That is a state of the mixture of both policies, not of either; the bias it
leaves decays like the mixture's memory, so the first horizon of arrivals is replayed and not averaged.
(Jobs that had departed by then, but more recently than the age of the dispatcher's information, are
unknown and missing in what it sees.)

Standard error: batch means of ``D_j``, a stationary sequence in arrivals, requirements and sampling alike,
so its long-run variance holds what all three contribute; nothing is to be added for the sampling.

The check has two parts. It replays the experiment as it was run, each job under its own arm: if the
structure is right, record and replay differ by the sampling only, so the differences in responses and
queue lengths met have mean zero in both arms; and a requirement S does not depend on the queue length its
job met, so the covariance of ``u = S / (1 + S)`` with it is zero (it is not if servers slow down under load).
Hotelling's test over batches of these five gives one p-value. Nor does a requirement depend on its
server, so the mean of u is the same at all of them (it is not if the speeds are wrong); the chi-square test
of that gives the other. The p-value of the check is twice the smaller one. Where it is small, the replay
of what did not happen must not be believed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from queuebench.base.arrow import as_numpy
from queuebench.base.jit import kernel
from queuebench.base.randomness import stream
from queuebench.estimators.common.batch_means import (
    BLOCKS,
    FEWEST_BATCHES,
    batch_count,
    block_of,
    merge_blocks,
)
from queuebench.estimators.common.hotelling import hotelling
from queuebench.estimators.common.inference import (
    TOO_SHORT,
    batch_means_error,
    batch_means_estimate,
    newey_west_error,
)
from queuebench.estimators.common.registry import (
    Estimate,
    EstimationError,
    register,
    require_both_arms,
)
from queuebench.queueing.dispatch import Output
from queuebench.queueing.rebuild import Rebuilder, carried_state, dispatch_all
from queuebench.queueing.system import dispatch_rules

SAMPLES = 4
"""Draws of the sampling randomness, each with a replay of either arm and one of the experiment."""

LEVEL = 0.05
"""Level of the check."""

_CONTROL, _TREATMENT, _AS_RUN = range(3)
_MOMENTS = 4  # u = S / (1 + S), queue length, their product, jobs

_RESOLUTION = 1e6
"""Steps to which u is rounded, so that equal requirements are equal however times were rounded."""


@dataclass(frozen=True)
class Statistic:
    """One figure of the experiment, as recorded and as replayed under the arms that were run."""

    name: str
    recorded: float
    replayed: float
    standard_error: float  # of the difference; NaN where the record is too short


@dataclass(frozen=True)
class Check:
    """Whether the replay reproduces the experiment as it was run.

    Attributes
    ----------
    p_value : float
        Of the joint test; NaN where the record is too short for one.
    statistics : tuple of Statistic
        Naive difference, and mean response and queue length met by arm.
    impossible : int
        Jobs that departed before they could have been served first come, first served.
    """

    p_value: float
    statistics: tuple
    impossible: int

    @property
    def rejects(self):
        """Whether the structure is rejected at `LEVEL`."""
        return self.p_value < LEVEL


@dataclass(frozen=True)
class Replay:
    """An estimate by replay and what its check says.

    Attributes
    ----------
    estimate : queuebench.estimators.common.registry.Estimate
    responses : tuple of two float
        Mean response of all control and all treatment.
    check : Check
    """

    estimate: Estimate
    responses: tuple
    check: Check


@register(
    "replay_shares",
    usual=True,
    design="shares",
    needs_structure=True,
    nanoseconds=400.0,
    estimand="effect",
    assumes=["equal_service", "size_blind", "first_come", "structure", "complete"],
    rank=1,
)
@register(
    "replay",
    compared="structural",
    role="resimulation",
    usual=True,
    design="bernoulli",
    needs_structure=True,
    nanoseconds=400.0,
    estimand="effect",
    assumes=["equal_service", "size_blind", "first_come", "structure", "complete"],
    rank=1,
)
def replay(record, horizon=None):
    """Mean response of all recorded jobs replayed as treated minus replayed as controls.

    Whatever the share was when a job arrived; so a record of several shares is replayed as a whole.
    """
    return replay_record(record, record.setting.structure).estimate


def replay_record(record, structure, samples=SAMPLES) -> Replay:
    """Replay a record under a structure, which need not be the one its setting gives.

    Parameters
    ----------
    record : queuebench.estimators.common.record.Record
    structure : queuebench.queueing.structure.Structure
    samples : int
        Draws of the sampling randomness.

    Raises
    ------
    EstimationError
        If the record is shorter than two horizons or an arm has no arrivals.
    """
    setting = record.setting
    correlated = setting.horizon_arrivals(setting.batch_horizon)
    kept = record.arrivals - correlated
    if kept < correlated:
        raise EstimationError(
            f"a replay needs two horizons of {correlated} arrivals or more, not {record.arrivals}"
        )
    batches = batch_count(kept, correlated)
    sums = _replayed_sums(record, structure, samples, correlated, max(1, batches))
    require_both_arms(*sums.count.sum(axis=0))
    check = _check(sums, batches)
    estimate = _estimate(sums, batches, kept, correlated)
    return Replay(_with_check(estimate, check), sums.mean_responses(kept), check)


def _estimate(sums, batches, kept, correlated):
    """Estimate with batch means of the paired difference over the jobs that are averaged."""
    effect = sums.pure[:, _TREATMENT] - sums.pure[:, _CONTROL]
    value = float(effect.sum() / kept)
    if not batches:
        return Estimate(value, note=TOO_SHORT)
    influences = effect - value * sums.kept
    lags = -(-correlated * batches * BLOCKS // kept)
    kernel = newey_west_error(influences, kept, lags)
    return batch_means_estimate(value, merge_blocks(influences), kept, kernel)


def _with_check(estimate, check):
    """Return the estimate with the check's p-value, and first of all in its note if it rejects."""
    words = [estimate.note] if estimate.note else []
    if check.rejects:
        words.insert(0, f"fails to reproduce the experiment (p = {check.p_value:.2g})")
    if check.impossible:
        words.append(f"{check.impossible} jobs departed before they could be served")
    return estimate._replace(note="; ".join(words), check=check.p_value)


class _Sums:
    """Sums over blocks: of the pure replays, and of the experiment as recorded and as replayed."""

    def __init__(self, blocks, servers):
        self.kept = np.zeros(blocks)
        self.pure = np.zeros((blocks, 2))
        self.count = np.zeros((blocks, 2))
        self.recorded = np.zeros((blocks, 2, 2))  # response and queue length, by arm
        self.replayed = np.zeros((blocks, 2, 2))
        self.moments = np.zeros((blocks, _MOMENTS))
        self.by_server = np.zeros((servers, 3))  # jobs, u, u squared
        self.impossible = 0

    def mean_responses(self, kept):
        """Return the mean response of all control and of all treatment."""
        return tuple(float(total / kept) for total in self.pure.sum(axis=0))


def _replayed_sums(record, structure, samples, dropped, batches):
    """Replay a record chunk by chunk, three runs per draw of the sampling side by side."""
    replicate = record.replicate
    runs = _Runs(record, structure, samples)
    sums = _Sums(batches * BLOCKS, len(structure.speeds))
    length = max(1, (record.arrivals - dropped) // batches)
    before = 0
    for columns in replicate.chunks(
        "arrival_time", "server", "response_time", "queue_length", "treated"
    ):
        # The kernel was compiled for arrays that may be written to, which Arrow's may not.
        arrival, server, response, met, treated = (np.array(column) for column in columns)
        treated = treated.view(np.uint8)
        requirement = runs.rebuild(arrival, server, response)
        where = (before - dropped, length, batches)
        _add_recorded(
            *where, treated, server, response, met, requirement, sums.kept, sums.count,
            sums.recorded, sums.moments, sums.by_server,
        )  # fmt: skip
        for run, out in runs.dispatch(arrival, requirement, treated):
            if run == _AS_RUN:
                _add_as_run(
                    *where, treated, out.response_time, out.queue_length, 1.0 / samples,
                    sums.replayed,
                )  # fmt: skip
            else:
                _add_pure(*where, run, out.response_time, 1.0 / samples, sums.pure)
        before += len(arrival)
    sums.impossible = runs.impossible
    return sums


class _Runs:
    """The runs of a replay side by side: their states, randomness and buffers."""

    def __init__(self, record, structure, samples):
        carry = record.replicate.carry
        servers, arrivals, departures = (
            as_numpy(carry.field(name)) for name in ("server", "arrival", "departure")
        )
        self._rebuilder = Rebuilder(structure, (servers, departures))
        self._rules = dispatch_rules(structure)
        self._words = max(1, self._rules.words) + 1 >> 1
        self._states = [
            [carried_state(self._rules, structure, servers, arrivals, departures) for _ in range(3)]
            for _ in range(samples)
        ]
        self._routing = [
            stream(*record.setting.random_key, "replay", record.replicate.number, sample)
            for sample in range(samples)
        ]

    @property
    def impossible(self):
        """Jobs so far that departed before they could have been served."""
        return self._rebuilder.impossible

    def rebuild(self, arrival, server, response):
        """Return the requirements of the next arrivals."""
        requirement = np.empty(len(arrival))
        self._rebuilder.rebuild(arrival, server, response, requirement)
        return requirement

    def dispatch(self, arrival, requirement, treated):
        """Yield the kind and `Output` of every run over the next arrivals; one output buffer for all."""
        n = len(arrival)
        out = _output(n)
        arms = [np.zeros(n, np.uint8), np.ones(n, np.uint8), treated]
        for states, routing in zip(self._states, self._routing, strict=True):
            raw = routing.bit_generator.random_raw(n * self._words)
            words = raw.view(np.uint32).reshape(n, -1)
            for run, assigned in enumerate(arms):
                states[run] = dispatch_all(
                    arrival, requirement, assigned, words, self._rules, states[run], out
                )
                yield run, out


def _output(n):
    return Output(
        np.empty(n),
        np.empty(n),
        *(np.empty(n, np.int32) for _ in range(2)),
        *((np.zeros(n, np.int32), np.zeros(n, np.int32)) for _ in range(3)),
    )


@kernel
def _add_recorded(
    before, length, batches, treated, server, response, met, requirement, kept, count, total, moments,
    by_server,
):  # fmt: skip
    for i in range(len(response)):
        unit = before + i
        if unit < 0:
            continue
        block = block_of(unit, length, batches)
        arm = np.int64(treated[i])
        kept[block] += 1.0
        count[block, arm] += 1.0
        total[block, arm, 0] += response[i]
        total[block, arm, 1] += met[i]
        u = np.round(_RESOLUTION * requirement[i] / (1.0 + requirement[i])) / _RESOLUTION
        moments[block, 0] += u
        moments[block, 1] += met[i]
        moments[block, 2] += u * met[i]
        moments[block, 3] += 1.0
        by_server[server[i], 0] += 1.0
        by_server[server[i], 1] += u
        by_server[server[i], 2] += u * u


@kernel
def _add_as_run(before, length, batches, treated, response, met, weight, total):
    for i in range(len(response)):
        unit = before + i
        if unit < 0:
            continue
        block = block_of(unit, length, batches)
        arm = np.int64(treated[i])
        total[block, arm, 0] += weight * response[i]
        total[block, arm, 1] += weight * met[i]


@kernel
def _add_pure(before, length, batches, run, response, weight, total):
    for i in range(len(response)):
        unit = before + i
        if unit >= 0:
            total[block_of(unit, length, batches), run] += weight * response[i]


def _check(sums, batches):
    """Compare the experiment with its replay as it was run, and requirements between servers."""
    by_batch = merge_blocks(sums.replayed - sums.recorded)
    p_value = np.nan
    if batches >= FEWEST_BATCHES:
        per_batch = [by_batch.reshape(batches, 4)]
        if _varies(sums.by_server):
            per_batch.append(_covariances(merge_blocks(sums.moments))[:, None])
        p_values = hotelling(np.hstack(per_batch)), equal_means(sums.by_server)
        p_value = min(1.0, 2.0 * min(p_values))
    return Check(p_value, tuple(_statistics(sums, by_batch, batches)), sums.impossible)


def _varies(by_server):
    jobs, total, squares = by_server.sum(axis=0)
    return squares / jobs - (total / jobs) ** 2 > 1 / _RESOLUTION**2


def equal_means(by_server):
    """Return the p-value of the chi-square test that all servers have the same mean.

    ``sum_s n_s (m_s - m)^2 / v`` with S - 1 degrees of freedom, ``v`` the variance over all jobs.

    Parameters
    ----------
    by_server : ndarray, shape (S, 3)
        Number of values, their sum and the sum of their squares at each server.

    Returns
    -------
    float
        1 if the values do not vary or only one server has any.
    """
    by_server = by_server[by_server[:, 0] > 0]
    if len(by_server) < 2 or not _varies(by_server):
        return 1.0
    jobs, total, squares = by_server.sum(axis=0)
    mean = total / jobs
    between = by_server[:, 0] @ (by_server[:, 1] / by_server[:, 0] - mean) ** 2
    return float(chdtrc(len(by_server) - 1, between / (squares / jobs - mean**2)))


def _statistics(sums, by_batch, batches):
    count = sums.count.sum(axis=0)
    recorded, replayed = (
        part.sum(axis=0) / count[:, None] for part in (sums.recorded, sums.replayed)
    )
    means = by_batch / count[:, None]

    def error(per_batch):
        return batch_means_error(per_batch, 1.0) if batches else np.nan

    yield Statistic(
        "naive difference",
        *(float(part[1, 0] - part[0, 0]) for part in (recorded, replayed)),
        error(means[:, 1, 0] - means[:, 0, 0]),
    )
    for arm, arm_name in enumerate(("control", "treatment")):
        for k, what in enumerate(("mean response", "mean queue length met")):
            yield Statistic(
                f"{what}, {arm_name}",
                float(recorded[arm, k]),
                float(replayed[arm, k]),
                error(means[:, arm, k]),
            )


def _covariances(moments):
    """Return the sums over batches of requirement times queue length, both centred."""
    requirement, met, product, jobs = moments.T
    mean_requirement, mean_met = requirement.sum() / jobs.sum(), met.sum() / jobs.sum()
    return (
        product
        - mean_requirement * met
        - mean_met * requirement
        + jobs * mean_requirement * mean_met
    )
