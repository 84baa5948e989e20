"""Draw the map of who wins where."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.style import save
from queuebench.results.figures.winners import draw_winners

say_failures(snakemake.log)
save(draw_winners(pd.read_csv(snakemake.input[0])), snakemake.output)
