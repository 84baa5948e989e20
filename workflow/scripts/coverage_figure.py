"""Draw the coverage of confidence intervals."""

from queuebench.failures import say_failures
from queuebench.figures.coverage import draw_coverage
from queuebench.figures.style import save
from queuebench.tables.output import read_table

say_failures(snakemake.log)
save(draw_coverage(read_table(snakemake.input[0])), snakemake.output)
