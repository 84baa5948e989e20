"""Simulate a batch of replicates and estimate from them, without keeping the traces."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.jobs import row_keys
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.batches import simulate_and_estimate
from queuebench.study.cells import Cell

say_failures(snakemake.log)
cell = Cell.from_dict(snakemake.params.job["cell"])
ensure_compiled()
simulate_and_estimate(
    cell,
    range(*snakemake.params.replicates),
    snakemake.output,
    snakemake.log[0],
    row_keys(cell),
)
