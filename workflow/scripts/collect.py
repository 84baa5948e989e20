"""Collect estimates, diagnostics and truths of all cells."""

import pandas as pd
import pyarrow as pa

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.stages.collect import collect, write_stamped
from queuebench.results.tables.output import read_json
from queuebench.results.tables.truth import truth_table

say_failures(snakemake.log)
for kind in ("estimates", "diagnostics"):
    collect(snakemake.input[kind], snakemake.output[kind], snakemake.params.stamp)
simulated = pd.concat(map(pd.read_parquet, snakemake.input.truth), ignore_index=True)
truth = truth_table(simulated, read_json(snakemake.input.exact))
table = pa.Table.from_pandas(truth, preserve_index=False)
write_stamped(table, snakemake.output.truth, snakemake.params.stamp)
