"""What a study will cost, told before it starts."""

from typing import NamedTuple

from queuebench.base.errors import StudyError
from queuebench.estimators.common.setting import applying, truth_arrivals
from queuebench.loss_network.events import event_count
from queuebench.loss_network.model import build_network
from queuebench.pipeline.stages.build import Setup

# CPU time per arrival or event on one core of an AMD EPYC, as `make bench` prints it, rounded up;
# for an event of the loss network, all policies and windows together.
_SIMULATED_NS = 110.0
_TRUTH_NS = 300.0
_TRUTH_ARRIVALS = 5e6
"""Few cells take more to reach the wanted standard error."""
_LOSS_NS = 1200.0
_TRACE_BYTES = 48
# Time, kind and mark of an event, and as much again for what policies see of it.
_EVENT_BYTES = 26
_JOB_SECONDS = 3.0
_JOB_MEMORY = 350e6


class Cost(NamedTuple):
    """What a study will cost.

    ``seconds`` of CPU time are what is expected, ``most_seconds`` what is spent where every truth goes
    to its cap; ``memory`` of the largest job and ``disk`` of all traces alive at once and kept are
    bytes; ``jobs`` are those that simulate.
    """

    seconds: float
    most_seconds: float
    memory: float
    disk: float
    jobs: int


def study_cost(study, cells, cores=1) -> Cost:
    """Return what a study will cost, from the numbers of arrivals and events and measured costs.

    Parameters
    ----------
    study : queuebench.study.settings.Study
    cells : list of queuebench.study.cells.Cell
    cores : int
        How many jobs run at a time.
    """
    seconds, memory = _loss_cost(study)
    spared, kept, passing, jobs = 0.0, 0.0, 0.0, 0
    for cell in cells:
        experiment = cell.experiment
        before = Setup(cell).warmup * cell.rate
        arrivals = experiment.arrivals + before
        runs = experiment.replicates * len(cell.designs)
        kinds = [design.kind for design in cell.designs.values()]
        cost = sum(_SIMULATED_NS + estimation_cost(cell, kind) for kind in kinds)
        seconds += experiment.replicates * arrivals * cost * 1e-9
        cap = experiment.truth.max_arrivals
        usual = max(min(_TRUTH_ARRIVALS, cap), truth_arrivals(cell))
        seconds += (usual + before) * _TRUTH_NS * 1e-9
        spared += (cap - usual) * _TRUTH_NS * 1e-9
        jobs += 1 + -(-experiment.replicates // experiment.batch_size)
        size = experiment.arrivals * _TRACE_BYTES
        memory = max(memory, size)
        passing = max(passing, size)
        kept += size * runs if experiment.keep_traces else 0.0
    seconds += jobs * _JOB_SECONDS
    return Cost(seconds, seconds + spared, _JOB_MEMORY + memory, kept + passing * cores, jobs)


def check_cost(study, cells):
    """Refuse a study that costs more than its limits, before any of its jobs is listed.

    Raises
    ------
    StudyError
        Naming the limit, what the study costs, and the key that allows it.
    """
    cost = study_cost(study, cells)
    for name, found, what in (
        ("jobs", cost.jobs, "simulation jobs; a larger batch_size makes fewer"),
        ("cpu_hours", cost.most_seconds / 3600, "CPU hours"),
        ("memory_gb", cost.memory / 1e9, "GB of memory in a job"),
        ("disk_gb", cost.disk / 1e9, "GB of disk for traces"),
    ):
        allowed = getattr(study.limits, name)
        if found > allowed:
            raise StudyError(
                f"limits.{name}: this study may need {found:.3g} {what}, and {allowed:g} are allowed; "
                f"make it smaller, or allow more with `limits: {{{name}: ...}}`"
            )


def describe_cost(study, cells, cores):
    """Return a line about the expected CPU time, memory and disk of a study.

    Parameters
    ----------
    study : queuebench.study.settings.Study
    cells : list of queuebench.study.cells.Cell
    cores : int
        Over how many cores the time is divided.

    Returns
    -------
    str
        What `study_cost` expects; memory is that of all running jobs.
    """
    cost = study_cost(study, cells, cores)
    return (
        f"this study expects {cost.seconds / 3600:.3g} CPU hours ({_duration(cost.seconds / cores)} on "
        f"{cores} cores), {cores * _JOB_MEMORY / 1e9:.2g} GB of memory and {cost.disk / 1e9:.2g} GB of "
        f"disk in {cost.jobs} simulation jobs"
    )


def estimation_cost(cell, kind):
    """Return the CPU nanoseconds per arrival of all estimators that apply to a kind of design."""
    horizons = len(cell.experiment.all_horizons)
    return sum(
        entry.nanoseconds * (horizons if entry.uses_horizon else 1)
        for entry in applying(cell, kind)
    )


def _loss_cost(study):
    """Return the CPU seconds of all paths of the loss network, and the bytes of the longest."""
    settings = study.loss_network
    if settings is None:
        return 0.0, 0.0
    counts = [
        event_count(settings, build_network(settings, servers)) for servers in settings.servers
    ]
    seconds = sum(counts) * settings.replicates * _LOSS_NS * 1e-9
    return seconds, max(counts) * _EVENT_BYTES


def _duration(seconds):
    if seconds < 5400:
        return f"{seconds / 60:.2g} minutes"
    return f"{seconds / 3600:.3g} hours"
