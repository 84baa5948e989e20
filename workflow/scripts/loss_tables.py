"""Collect the loss network's rows and write its tables."""

import pyarrow.parquet as pq

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.stages.collect import collect
from queuebench.results.tables import loss_network as tables
from queuebench.results.tables.output import write_csv
from queuebench.study.settings import LossNetworkStudy

say_failures(snakemake.log)
settings = LossNetworkStudy.model_validate(snakemake.params.settings)
collect(snakemake.input.regret, snakemake.output.rows)
rows = {
    kind: [row for path in paths for row in pq.read_table(path).to_pylist()]
    for kind, paths in snakemake.input.items()
}
write_csv(tables.regret_table(settings, rows), snakemake.output.regret)
write_csv(tables.decomposition_table(settings, rows), snakemake.output.decomposition)
write_csv(tables.errors_table(rows), snakemake.output.errors)
write_csv(tables.epochs_table(settings, rows), snakemake.output.epochs)
write_csv(tables.single_use_table(settings), snakemake.output.single_use)
