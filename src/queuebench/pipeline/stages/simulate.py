"""Simulating replicates of a cell into traces."""

from queuebench.base.progress import Progress
from queuebench.pipeline.stages.build import Setup
from queuebench.queueing.simulation import Workspace
from queuebench.queueing.workload import read_workload
from queuebench.trace import TraceWriter


def simulate_batch(
    cell, design, replicates, path, progress=lambda replicate: None, *, workspace=None
):
    """Simulate replicates of one design of a cell and write their trace.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell
    design : str
        Name of a design of the cell.
    replicates : range
        Numbers of the replicates.
    path : str or pathlib.Path
        Of the trace; its carry file is written beside it.
    progress : Callable
        Called with the number of each replicate before it is simulated.
    workspace : Workspace, optional
        Of an earlier call, whose trace of the same name nobody needs any more: buffers and file are used
        again.
    """
    setup = Setup(cell, design)
    writer = TraceWriter(
        path,
        cell=cell.to_dict(),
        design=design,
        seed=cell.seed,
        replicates=replicates,
        delayed=setup.system.structure.delayed,
        blocks=setup.kind in ("switchback", "shares"),
        shares=setup.kind == "shares",
        counterfactual=setup.kind != "group",
        recycle=workspace is not None,
    )
    workspace = workspace or Workspace()
    with writer:
        for replicate in replicates:
            progress(replicate)
            _simulate_replicate(setup, replicate, writer, workspace)


def say_workload(cell, progress):
    """Write what is worth knowing of a cell's recorded workload into a job's log."""
    if settings := cell.experiment.workload:
        progress.say(read_workload(settings).describe())


def simulate_trace(cell, design, replicates, path, log=None):
    """Simulate a batch of replicates into a trace that is kept, writing progress to a log."""
    title = f"{cell.name}, {design}: simulating"
    with Progress(log, title, len(replicates)) as progress:
        say_workload(cell, progress)
        simulate_batch(cell, design, replicates, path, progress.step)


def _simulate_replicate(setup, replicate, writer, workspace):
    run = setup.replicate(replicate, workspace)
    length = setup.length()
    arrivals, last = 0, 0.0
    for block in run.blocks(**length):
        writer.write(replicate, _columns(block, run.design))
        arrivals += len(block.arrival_time)
        last = float(block.arrival_time[-1])
    writer.end_replicate(
        replicate, arrivals=arrivals, start=0.0, end=length.get("duration", last), jobs=run.carry
    )


def _columns(block, design):
    """Return a block's columns by the names of the trace."""
    columns = {
        "arrival_time": block.arrival_time,
        "treated": block.treated,
        "server": block.server,
        "queue_length": block.queue_length,
        "in_system": block.in_system,
        "response_time": block.response_time,
        "block": design.block(block.arrival_time),
        "share": design.share(block.arrival_time),
    }
    for what in ("server", "queue", "seen"):
        for arm, name in enumerate(("control", "treated")):
            columns[f"{what}_if_{name}"] = getattr(block, f"{what}_if")[arm]
    return columns
