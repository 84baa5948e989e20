"""Draw the violins of every scenario."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.style import save_each
from queuebench.results.figures.violins import draw_violins

say_failures(snakemake.log)
estimates = pd.read_parquet(snakemake.input.estimates)
truth = pd.read_parquet(snakemake.input.truth)
save_each(
    snakemake.params.scenarios,
    lambda scenario: draw_violins(estimates, truth, scenario),
    snakemake.output,
)
