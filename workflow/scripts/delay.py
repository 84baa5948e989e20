"""Draw what a naive comparison says under delayed information."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.delay import draw_delay
from queuebench.results.figures.style import save

say_failures(snakemake.log)
mse = pd.read_csv(snakemake.input[0])
save(draw_delay(mse, snakemake.params.scenarios), snakemake.output)
