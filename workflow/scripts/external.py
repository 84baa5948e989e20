"""Estimate the effect from the log of somebody's own experiment."""

import sys
from pathlib import Path

from queuebench.logs import LogError, analyze_log
from queuebench.logs.read.description import load_config
from queuebench.pipeline.kernels import ensure_compiled

folder = Path(snakemake.output.report).parent
try:
    load_config(snakemake.input.config)  # Its plug-ins come before anything is compiled.
    ensure_compiled()
    analysis = analyze_log(snakemake.input.log, snakemake.input.config, folder)
except LogError as error:
    Path(snakemake.log[0]).write_text(f"{error}\n")
    sys.exit(f"queuebench: {error}")
Path(snakemake.log[0]).write_text(analysis.report())
