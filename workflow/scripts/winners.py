"""Write who has the lowest mean squared error where, and what length makes the sign right."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.output import read_table, write_csv
from queuebench.results.tables.sign import sign_table
from queuebench.results.tables.winners import winners_table

say_failures(snakemake.log)
estimates, truth = (read_table(snakemake.input[name]) for name in ("estimates", "truth"))
exact = [read_table(path) for path in snakemake.input.get("decomposition", [])]
seed = snakemake.params.seed
winners = winners_table(estimates, truth, seed, snakemake.params.structural, *exact)
write_csv(winners, snakemake.output.winners)
write_csv(sign_table(estimates, truth, seed, *exact), snakemake.output.sign)
