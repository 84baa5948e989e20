"""Draw the decomposition of bias."""

from queuebench.figures.bias_decomposition import draw_bias_decomposition
from queuebench.figures.style import save
from queuebench.tables.output import read_table

save(draw_bias_decomposition(read_table(snakemake.input[0])), snakemake.output)
