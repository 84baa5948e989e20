"""Estimate from the traces of a batch."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.jobs import row_keys
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.batches import estimate_traces
from queuebench.study.cells import Cell

say_failures(snakemake.log)
cell = Cell.from_dict(snakemake.params.job["cell"])
ensure_compiled()
estimate_traces(
    cell,
    dict(zip(snakemake.params.designs, snakemake.input, strict=True)),
    snakemake.output,
    snakemake.log[0],
    row_keys(cell),
)
