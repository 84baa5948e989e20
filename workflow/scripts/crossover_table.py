"""Write from which length of experiment each estimator beats each rival."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.tables.crossover import crossover_table
from queuebench.results.tables.output import read_table, write_csv

say_failures(snakemake.log)
decomposition = [read_table(path) for path in snakemake.input.get("decomposition", [])]
table = crossover_table(
    read_table(snakemake.input.estimates),
    read_table(snakemake.input.truth),
    snakemake.params.seed,
    *decomposition,
)
write_csv(table, snakemake.output[0])
