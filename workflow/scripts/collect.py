"""Collect estimates and truths of all cells."""

from queuebench.collect import collect

for kind in ("estimates", "diagnostics", "truth"):
    collect(snakemake.input[kind], snakemake.output[kind])
