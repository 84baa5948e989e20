"""Simulate a batch of replicates and estimate from them, without keeping the traces."""

from queuebench.batches import simulate_and_estimate
from queuebench.config import Cell
from queuebench.failures import say_failures
from queuebench.jobs import row_keys
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
cell = Cell.from_dict(snakemake.params.job["cell"])
simulate_and_estimate(
    cell,
    range(*snakemake.params.replicates),
    snakemake.output,
    snakemake.log[0],
    row_keys(cell),
)
