"""Simulate a batch of replicates and estimate from them, without keeping the traces."""

from queuebench.batches import simulate_and_estimate
from queuebench.config import Cell
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
simulate_and_estimate(
    Cell.from_dict(snakemake.params.job["cell"]),
    range(*snakemake.params.replicates),
    snakemake.output,
    snakemake.log[0],
)
