"""Your own log: from the log of a real experiment to estimates of the global treatment effect.

`analyze_log` reads a log, checks it, reconstructs what is missing and applies the estimators.
"""

from queuebench.logs.analysis import LogAnalysis, analyze_log
from queuebench.logs.errors import LogError
from queuebench.logs.findings import Finding
from queuebench.logs.read.description import LogConfig, load_config, parse_config

__all__ = [
    "Finding",
    "LogAnalysis",
    "LogConfig",
    "LogError",
    "analyze_log",
    "load_config",
    "parse_config",
]
