"""Simulate the truth of a cell."""

from queuebench.collect import write_row
from queuebench.config import Cell
from queuebench.progress import Progress
from queuebench.truth import simulate_truth

cell = Cell.from_dict(snakemake.params.job["cell"])
with Progress(snakemake.log[0], f"{cell.name}: truth", None) as progress:
    truth = simulate_truth(cell, progress.say)
row = {"scenario": cell.scenario, "load": cell.load, "source": "simulated"} | truth._asdict()
write_row(row, snakemake.output[0])
