"""Draw the decomposition of bias."""

from queuebench.failures import say_failures
from queuebench.figures.bias_decomposition import draw_bias_decomposition
from queuebench.figures.style import save
from queuebench.tables.output import read_table

say_failures(snakemake.log)
save(draw_bias_decomposition(read_table(snakemake.input[0])), snakemake.output)
