"""Draw the map of who wins where."""

import pandas as pd

from queuebench.figures.style import save
from queuebench.figures.winners import draw_winners

save(draw_winners(pd.read_csv(snakemake.input[0])), snakemake.output)
