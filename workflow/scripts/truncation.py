"""Draw the truncation ablation of every scenario with several horizons."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.style import save_each
from queuebench.results.figures.truncation import draw_truncation

say_failures(snakemake.log)
mse = pd.read_csv(snakemake.input[0])
save_each(
    snakemake.params.scenarios, lambda scenario: draw_truncation(mse, scenario), snakemake.output
)
