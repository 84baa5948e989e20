"""From a cell of the study to the plain numbers a simulation takes."""

from queuebench.base.randomness import stream
from queuebench.queueing.designs import build_design
from queuebench.queueing.information import encode
from queuebench.queueing.speeds import server_speeds
from queuebench.queueing.system import System
from queuebench.queueing.workload import read_workload


def build_system(cell):
    """Return the system of a cell.

    Parameters
    ----------
    cell : queuebench.study.cells.Cell

    Returns
    -------
    queuebench.queueing.system.System

    Raises
    ------
    ValueError
        If a list of speeds has the wrong length.
    """
    experiment = cell.experiment
    arms = (experiment.control, experiment.treatment)
    seen = experiment.information
    information, age = encode(seen.kind, getattr(seen, "age", getattr(seen, "period", 0.0)))
    process = experiment.arrival_process
    return System(
        speeds=server_speeds(experiment.system.servers, **experiment.speeds.model_dump()),
        rate=cell.rate,
        policies=tuple(arm.policy for arm in arms),
        policy_parameters=tuple(arm.parameters for arm in arms),
        treated_share=experiment.system.treated_share,
        distribution=experiment.service.distribution,
        service_parameters=experiment.service.model_dump(exclude={"distribution"}),
        amplitude=getattr(process, "amplitude", 0.0),
        cycle=getattr(process, "period", 1.0),
        travel_time=experiment.travel_time,
        information=information,
        age=age,
        **_workload(experiment.workload),
    )


def _workload(settings):
    if settings is None:
        return {}
    workload = read_workload(settings)
    return {"gaps": workload.gaps, "sizes": workload.sizes}


def warmup(cell, system):
    """Return the warm-up of a cell, in mean service times."""
    wanted = cell.experiment.warmup
    return system.warmup() if wanted == "auto" else float(wanted)


def record_length(cell):
    """Return the length of a record as keyword arguments of `Run.blocks`.

    A varying rate is recorded for whole cycles, so that every phase counts alike; the number of
    arrivals is then random.
    """
    process = cell.experiment.arrival_process
    if getattr(process, "amplitude", 0.0) == 0.0:
        return {"arrivals": cell.experiment.arrivals}
    cycles = max(1, round(cell.experiment.arrivals / (cell.rate * process.period)))
    return {"duration": process.period * cycles}


def design_parameters(design):
    """Return the keyword arguments of `build_design` that a design of the study gives."""
    return {"period": design.period} if design.kind == "switchback" else {}


def build_replicate_design(cell, system, name, streams, start):
    """Return the assignment of arms for one replicate of a design of the cell."""
    design = cell.designs[name]
    return build_design(
        design.kind,
        design_parameters(design),
        system.speeds,
        system.treated_share,
        streams,
        start,
    )


def replicate_streams(cell, name, replicate):
    """Return ``streams(purpose)`` of one replicate of a design of the cell."""
    return lambda purpose: stream(cell.seed, cell.name, name, purpose, replicate)
