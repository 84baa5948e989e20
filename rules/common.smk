# The study, its cells and its batches; what does not concern a single rule.
import re

from snakemake.exceptions import WorkflowError

from queuebench.checks import check_cell
from queuebench.config import StudyError, parse_study, resolve
from queuebench.environment import prepare_jobs
from queuebench.fingerprint import fingerprint
from queuebench.jobs import (
    batch_params,
    estimation_params,
    simulation_params,
    truth_params,
)
from queuebench.needs import job_memory, job_minutes


def load_cells():
    """Check the study and return it with its cells by name; a wrong one ends the workflow here."""
    try:
        study = parse_study(config)
        cells = {cell.name: cell for cell in resolve(study)}
        for cell in cells.values():
            check_cell(cell)
    except StudyError as error:
        raise WorkflowError(str(error)) from None
    return study, cells


prepare_jobs(threads=1)

STUDY, CELLS = load_cells()
SCENARIOS = list(STUDY.scenarios)
KEPT = [name for name, cell in CELLS.items() if cell.experiment.keep_traces]
PASSING = [name for name in CELLS if name not in KEPT]


wildcard_constraints:
    batch=r"\d+",


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
    designs = CELLS[wildcards.cell].designs
    return job_minutes(len(designs) * batch_arrivals(wildcards))


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


STUDY_TARGETS = [
    "results/estimates.parquet",
    "results/truth.parquet",
    "results/tables/mse.csv",
    "results/tables/mse.md",
    "results/tables/crossover.csv",
    "results/figures/mse_heatmap.png",
    *(
        f"results/figures/{figure}-{scenario}.png"
        for figure in ("violins", "bias_sd", "mse_by_length")
        for scenario in SCENARIOS
    ),
]


def shown_figure(name, scenario, title, caption):
    """Return the PNG of a scenario's figure, which the report shows."""
    path = f"results/figures/{name}-{scenario}.png"
    caption = f"../workflow/report/{caption}.rst"
    labels = {"scenario": scenario}
    return report(
        path, category="Figures", subcategory=title, labels=labels, caption=caption
    )


def figure_files(name, title):
    """Return the PNG and the PDF of a figure for every scenario."""
    shown = [shown_figure(name, scenario, title, name) for scenario in SCENARIOS]
    return shown + [f"results/figures/{name}-{scenario}.pdf" for scenario in SCENARIOS]
