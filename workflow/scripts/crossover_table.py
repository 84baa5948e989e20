"""Write from which length of experiment each estimator beats each rival."""

import pandas as pd

from queuebench.tables.crossover import crossover_table
from queuebench.tables.output import write_csv

table = crossover_table(
    pd.read_parquet(snakemake.input.estimates),
    pd.read_parquet(snakemake.input.truth),
    snakemake.params.seed,
)
write_csv(table, snakemake.output[0])
