"""Run every policy of the loss network for one number of servers."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.loss_network import simulate_loss

say_failures(snakemake.log)
ensure_compiled()
simulate_loss(
    snakemake.params.settings,
    snakemake.params.seed,
    int(snakemake.wildcards.servers),
    dict(snakemake.output.items()),
    snakemake.log[0],
)
