"""Trace a stretch of one sample path under several policies."""

from queuebench.loss_study import trace_trajectory

trace_trajectory(
    snakemake.params.settings,
    snakemake.params.seed,
    int(snakemake.wildcards.servers),
    snakemake.output[0],
)
