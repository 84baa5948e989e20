"""Write from which length of experiment each estimator beats each rival."""

from queuebench.failures import say_failures
from queuebench.tables.crossover import crossover_table
from queuebench.tables.output import read_table, write_csv

say_failures(snakemake.log)
decomposition = [read_table(path) for path in snakemake.input.get("decomposition", [])]
table = crossover_table(
    read_table(snakemake.input.estimates),
    read_table(snakemake.input.truth),
    snakemake.params.seed,
    *decomposition,
)
write_csv(table, snakemake.output[0])
