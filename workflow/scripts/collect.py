"""Collect estimates and truths of all cells."""

from queuebench.collect import collect

collect(snakemake.input.estimates, snakemake.output.estimates)
collect(snakemake.input.truth, snakemake.output.truth)
