"""Judge the claims of the papers."""

import pandas as pd

from queuebench.claims.ab_tests import ab_test_evidence
from queuebench.tables.claims import claims_table, overall
from queuebench.tables.output import write_csv, write_markdown

tables = {
    "mse": pd.read_csv(snakemake.input.mse),
    "truth": pd.read_parquet(snakemake.input.truth),
    "diagnostics": pd.read_parquet(snakemake.input.diagnostics),
}
table = claims_table(ab_test_evidence(tables, snakemake.params.families))
write_csv(table, snakemake.output.csv)
write_markdown(overall(table), snakemake.output.md, "Claims of the papers, judged by this study")
