"""Simulate the truth of a cell."""

from queuebench.config import Cell
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled
from queuebench.progress import Progress
from queuebench.truth import simulate_truth, write_truth

say_failures(snakemake.log)
ensure_compiled()
cell = Cell.from_dict(snakemake.params.job["cell"])
with Progress(snakemake.log[0], f"{cell.name}: truth", None) as progress:
    write_truth(cell, simulate_truth(cell, progress.say), snakemake.output[0])
