"""Compile the kernels once, so that no two jobs compile the same one at the same time."""

from queuebench.warmup import compile_kernels

compile_kernels(snakemake.log[0])
