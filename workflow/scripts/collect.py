"""Collect estimates, diagnostics and truths of all cells."""

import pandas as pd

from queuebench.collect import collect, read_json
from queuebench.failures import say_failures
from queuebench.files import whole_file
from queuebench.tables.truth import truth_table

say_failures(snakemake.log)
for kind in ("estimates", "diagnostics"):
    collect(snakemake.input[kind], snakemake.output[kind])
simulated = pd.concat(map(pd.read_parquet, snakemake.input.truth), ignore_index=True)
with whole_file(snakemake.output.truth) as partial:
    truth_table(simulated, read_json(snakemake.input.exact)).to_parquet(partial, index=False)
