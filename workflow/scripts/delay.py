"""Draw what a naive comparison says under delayed information."""

import pandas as pd

from queuebench.figures.delay import draw_delay
from queuebench.figures.style import save

mse = pd.read_csv(snakemake.input[0])
save(draw_delay(mse, snakemake.params.scenarios), snakemake.output)
