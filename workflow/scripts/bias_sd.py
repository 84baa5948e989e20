"""Draw the figure of every scenario from the table of mean squared errors."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.bias_sd import draw_bias_sd
from queuebench.results.figures.style import save_each

say_failures(snakemake.log)
mse = pd.read_csv(snakemake.input[0])
save_each(
    snakemake.params.scenarios, lambda scenario: draw_bias_sd(mse, scenario), snakemake.output
)
