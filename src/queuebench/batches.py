"""Simulating and estimating in one job, where traces are not kept."""

from pathlib import Path

from queuebench.estimation import Rows, estimate_trace
from queuebench.experiment import say_workload, simulate_batch
from queuebench.progress import Progress
from queuebench.queueing.simulation import Workspace
from queuebench.trace import carry_path

_TOGETHER = 250_000
"""Arrivals that pass in one trace: enough that opening it costs nothing per arrival, and few enough for
the processor's cache. Changes no number."""


def simulate_and_estimate(cell, replicates, outputs, log=None):
    """Simulate a batch and estimate from it, the trace of a few replicates alive at a time.

    Parameters
    ----------
    cell : queuebench.config.Cell
    replicates : range
    outputs : pair of paths
        Of the estimates and of the diagnostics; the passing trace lies beside the first.
    log : str or pathlib.Path, optional
        Where progress is written.
    """
    trace = Path(outputs[0]).with_name(f".{Path(outputs[0]).stem}.trace.arrow")
    total = len(replicates) * len(cell.designs)
    rows, workspace = Rows(), Workspace()
    try:
        with Progress(log, f"{cell.name}: simulating and estimating", total) as progress:
            say_workload(cell, progress)
            for design in cell.designs:
                for few in passing_together(cell, replicates):
                    simulate_batch(
                        cell,
                        design,
                        few,
                        trace,
                        lambda replicate, d=design: progress.step(f"{d} {replicate}"),
                        workspace=workspace,
                    )
                    rows.add(estimate_trace(cell, design, trace))
    finally:
        trace.unlink(missing_ok=True)
        carry_path(trace).unlink(missing_ok=True)
    rows.write(*outputs)


def passing_together(cell, replicates):
    """Cut replicates into those whose records pass from simulation to estimation in one trace."""
    few = max(1, _TOGETHER // cell.experiment.arrivals)
    return [replicates[begin : begin + few] for begin in range(0, len(replicates), few)]
