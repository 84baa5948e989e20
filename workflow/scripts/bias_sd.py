"""Draw the figure of every scenario from the table of mean squared errors."""

import pandas as pd

from queuebench.failures import say_failures
from queuebench.figures.bias_sd import draw_bias_sd
from queuebench.figures.style import save_each

say_failures(snakemake.log)
mse = pd.read_csv(snakemake.input[0])
save_each(
    snakemake.params.scenarios, lambda scenario: draw_bias_sd(mse, scenario), snakemake.output
)
