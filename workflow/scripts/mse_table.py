"""Write the table of mean squared errors."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.checks import checks_table, warnings
from queuebench.results.tables.mse import NOTES, mse_table
from queuebench.results.tables.output import write_csv, write_markdown

say_failures(snakemake.log)
estimates, truth = (pd.read_parquet(snakemake.input[name]) for name in ("estimates", "truth"))
table = mse_table(estimates, truth, snakemake.params.notes)
first = warnings(checks_table(estimates, truth))
write_csv(table, snakemake.output.csv)
write_markdown(table, snakemake.output.md, "Mean squared error of every estimator", NOTES, first)
