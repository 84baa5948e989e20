# The study, its cells and its batches; what does not concern a single rule.
import re
import sys

from snakemake.exceptions import WorkflowError

from queuebench.pipeline.checks import check_study
from queuebench.base.errors import StudyError
from queuebench.study.cells import external_logs, parse_study
from queuebench.pipeline.cost import describe_cost, estimation_cost
from queuebench.pipeline.environment import prepare_jobs
from queuebench.pipeline.stages.exact import choices as exact_choices
from queuebench.study.families import families, notes
from queuebench.pipeline.fingerprint import fingerprint
from queuebench.pipeline.jobs import batch_params, estimation_params, exact_params, external_code, loss_settings, simulation_params, structural_estimators, truth_params
from queuebench.pipeline.stages.loss_network import SCHEMAS
from queuebench.pipeline.resources import job_memory, job_minutes
from queuebench.pipeline.provenance import check_shown, stamp, take_over
from queuebench.study.file import read_study_file


def load_cells():
    """Check the study and return it with its cells by name; a wrong one ends the workflow here."""
    try:
        # A module's study is part of somebody else's file, which need not be one.
        for path in [] if workflow.modifier.parent_modifier else workflow.configfiles:
            read_study_file(path)
        study = parse_study(config)
        cells = {cell.name: cell for cell in check_study(study)}
        if any(word.startswith("--report") for word in sys.argv):
            check_shown(list(cells.values()), "results/estimates.parquet")
    except StudyError as error:
        raise WorkflowError(str(error)) from None
    return study, cells


prepare_jobs(threads=1)

STUDY, CELLS = load_cells()
SCENARIOS = list(dict.fromkeys(cell.scenario for cell in CELLS.values()))
EXTERNAL = external_logs(STUDY)
TRUNCATED = list(
    dict.fromkeys(
        cell.scenario
        for cell in CELLS.values()
        if len(cell.experiment.all_horizons) > 1
    )
)
DELAYED = list(
    dict.fromkeys(
        cell.scenario for cell in CELLS.values() if "delayed" in families(cell)
    )
)
NOTES = {cell.scenario: notes(cell) for cell in CELLS.values() if notes(cell)}
EXACT = [name for name, cell in CELLS.items() if exact_choices(cell)]
LOSS_KINDS = list(SCHEMAS)
LOSS_SERVERS = STUDY.loss_network.servers if STUDY.loss_network else []
LOSS_SETTINGS = loss_settings(STUDY)
# A path does not depend on which other numbers of servers are studied.
LOSS_PATH_SETTINGS = {
    key: LOSS_SETTINGS[key] for key in LOSS_SETTINGS if key != "servers"
}
# A network small enough for single servers to show.
TRACED_SERVERS = min(LOSS_SERVERS, key=lambda servers: abs(servers - 256), default=0)
KEPT = [name for name, cell in CELLS.items() if cell.experiment.keep_traces]
PASSING = [name for name in CELLS if name not in KEPT]


wildcard_constraints:
    batch=r"\d+",


def script_path(name):
    return workflow.source_path(f"../workflow/scripts/{name}.py")


def code_of(name):
    """Return the fingerprint of all that a script reaches through its imports."""
    return fingerprint(script_path(name))


def batches(cell):
    experiment = CELLS[cell].experiment
    return range(-(-experiment.replicates // experiment.batch_size))


def replicates(wildcards):
    """Return the first replicate of a batch and the one after its last."""
    experiment = CELLS[wildcards.cell].experiment
    start = int(wildcards.batch) * experiment.batch_size
    return [start, min(start + experiment.batch_size, experiment.replicates)]


def batch_arrivals(wildcards):
    """Return how many arrivals a batch has, of each design."""
    first, end = replicates(wildcards)
    return (end - first) * CELLS[wildcards.cell].experiment.arrivals


def batch_minutes(wildcards):
    """Return the time for a job that goes through a batch of every design."""
    cell = CELLS[wildcards.cell]
    costs = [estimation_cost(cell, design.kind) for design in cell.designs.values()]
    arrivals = len(costs) * batch_arrivals(wildcards)
    return job_minutes(arrivals, sum(costs) / len(costs))


def workload_file(wildcards):
    """Return the file of a replayed workload, if the cell has one."""
    workload = CELLS[wildcards.cell].experiment.workload
    return [workload.path] if workload else []


def batch_files(kind):
    """Return the files of a kind from all batches of all cells."""
    return [
        f"results/{kind}/{cell}/batch{batch}.parquet"
        for cell in CELLS
        for batch in batches(cell)
    ]


def any_of(names):
    """Return a pattern that matches just these names, and nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def shown_figure(name, scenario, title, caption):
    """Return the PNG of a scenario's figure, which the report shows."""
    path = f"results/figures/{name}-{scenario}.png"
    caption = f"../workflow/report/{caption}.rst"
    labels = {"scenario": scenario}
    return report(
        path, category="Figures", subcategory=title, labels=labels, caption=caption
    )


def figure_files(name, title, scenarios):
    """Return the PNGs and then the PDFs of a figure for some scenarios."""
    shown = [shown_figure(name, scenario, title, name) for scenario in scenarios]
    return shown + [f"results/figures/{name}-{scenario}.pdf" for scenario in scenarios]


def loss_table(name, title):
    """Return a table of the loss network, which the report shows."""
    return report(
        f"results/tables/{name}.csv",
        category="Tables",
        labels={"table": title},
        caption="../workflow/report/loss_tables.rst",
    )


def loss_figure(name, title):
    """Return a figure of the loss network, which the report shows."""
    return report(
        f"results/figures/loss_{name}.png",
        category="Figures",
        subcategory="Loss network",
        labels={"scenario": title},
        caption=f"../workflow/report/loss_{name}.rst",
    )


EXACT_TARGETS = [
    "results/tables/bias_decomposition.csv",
    "results/figures/bias_decomposition.png",
]

EXPERIMENT_TARGETS = [
    "results/estimates.parquet",
    "results/truth.parquet",
    "results/tables/mse.csv",
    "results/tables/mse.md",
    "results/tables/crossover.csv",
    "results/tables/coverage.csv",
    "results/figures/coverage.png",
    "results/tables/winners.csv",
    "results/figures/winners.png",
    "results/tables/sign.csv",
    "results/tables/checks.csv",
    "results/tables/disagreement.csv",
    *(EXACT_TARGETS if EXACT else []),
    "results/figures/mse_heatmap.png",
    *(
        f"results/figures/{figure}-{scenario}.png"
        for figure in ("violins", "bias_sd", "mse_by_length")
        for scenario in SCENARIOS
    ),
    *(f"results/figures/truncation-{scenario}.png" for scenario in TRUNCATED),
    *(["results/figures/delay.png"] if DELAYED else []),
]

LOSS_TARGETS = [
    "results/loss/regret.parquet",
    "results/tables/regret.csv",
    "results/tables/regret_decomposition.csv",
    "results/tables/admission_errors.csv",
    "results/tables/epochs.csv",
    "results/tables/single_use.csv",
    "results/figures/loss_regret.png",
]

STUDY_TARGETS = [
    *(["results/tables/claims.csv"] if CELLS or LOSS_SERVERS else []),
    *(EXPERIMENT_TARGETS if CELLS else []),
    *(LOSS_TARGETS if LOSS_SERVERS else []),
    *(f"results/external/{scenario}/estimates.csv" for scenario in EXTERNAL),
]

# What the claims are judged by: the tables of whichever parts the study has.
CLAIM_TABLES = {
    **(
        {
            "estimates": "results/estimates.parquet",
            "truth": "results/truth.parquet",
            "diagnostics": "results/diagnostics.parquet",
        }
        if CELLS
        else {}
    ),
    **(
        {
            "regret": "results/tables/regret.csv",
            "decomposition": "results/tables/regret_decomposition.csv",
            "single_use": "results/tables/single_use.csv",
        }
        if LOSS_SERVERS
        else {}
    ),
}
