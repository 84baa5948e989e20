"""What a study asks of the workflow: its cells and batches, their files and resources, and its targets."""

from queuebench.estimators import all_estimators
from queuebench.estimators.common.registry import roles
from queuebench.pipeline.cost import estimation_cost
from queuebench.pipeline.jobs import loss_settings
from queuebench.pipeline.resources import job_minutes
from queuebench.pipeline.stages import exact
from queuebench.pipeline.stages.loss_network import SCHEMAS
from queuebench.results.catalogue import CATALOGUE, Figure, Table
from queuebench.study.cells import Cell, external_logs
from queuebench.study.families import families, notes
from queuebench.study.plugins import loaded_plugins
from queuebench.study.settings import Study

_TRACED = 256
"""Servers of the loss network whose path is drawn, or as near as there are: few enough for each to show."""

LOSS_TABLES = {
    "regret": ("regret", "Regret of every policy and window"),
    "decomposition": ("regret_decomposition", "Decomposition of regret"),
    "errors": ("admission_errors", "Admission errors"),
    "epochs": ("epochs", "Epochs"),
    "single_use": ("single_use", "Single-use resources"),
}
"""File and title of each table of the loss network."""

LOSS_FIGURES = {
    "regret": "Regret against the number of servers",
    "decomposition": "Decomposition of regret",
    "knee": "How short a lookahead suffices",
    "trajectory": "A sample path",
}
"""Title of each figure of the loss network."""


class StudyPlan:
    """The jobs of a study.

    Parameters
    ----------
    study : queuebench.study.settings.Study
    cells : list of queuebench.study.cells.Cell
        All of the study, in its order, checked.

    Attributes
    ----------
    plugins : list of str
        All that are loaded.
    cells : dict of str to Cell
        By name.
    kept, passing : list of str
        Names of the cells whose traces are kept, and of the others.
    exact : dict of str to list of int
        By name of the cells that the exact oracle may solve, how many queues either arm reads.
    external : dict of str to queuebench.study.settings.ExternalLog
        The scenarios that are somebody's log.
    scenarios : dict of str to list of str
        By choice: ``all`` that are simulated; those of a family (`queuebench.study.families`);
        ``many_horizons``, ``exact`` and ``of_shares``, those with such a cell or design; ``any``, with a
        name for the loss network.
    servers : list of int
        Numbers of servers of the loss network.
    """

    def __init__(self, study: Study, cells: list[Cell]):
        self.study = study
        self.plugins = loaded_plugins()
        self.cells = {cell.name: cell for cell in cells}
        self.kept = [name for name, cell in self.cells.items() if cell.experiment.keep_traces]
        self.passing = [name for name in self.cells if name not in self.kept]
        reads = {name: exact.choices(cell) for name, cell in self.cells.items()}
        self.exact = {name: queues for name, queues in reads.items() if queues}
        self.external = external_logs(study)
        self.servers = study.loss_network.servers if study.loss_network else []
        every = self._scenarios_with(lambda cell: True)
        self.scenarios = {
            "all": every,
            **self._families(),
            "many_horizons": self._scenarios_with(lambda c: len(c.experiment.all_horizons) > 1),
            "exact": self._scenarios_with(lambda cell: cell.name in self.exact),
            "of_shares": self._scenarios_with(
                lambda cell: any(one.kind == "shares" for one in cell.designs.values())
            ),
            "any": every or ["loss_network"][: len(self.servers)],
        }

    def _families(self):
        """Return the scenarios of each family that has any."""
        names = dict.fromkeys(name for cell in self.cells.values() for name in families(cell))
        return {n: self._scenarios_with(lambda cell, n=n: n in families(cell)) for n in names}

    def _scenarios_with(self, wanted):
        """Return the scenarios of the cells that are wanted, each once."""
        return list(dict.fromkeys(cell.scenario for cell in self.cells.values() if wanted(cell)))

    @property
    def designs(self) -> set[str]:
        """The names of all designs."""
        return {name for cell in self.cells.values() for name in cell.designs}

    def batches(self, cell: str) -> range:
        """Return the numbers of a cell's batches."""
        experiment = self.cells[cell].experiment
        return range(-(-experiment.replicates // experiment.batch_size))

    def replicates(self, cell: str, batch: int) -> list[int]:
        """Return the first replicate of a batch and the one after its last."""
        experiment = self.cells[cell].experiment
        start = batch * experiment.batch_size
        return [start, min(start + experiment.batch_size, experiment.replicates)]

    def arrivals(self, cell: str, batch: int) -> int:
        """Return how many arrivals a batch has, of each design."""
        first, end = self.replicates(cell, batch)
        return (end - first) * self.cells[cell].experiment.arrivals

    def minutes(self, cell: str, batch: int) -> int:
        """Return the time for a job that goes through a batch of every design."""
        designs = self.cells[cell].designs.values()
        costs = [estimation_cost(self.cells[cell], design.kind) for design in designs]
        return job_minutes(len(costs) * self.arrivals(cell, batch), sum(costs) / len(costs))

    def workload(self, cell: str) -> list[str]:
        """Return the file of a replayed workload, if the cell has one."""
        workload = self.cells[cell].experiment.workload
        return [workload.path] if workload else []

    def batch_files(self, kind: str) -> list[str]:
        """Return the files of a kind from all batches of all cells."""
        return [
            f"results/{kind}/{cell}/batch{batch}.parquet"
            for cell in self.cells
            for batch in self.batches(cell)
        ]

    @property
    def loss_settings(self) -> dict:
        """The settings of the loss network."""
        return loss_settings(self.study)

    @property
    def path_settings(self) -> dict:
        """The settings that a path depends on: not which other numbers of servers are studied."""
        return {key: value for key, value in self.loss_settings.items() if key != "servers"}

    @property
    def traced(self) -> int:
        """The number of servers whose path is drawn; 0 without a loss network."""
        return min(self.servers, key=lambda servers: abs(servers - _TRACED), default=0)

    @property
    def loss_paths(self) -> dict[str, list[str]]:
        """The files of all numbers of servers, by kind."""
        return {
            kind: [f"results/loss/N{n}/{kind}.parquet" for n in self.servers] for kind in SCHEMAS
        }

    @property
    def sources(self) -> dict[str, str | list[str]]:
        """The paths of the inputs that the catalogue's tables and figures name, as far as there are any."""
        found: dict[str, str | list[str]] = {}
        if self.cells:
            for name in ("estimates", "truth", "diagnostics"):
                found[name] = f"results/{name}.parquet"
            found |= {name: f"results/tables/{name}.csv" for name in ("mse", "coverage", "winners")}
        if self.exact:
            found["solved"] = [f"results/exact/{cell}.json" for cell in self.exact]
            found["decomposition"] = "results/tables/bias_decomposition.csv"
        if self.servers:
            for name in ("regret", "regret_decomposition", "single_use"):
                found[name] = f"results/tables/{name}.csv"
        return found

    def inputs(self, shown: Table | Figure) -> dict[str, str | list[str]]:
        """Return the inputs that a table or figure has in this study."""
        known = self.sources
        return {name: known[name] for name in shown.inputs if name in known}

    @property
    def notes(self) -> dict[str, str]:
        """What a reader must know about scenarios, by name."""
        return {cell.scenario: said for cell in self.cells.values() if (said := notes(cell))}

    def given(self, shown: Table | Figure) -> dict:
        """Return what else of the study and of the estimators a table or figure needs."""
        entries = all_estimators()
        known = {
            "notes": lambda: self.notes,
            "seed": lambda: self.study.seed,
            "structural": lambda: [entry.name for entry in entries if entry.needs_structure],
            "exact": lambda: {entry.name: entry.exact for entry in entries if entry.exact},
            "roles": roles,
            "families": lambda: {c.scenario: families(c) for c in self.cells.values()},
        }
        return {name: known[name]() for name in shown.given}

    @property
    def tables(self) -> list[Table]:
        """The catalogue's tables of this study."""
        return [one for one in self._shown if isinstance(one, Table)]

    @property
    def figures(self) -> list[Figure]:
        """The catalogue's figures of this study."""
        return [one for one in self._shown if isinstance(one, Figure)]

    @property
    def _shown(self):
        return [one for one in CATALOGUE if self.scenarios.get(one.of)]

    @property
    def order(self) -> list[str]:
        """The estimators that have a place in figures, in its order."""
        placed = [entry for entry in all_estimators() if entry.place]
        return [entry.name for entry in sorted(placed, key=lambda entry: entry.place)]

    @property
    def targets(self) -> list[str]:
        """Every file that the study is to end with."""
        found = [path for table in self.tables for path in table.paths.values()]
        for figure in self.figures:
            found += figure.paths(self.scenarios[figure.of])
        if self.cells:
            found += ["results/estimates.parquet", "results/truth.parquet"]
        if self.servers:
            found += ["results/loss/regret.parquet"]
            found += [f"results/tables/{file}.csv" for file, _ in LOSS_TABLES.values()]
            found += [f"results/figures/loss_{name}.png" for name in LOSS_FIGURES]
        return found + [f"results/external/{name}/estimates.csv" for name in self.external]
