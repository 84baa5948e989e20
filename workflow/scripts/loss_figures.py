"""Draw the figures of the loss network."""

import pandas as pd
import pyarrow as pa

from queuebench.pipeline.failures import say_failures
from queuebench.results.figures import loss_network as figures
from queuebench.results.figures.style import save

say_failures(snakemake.log)
regret = pd.read_csv(snakemake.input.regret)
decomposition = pd.read_csv(snakemake.input.decomposition)
trace = pa.ipc.open_file(snakemake.input.trace).read_pandas()
drawn = {
    "regret": figures.draw_regret(regret, pd.read_csv(snakemake.input.single_use)),
    "decomposition": figures.draw_decomposition(decomposition),
    "knee": figures.draw_knee(regret),
    "trajectory": figures.draw_trajectory(trace, snakemake.params.servers),
}
for name, figure in drawn.items():
    save(figure, [snakemake.output[name], snakemake.output[f"{name}_pdf"]])
