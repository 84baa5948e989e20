"""Draw the heat map of all cells."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.mse_heatmap import draw_mse_heatmap
from queuebench.results.figures.style import save

say_failures(snakemake.log)
save(draw_mse_heatmap(pd.read_csv(snakemake.input[0])), snakemake.output)
