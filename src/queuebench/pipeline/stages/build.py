"""From a cell of the study to the plain numbers a simulation takes, and to its runs."""

from functools import cached_property, partial

from queuebench.base.randomness import stream
from queuebench.queueing.designs import build_design
from queuebench.queueing.outside_arrivals import outside_arrivals
from queuebench.queueing.simulation import Run
from queuebench.queueing.speeds import server_speeds
from queuebench.queueing.structure import Structure
from queuebench.queueing.system import System
from queuebench.queueing.workload import read_workload
from queuebench.study.cells import Cell


class Setup:
    """A cell under one of its designs, or without one, ready to be run.

    Parameters
    ----------
    cell : Cell
    design : str, optional
        Name of one of the cell's designs; what runs one policy alone has none.

    Attributes
    ----------
    system : System

    Raises
    ------
    ValueError
        If a list of speeds has the wrong length.
    StudyError
        If a recorded workload cannot be read.
    """

    def __init__(self, cell: Cell, design: str | None = None):
        self.cell = cell
        self.system = build_system(cell)
        self._name = design
        self._design = None if design is None else cell.designs[design]

    @cached_property
    def warmup(self) -> float:
        """Mean service times before the record, of a stable system."""
        wanted = self.cell.experiment.warmup
        return self.system.warmup() if wanted == "auto" else float(wanted)

    @property
    def kind(self) -> str:
        """Kind of the design."""
        return self._design.kind

    def length(self, arrivals: int | None = None) -> dict:
        """Return the length of a record as keyword arguments of `Run.blocks`.

        A varying rate is recorded for whole cycles, so that every phase counts alike; the number of
        arrivals is then random.

        Parameters
        ----------
        arrivals : int, optional
            At most so many in whole cycles; by default about as many as the cell asks for.
        """
        system, wanted = self.system, arrivals or self.cell.experiment.arrivals
        if system.amplitude == 0.0:
            return {"arrivals": wanted}
        cycles = wanted / (system.rate * system.cycle)
        return {"duration": system.cycle * max(1, int(cycles) if arrivals else round(cycles))}

    def streams(self, number: int):
        """Return ``streams(purpose)`` of a replicate."""
        cell = self.cell
        return lambda purpose: stream(cell.seed, cell.name, self._name, purpose, number)

    def replicate(self, number: int, workspace=None) -> Run:
        """Return the run of a replicate.

        Parameters
        ----------
        number : int
        workspace : queuebench.queueing.simulation.Workspace, optional
            Of an earlier run that is over.
        """
        return self._run(self.kind, self._design.schedule, self.streams(number), workspace)

    def pure(self, arm: int, name: str = "truth") -> Run:
        """Return a run under one arm's policy alone; both arms' runs see the same random numbers.

        Parameters
        ----------
        arm : int
            0 for the control, 1 for the treatment.
        name : str
            Of the random streams.
        """
        cell = self.cell
        return self._run(
            "pure", {"treated": arm}, lambda what: stream(cell.seed, cell.name, name, what)
        )

    def _run(self, kind, parameters, streams, workspace=None):
        system = self.system
        design = build_design(
            kind, parameters, system.speeds, system.treated_share, streams, -self.warmup
        )
        return Run(system, design, streams, self.warmup, workspace=workspace)


def build_system(cell: Cell) -> System:
    """Return the system of a cell; raises what `Setup` does."""
    experiment = cell.experiment
    arms = (experiment.control, experiment.treatment)
    seen = experiment.information
    return System(
        Structure(
            speeds=server_speeds(experiment.system.servers, **experiment.speeds.model_dump()),
            policies=tuple(arm.policy for arm in arms),
            policy_parameters=tuple(arm.parameters for arm in arms),
            travel_time=experiment.travel_time,
            information=seen.kind,
            age=getattr(seen, "age", getattr(seen, "period", 0.0)),
        ),
        rate=cell.rate,
        treated_share=experiment.system.treated_share,
        distribution=experiment.service.distribution,
        service_parameters=experiment.service.model_dump(exclude={"distribution"}),
        amplitude=cell.amplitude,
        cycle=cell.cycle,
        process=_outside(experiment.arrival_process),
        **_workload(experiment.workload),
    )


def _workload(settings):
    if settings is None:
        return {}
    workload = read_workload(settings)
    return {"gaps": workload.gaps, "sizes": workload.sizes}


def _outside(settings):
    """Return the arrival process from outside that the settings name, if they do."""
    process = outside_arrivals(settings.kind)
    return process and partial(process, **settings.model_dump(exclude={"kind"}))
