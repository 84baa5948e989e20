"""Trace a stretch of one sample path under several policies."""

from queuebench.pipeline.failures import say_failures
from queuebench.pipeline.kernels import ensure_compiled
from queuebench.pipeline.stages.loss_network import trace_trajectory

say_failures(snakemake.log)
ensure_compiled()
trace_trajectory(
    snakemake.params.settings,
    snakemake.params.seed,
    int(snakemake.wildcards.servers),
    snakemake.output[0],
)
