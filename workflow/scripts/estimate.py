"""Estimate from the traces of a batch."""

from queuebench.batches import estimate_traces
from queuebench.config import Cell
from queuebench.failures import say_failures
from queuebench.jobs import row_keys
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
cell = Cell.from_dict(snakemake.params.job["cell"])
estimate_traces(
    cell,
    dict(zip(snakemake.params.designs, snakemake.input, strict=True)),
    snakemake.output,
    snakemake.log[0],
    row_keys(cell),
)
