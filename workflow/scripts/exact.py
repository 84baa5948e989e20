"""Solve a cell exactly, if it is within reach."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.exact import write_exact
from queuebench.study.cells import Cell

say_failures(snakemake.log)
ensure_compiled()
job = snakemake.params.job
write_exact(Cell.from_dict(job["cell"]), job["reads"], snakemake.output[0], snakemake.log[0])
