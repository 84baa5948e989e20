"""Collect estimates, diagnostics and truths of all cells."""

import pandas as pd

from queuebench.collect import collect, read_json
from queuebench.files import whole_file
from queuebench.tables.truth import truth_table

for kind in ("estimates", "diagnostics"):
    collect(snakemake.input[kind], snakemake.output[kind])
simulated = pd.concat(map(pd.read_parquet, snakemake.input.truth), ignore_index=True)
with whole_file(snakemake.output.truth) as partial:
    truth_table(simulated, read_json(snakemake.input.exact)).to_parquet(partial, index=False)
