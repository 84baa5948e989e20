"""Simulate the truth of a cell."""

from queuebench.base.progress import Progress
from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.truth import simulate_truth, write_truth
from queuebench.study.cells import Cell

say_failures(snakemake.log)
job = snakemake.params.job
cell = Cell.from_dict(job["cell"])
ensure_compiled()
with Progress(snakemake.log[0], f"{cell.name}: truth", None) as progress:
    truth = simulate_truth(cell, progress.say, job["least_arrivals"])
    write_truth(cell, truth, snakemake.output[0])
