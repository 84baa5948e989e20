"""Simulate a batch of replicates of one design into a trace."""

from queuebench.config import Cell
from queuebench.experiment import simulate_trace
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
simulate_trace(
    Cell.from_dict(snakemake.params.job["cell"]),
    snakemake.wildcards.design,
    range(*snakemake.params.replicates),
    snakemake.output.trace,
    snakemake.log[0],
)
