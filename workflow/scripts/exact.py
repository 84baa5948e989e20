"""Solve a cell exactly, if it is within reach."""

from queuebench.config import Cell
from queuebench.exact import write_exact
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled

say_failures(snakemake.log)
ensure_compiled()
write_exact(Cell.from_dict(snakemake.params.job["cell"]), snakemake.output[0], snakemake.log[0])
