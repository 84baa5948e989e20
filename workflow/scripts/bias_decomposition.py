"""Take the bias of every estimator apart."""

import pandas as pd

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.stages.collect import read_json
from queuebench.results.tables.bias_decomposition import bias_decomposition
from queuebench.results.tables.output import write_csv

say_failures(snakemake.log)
estimates = pd.read_parquet(snakemake.input.estimates)
write_csv(bias_decomposition(estimates, read_json(snakemake.input.exact)), snakemake.output[0])
