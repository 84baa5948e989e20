"""Trace a stretch of one sample path under several policies."""

from queuebench.failures import say_failures
from queuebench.kernels import ensure_compiled
from queuebench.loss_study import trace_trajectory

say_failures(snakemake.log)
ensure_compiled()
trace_trajectory(
    snakemake.params.settings,
    snakemake.params.seed,
    int(snakemake.wildcards.servers),
    snakemake.output[0],
)
