"""Draw the decomposition of bias."""

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures.bias_decomposition import draw_bias_decomposition
from queuebench.results.figures.style import save
from queuebench.results.tables.output import read_table

say_failures(snakemake.log)
save(draw_bias_decomposition(read_table(snakemake.input[0])), snakemake.output)
