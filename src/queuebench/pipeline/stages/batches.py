"""What a batch's job does: estimate from kept traces, or simulate and estimate where none are kept."""

from itertools import groupby
from pathlib import Path

from queuebench.base.progress import Progress
from queuebench.pipeline.stages.batch_rows import Rows
from queuebench.pipeline.stages.estimate import estimate_trace
from queuebench.pipeline.stages.simulate import say_workload, simulate_batch
from queuebench.queueing.simulation import Workspace
from queuebench.trace import Trace, carry_path

_TOGETHER = 250_000
"""Arrivals that pass in one trace: enough that opening it costs nothing per arrival, and few enough for
the processor's cache. Changes no number."""


def estimate_traces(cell, paths, outputs, log=None, keys=None):
    """Estimate from the kept traces of a batch, one per design, and write what comes out.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    paths : dict of str to path
        Trace of each design.
    outputs : pair of paths
        Of the estimates and of the diagnostics.
    log : str or pathlib.Path, optional
        Where progress is written.
    keys : dict, optional
        See `Rows`.
    """
    with Progress(log, f"{cell.name}: estimating", None) as progress:
        for design, path in paths.items():
            trace = Trace(path)
            trace.check_origin(cell, design)
        rows = Rows(cell, trace.replicates, outputs, keys, progress.say)
        for design, path in paths.items():
            rows.add(
                estimate_trace(
                    cell,
                    design,
                    path,
                    lambda replicate, d=design: progress.step(f"{d} {replicate}"),
                    lambda replicate, d=design: rows.wanted(d, replicate),
                )
            )
        rows.write()


def simulate_and_estimate(cell, replicates, outputs, log=None, keys=None):
    """Simulate a batch and estimate from it, the trace of a few replicates alive at a time.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    replicates : range
    outputs : pair of paths
        Of the estimates and of the diagnostics; the passing trace lies beside the first.
    log : str or pathlib.Path, optional
        Where progress is written.
    keys : dict, optional
        See `Rows`.
    """
    trace = Path(outputs[0]).with_name(f".{Path(outputs[0]).stem}.trace.arrow")
    workspace = Workspace()
    try:
        with Progress(log, f"{cell.name}: simulating and estimating", None) as progress:
            say_workload(cell, progress)
            rows = Rows(cell, replicates, outputs, keys, progress.say)
            records = [
                (design, few, wanted)
                for design in cell.designs
                for few, wanted in _alike(
                    replicates, lambda number, d=design: rows.wanted(d, number)
                )
            ]
            progress.expect(sum(len(few) for _, few, _ in records))
            for design, few, wanted in records:
                for together in passing_together(cell, few):
                    simulate_batch(
                        cell,
                        design,
                        together,
                        trace,
                        lambda replicate, d=design: progress.step(f"{d} {replicate}"),
                        workspace=workspace,
                    )
                    rows.add(estimate_trace(cell, design, trace, wanted=lambda _, w=wanted: w))
            rows.write()
    finally:
        trace.unlink(missing_ok=True)
        carry_path(trace).unlink(missing_ok=True)


def _alike(replicates, wanted):
    """Cut replicates into ranges of which the same is wanted, leaving out those with nothing."""
    for asked, few in groupby(replicates, wanted):
        first, *_ = few = list(few)
        if asked:
            yield range(first, first + len(few)), asked


def passing_together(cell, replicates):
    """Cut replicates into those whose records pass from simulation to estimation in one trace."""
    few = max(1, _TOGETHER // cell.experiment.arrivals)
    return [replicates[begin : begin + few] for begin in range(0, len(replicates), few)]
