"""Write the table of mean squared errors."""

import pandas as pd

from queuebench.tables.mse import NOTES, mse_table
from queuebench.tables.output import write_csv, write_markdown

table = mse_table(
    pd.read_parquet(snakemake.input.estimates),
    pd.read_parquet(snakemake.input.truth),
    snakemake.params.notes,
)
write_csv(table, snakemake.output.csv)
write_markdown(table, snakemake.output.md, "Mean squared error of every estimator", NOTES)
