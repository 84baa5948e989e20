"""Write what the estimators' checks of their assumptions say, and whether estimators disagree."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.checks import checks_table
from queuebench.results.tables.disagreement import disagreement_table
from queuebench.results.tables.output import read_table, write_csv

say_failures(snakemake.log)
estimates, truth, diagnostics = (
    read_table(snakemake.input[name]) for name in ("estimates", "truth", "diagnostics")
)
notes = snakemake.params.notes
write_csv(checks_table(estimates, truth, notes), snakemake.output.checks)
write_csv(disagreement_table(diagnostics, notes), snakemake.output.disagreement)
