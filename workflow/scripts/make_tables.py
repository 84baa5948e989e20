"""Make tables of the catalogue."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.make import make_tables
from queuebench.study.plugins import load_plugins

say_failures(snakemake.log)
load_plugins(snakemake.params.plugins)
make_tables(
    snakemake.params.function,
    dict(snakemake.input.items()),
    dict(snakemake.output.items()),
    snakemake.params.given,
)
