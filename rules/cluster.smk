# Reasons of failures that only Slurm knows, at the end of a run that failed.
import os
import sys
import time

from queuebench.pipeline.slurm_logs import slurm_log_tails

STARTED = time.time()


onerror:
    # A submitted job is a Snakemake too, and would say it of itself.
    if "SLURM_JOB_ID" not in os.environ:
        print(*slurm_log_tails(since=STARTED), sep="\n", file=sys.stderr)
