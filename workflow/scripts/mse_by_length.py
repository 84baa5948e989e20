"""Draw the figure of every scenario from the table of mean squared errors."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.mse_by_length import draw_mse_by_length
from queuebench.results.figures.style import save_each

say_failures(snakemake.log)
mse = pd.read_csv(snakemake.input[0])
save_each(
    snakemake.params.scenarios, lambda scenario: draw_mse_by_length(mse, scenario), snakemake.output
)
