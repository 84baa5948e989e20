"""Draw a figure of the catalogue."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.make import draw_figures
from queuebench.study.plugins import load_plugins

say_failures(snakemake.log)
load_plugins(snakemake.params.plugins)
draw_figures(
    snakemake.params.function,
    snakemake.input,
    snakemake.output,
    snakemake.params.scenarios,
    snakemake.params.each,
    snakemake.params.given,
    snakemake.params.order,
)
