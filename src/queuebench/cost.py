"""What a study will cost, told before it starts."""

from queuebench.estimators.setting import applying, truth_arrivals
from queuebench.loss_study import build_network, event_count
from queuebench.model import build_system, warmup

# CPU time per arrival or event on one core of an AMD EPYC, as `make bench` prints it, rounded up;
# for an event of the loss network, all policies and windows together.
_SIMULATED_NS = 110.0
_TRUTH_NS = 300.0
_TRUTH_ARRIVALS = 5e6
"""Few cells take more to reach the wanted standard error."""
_LOSS_NS = 1200.0
_TRACE_BYTES = 48
_JOB_SECONDS = 3.0
_JOB_MEMORY = 350e6


def describe_cost(study, cells, cores):
    """Return a line about the expected CPU time, memory and disk of a study.

    Parameters
    ----------
    study : queuebench.config.Study
    cells : list of queuebench.config.Cell
    cores : int
        Over how many cores the time is divided.

    Returns
    -------
    str
        CPU hours from the number of arrivals and events and measured costs; memory of the running
        jobs; disk for traces alive at once and kept.
    """
    seconds, kept, passing, jobs = _loss_seconds(study), 0.0, 0.0, 0
    for cell in cells:
        experiment = cell.experiment
        arrivals = experiment.arrivals + warmup(cell, build_system(cell)) * cell.rate
        runs = experiment.replicates * len(cell.designs)
        kinds = [design.kind for design in cell.designs.values()]
        cost = sum(_SIMULATED_NS + estimation_cost(cell, kind) for kind in kinds)
        seconds += experiment.replicates * arrivals * cost * 1e-9
        usual = min(_TRUTH_ARRIVALS, experiment.truth.max_arrivals)
        seconds += max(usual, truth_arrivals(cell)) * _TRUTH_NS * 1e-9
        jobs += 1 + -(-experiment.replicates // experiment.batch_size)
        size = experiment.arrivals * _TRACE_BYTES
        passing = max(passing, size)
        kept += size * runs if experiment.keep_traces else 0.0
    seconds += jobs * _JOB_SECONDS
    disk = kept + passing * cores
    return (
        f"this study expects {seconds / 3600:.3g} CPU hours ({_duration(seconds / cores)} on {cores} "
        f"cores), {cores * _JOB_MEMORY / 1e9:.2g} GB of memory and {disk / 1e9:.2g} GB of disk "
        f"in {jobs} simulation jobs"
    )


def estimation_cost(cell, kind):
    """Return the CPU nanoseconds per arrival of all estimators that apply to a kind of design."""
    horizons = len(cell.experiment.all_horizons)
    return sum(
        entry.nanoseconds * (horizons if entry.uses_horizon else 1)
        for entry in applying(cell, kind)
    )


def _loss_seconds(study):
    if study.loss_network is None:
        return 0.0
    events = sum(
        event_count(study.loss_network, build_network(study.loss_network, servers))
        for servers in study.loss_network.servers
    )
    return events * study.loss_network.replicates * _LOSS_NS * 1e-9


def _duration(seconds):
    if seconds < 5400:
        return f"{seconds / 60:.2g} minutes"
    return f"{seconds / 3600:.3g} hours"
