"""Draw the coverage of confidence intervals."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.coverage import draw_coverage
from queuebench.results.figures.style import save
from queuebench.results.tables.output import read_table

say_failures(snakemake.log)
save(draw_coverage(read_table(snakemake.input[0])), snakemake.output)
