"""Benchmarks; they run as jobs do, with one thread per process."""

from queuebench.pipeline.environment import prepare_jobs

prepare_jobs(threads=1)
