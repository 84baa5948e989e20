"""Simulate a batch of replicates of one design into a trace."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.simulate import simulate_trace
from queuebench.study.cells import Cell

say_failures(snakemake.log)
cell = Cell.from_dict(snakemake.params.job["cell"])
ensure_compiled()
simulate_trace(
    cell,
    snakemake.wildcards.design,
    range(*snakemake.params.replicates),
    snakemake.output.trace,
    snakemake.log[0],
)
