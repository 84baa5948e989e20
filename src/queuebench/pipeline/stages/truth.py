"""What is true: the global treatment effect by two pure runs on common random numbers."""

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from queuebench.base.arrow import table
from queuebench.base.files import whole_file
from queuebench.pipeline.stages.build import Setup
from queuebench.queueing.arrivals import relative_rate

_FEWEST_BATCHES = 30
_UNIT = 8192


class TruthEstimate(NamedTuple):
    """The simulated truth of a cell; times in mean service times.

    ``gte`` compares mean response times over jobs. ``gte_queue`` compares time-average numbers in
    system over Lambda, which by Little's law is the same; ``gte_queue_seen`` averages the number in
    system over arrivals instead of time, which is not the same under a varying rate or with a recorded
    workload. ``little_se`` is the standard error of the difference of the first two, which come from
    the same runs.
    """

    response_control: float
    response_control_se: float
    response_treatment: float
    response_treatment_se: float
    gte: float
    gte_se: float
    gte_queue: float
    gte_queue_se: float
    gte_queue_seen: float
    little_se: float
    arrivals: int
    capped: bool


TRUTH_SCHEMA = pa.schema(
    [
        ("scenario", pa.string()),
        ("load", pa.float64()),
        ("source", pa.string()),
        *((name, pa.float64()) for name in TruthEstimate._fields[:-2]),
        ("arrivals", pa.int64()),
        ("capped", pa.bool_()),
    ]
)


def write_truth(cell, truth, path):
    """Write the row of a cell of `results/truth.parquet`."""
    row = {"scenario": cell.scenario, "load": cell.load, "source": "simulated"}
    with whole_file(path) as partial:
        pq.write_table(table([row | truth._asdict()], TRUTH_SCHEMA), partial)


def simulate_truth(cell, progress=lambda message: None, least_arrivals=0) -> TruthEstimate:
    """Simulate both policies alone until the effect's standard error is small enough.

    Both runs see the same arrival times, service requirements per arrival and routing randomness.
    They stop when the batch-means standard error of the paired difference is at most
    ``max(relative * |GTE|, of_response * response_control)`` after at least the wanted arrivals, or at
    the cap.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    progress : Callable
        Called with a line of text now and then.
    least_arrivals : int
        Of each run, so that the truth is known better than by the best estimator compared with it; see
        `queuebench.estimators.common.setting.truth_arrivals`.
    """
    setup = Setup(cell)
    wanted = cell.experiment.truth
    runs = [setup.pure(arm) for arm in (0, 1)]
    tally = _Units(setup, runs)
    check_at = _FEWEST_BATCHES
    records = (run.blocks(**setup.length(wanted.max_arrivals)) for run in runs)
    for control, treatment in zip(*records, strict=True):
        tally.add(control, treatment)
        if tally.complete >= check_at:
            estimate = tally.estimate()
            progress(f"{estimate.arrivals} arrivals, standard error {estimate.gte_se:.3g}")
            tolerance = max(
                wanted.relative * abs(estimate.gte), wanted.of_response * estimate.response_control
            )
            if estimate.gte_se <= tolerance and estimate.arrivals >= least_arrivals:
                return estimate
            check_at = math.ceil(1.25 * tally.complete)
    estimate = tally.estimate(capped=True)
    progress(
        f"stopped at the cap of {wanted.max_arrivals} arrivals with standard error "
        f"{estimate.gte_se:.3g}"
    )
    return estimate


class _Units:
    """Sums over consecutive units of the two runs, to be merged into batches.

    A unit is a number of arrivals well above the relaxation of the queues, or a cycle of the
    arrival rate.
    """

    def __init__(self, setup, runs):
        self._system = system = setup.system
        self._integrals = [_TimeIntegral(run) for run in runs] if not system.poisson else None
        self._rate = system.rate
        longest = max(1, setup.cell.experiment.truth.max_arrivals // _FEWEST_BATCHES)
        self._unit = min(longest, max(_UNIT, int(setup.warmup * system.rate)))
        self._seen = 0
        self._sums = np.zeros((0, 7))
        # Of jobs, then of each arm responses, what averages over jobs to the time average of the
        # number in system, and the number in system met.

    def add(self, control, treatment):
        """Add the same block of both runs."""
        n = len(control.arrival_time)
        unit = self._unit_of(control.arrival_time)
        values = [np.ones(n)]
        for arm, block in enumerate((control, treatment)):
            values += [block.response_time, self._over_time(arm, block), block.in_system]
        self._make_room(int(unit[-1]) + 1)
        for column, value in enumerate(values):
            self._sums[:, column] += np.bincount(unit, value, minlength=len(self._sums))
        self._seen += n

    @property
    def complete(self):
        """Number of units that will not grow any more."""
        return len(self._sums) - 1

    def estimate(self, capped=False):
        """Return the truth from the complete units so far (all of them at the cap)."""
        sums = self._sums if capped else self._sums[:-1]
        size = max(1, len(sums) // _FEWEST_BATCHES)
        edges = np.arange(0, max(1, len(sums) // size)) * size
        batches = np.add.reduceat(sums, edges, axis=0)
        jobs = batches[:, 0].sum()
        effect = batches[:, 4] - batches[:, 1]
        queue_effect = (batches[:, 5] - batches[:, 2]) / self._rate
        response, queue, seen = (
            _ratio(batches[:, 0], batches[:, 4 + k] - batches[:, 1 + k]) for k in range(3)
        )
        return TruthEstimate(
            **self._responses(batches),
            gte=response[0],
            gte_se=response[1],
            gte_queue=queue[0] / self._rate,
            gte_queue_se=queue[1] / self._rate,
            gte_queue_seen=seen[0] / self._rate,
            little_se=_ratio(batches[:, 0], effect - queue_effect)[1],
            arrivals=int(jobs),
            capped=capped,
        )

    @staticmethod
    def _responses(batches):
        """Return the mean response of each policy alone with its standard error."""
        found = {}
        for name, column in (("control", 1), ("treatment", 4)):
            mean, error = _ratio(batches[:, 0], batches[:, column])
            found |= {f"response_{name}": mean, f"response_{name}_se": error}
        return found

    def _over_time(self, arm, block):
        """Return for each arrival what averages to the time average of the number in system.

        Arrivals of a Poisson process see time averages, of a varying rate after weighting by it. Those
        of a recorded workload, or of a process from outside, do not: there the number is integrated over
        time, and over the rate at which they came, not the nominal one.
        """
        if self._integrals is not None:
            return self._integrals[arm].add(block) * self._rate
        return block.in_system / self._relative_rate(block.arrival_time)

    def _unit_of(self, arrival):
        if self._system.amplitude:
            return (arrival / self._system.cycle).astype(np.int64)
        return (self._seen + np.arange(len(arrival))) // self._unit

    def _relative_rate(self, arrival):
        if not self._system.amplitude:
            return 1.0
        return relative_rate(arrival, self._system.amplitude, self._system.cycle)

    def _make_room(self, units):
        missing = units - len(self._sums)
        if missing > 0:
            self._sums = np.vstack([self._sums, np.zeros((missing, 7))])


class _TimeIntegral:
    """The integral of the number in system over the time from each arrival's predecessor to it.

    Parameters
    ----------
    run : queuebench.queueing.simulation.Run
        The first interval begins where its record does, at time 0.
    """

    def __init__(self, run):
        self._run = run
        self._before = 0.0
        self._leaving = None

    def add(self, block):
        """Return the integrals up to each arrival of the next block."""
        if self._leaving is None:
            self._leaving = self._run.carry[-1]
        arrival = block.arrival_time
        begin = np.concatenate([[self._before], arrival[:-1]])
        departure = np.concatenate([self._leaving, block.departure])
        gone = departure <= arrival[-1]
        self._leaving, self._before = departure[~gone], arrival[-1]
        # Whoever is there at the end of an interval was there throughout, or arrived at its beginning;
        # the others were there until they left.
        left = departure[gone]
        interval = np.searchsorted(arrival, left)
        leavers = np.bincount(interval, left - begin[interval], minlength=len(arrival))
        return block.in_system * (arrival - begin) + leavers


def _ratio(weight, total):
    """Return a ratio of sums over batches and its standard error."""
    ratio = total.sum() / weight.sum()
    residual = total - ratio * weight
    batches = len(weight)
    if batches < 2:
        return float(ratio), math.nan
    error = math.sqrt(batches / (batches - 1) * float(residual @ residual)) / weight.sum()
    return float(ratio), float(error)
