"""Estimate from the traces of a batch."""

from queuebench.config import Cell
from queuebench.estimation import estimate_traces
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
estimate_traces(
    Cell.from_dict(snakemake.params.job["cell"]),
    dict(zip(snakemake.params.designs, snakemake.input, strict=True)),
    snakemake.output,
    snakemake.log[0],
)
