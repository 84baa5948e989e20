"""Write how often confidence intervals cover."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.coverage import coverage_table
from queuebench.results.tables.output import read_table, write_csv

say_failures(snakemake.log)
decomposition = [read_table(path) for path in snakemake.input.get("decomposition", [])]
table = coverage_table(
    read_table(snakemake.input.estimates), read_table(snakemake.input.truth), *decomposition
)
write_csv(table, snakemake.output[0])
