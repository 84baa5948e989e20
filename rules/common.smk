# The study and the plan of its jobs; what does not concern a single rule.
import re
import sys
from functools import cache

from snakemake.exceptions import WorkflowError

from queuebench.base.errors import StudyError
from queuebench.pipeline.checks import check_study
from queuebench.pipeline.cost import describe_cost
from queuebench.pipeline.environment import prepare_jobs
from queuebench.pipeline.fingerprint import fingerprint
from queuebench.pipeline.jobs import (
    estimation_params,
    exact_params,
    external_code,
    simulation_params,
    truth_params,
)
from queuebench.pipeline.provenance import check_shown, stamp, take_over
from queuebench.pipeline.resources import job_memory, job_minutes
from queuebench.pipeline.study_plan import LOSS_FIGURES, LOSS_TABLES, StudyPlan
from queuebench.results.catalogue import Table
from queuebench.study.cells import parse_study
from queuebench.study.file import read_study_file
from queuebench.study.plugins import load_installed


def plan_study():
    """Check the study and return the plan of its jobs; a wrong one ends the workflow here."""
    try:
        # A module's study is part of somebody else's file, which need not be one.
        for path in [] if workflow.modifier.parent_modifier else workflow.configfiles:
            read_study_file(path)
        load_installed()
        study = parse_study(config)
        cells = check_study(study)
        if any(word.startswith("--report") for word in sys.argv):
            check_shown(cells, "results/estimates.parquet")
    except StudyError as error:
        raise WorkflowError(str(error)) from None
    return StudyPlan(study, cells)


prepare_jobs(threads=1)

PLAN = plan_study()
CELLS = PLAN.cells
ENVIRONMENT = "../envs/environment.yaml"
FOR_TABLES = {"mem_mb": 1000, "runtime": 10}
FOR_FIGURES = {"mem_mb": 1500, "runtime": 20}


wildcard_constraints:
    batch=r"\d+",
    servers=r"\d+",


def script_path(name):
    return workflow.source_path(f"../workflow/scripts/{name}.py")


def code_of(name, *functions):
    """Return the fingerprint of all that a script, and functions it is told, reach through their imports."""
    modules = [function.partition(":")[0] for function in functions]
    return fingerprint(script_path(name), *modules)


def of_batch(of, wildcards):
    """Return what the plan says of a job's batch."""
    return of(wildcards.cell, int(wildcards.batch))


@cache
def job_of(params, cell, *told):
    """Return what a job of a cell depends on, which is the same for all of its batches."""
    return params(CELLS[cell], *told)


def any_of(names):
    """Return a pattern that matches just these names, and nothing if there are none."""
    return "|".join(re.escape(name) for name in names) or "(?!)"


def shown_table(file, title, caption):
    """Return a table that the report shows, with a caption or, as of a plug-in, without."""
    return report(
        f"results/tables/{file}",
        category="Tables",
        labels={"table": title},
        caption=caption and f"../workflow/report/{caption}.rst",
    )


def shown_figure(path, title, caption, label):
    """Return a figure that the report shows."""
    return report(
        path,
        category="Figures",
        subcategory=title,
        labels={"scenario": label},
        caption=caption and f"../workflow/report/{caption}.rst",
    )


def table_outputs(table):
    """Return a table's files, those with a title for the report."""
    return {
        key: (
            shown_table(file, title, table.caption(file.partition(".")[0]))
            if title
            else f"results/tables/{file}"
        )
        for key, (file, title) in table.files.items()
    }


def figure_outputs(figure):
    """Return a figure's PNGs, which the report shows, and its PDFs."""
    scenarios = PLAN.scenarios[figure.of]
    labels = scenarios if figure.each else [figure.label]
    paths = figure.paths(scenarios)
    shown = [
        shown_figure(path, figure.title, figure.caption(figure.name), label)
        for path, label in zip(paths, labels)
    ]
    return shown + paths[len(labels) :]
