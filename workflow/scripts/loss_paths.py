"""Run every policy of the loss network for one number of servers."""

from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled
from queuebench.loss_study import simulate_loss

say_failures(snakemake.log)
ensure_compiled()
simulate_loss(
    snakemake.params.settings,
    snakemake.params.seed,
    int(snakemake.wildcards.servers),
    dict(snakemake.output.items()),
    snakemake.log[0],
)
