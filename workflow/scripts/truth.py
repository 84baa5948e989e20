"""Simulate the truth of a cell."""

from queuebench.config import Cell
from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled
from queuebench.progress import Progress
from queuebench.truth import simulate_truth, write_truth

say_failures(snakemake.log)
ensure_compiled()
job = snakemake.params.job
cell = Cell.from_dict(job["cell"])
with Progress(snakemake.log[0], f"{cell.name}: truth", None) as progress:
    truth = simulate_truth(cell, progress.say, job["least_arrivals"])
    write_truth(cell, truth, snakemake.output[0])
