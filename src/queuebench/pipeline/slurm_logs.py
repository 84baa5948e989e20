"""What Slurm said of failed jobs.

Snakemake shows the log of a failed job's rule, and stops there if the job ended before it wrote one:
just when memory or time ran out, or a program was missing. Slurm's own log then has the reason.
"""

from pathlib import Path

FOLDER = Path(".snakemake/slurm_logs")
_LINES = 15
_JOBS = 10


def slurm_log_tails(since, folder=FOLDER):
    """Yield the last lines of Slurm's logs, newest first; those of jobs that succeed are not kept.

    Parameters
    ----------
    since : float
        Seconds since the epoch; older logs are left out.
    folder : pathlib.Path
        Where Snakemake's plugin keeps the logs.

    Yields
    ------
    str
        A heading with the log's path, which names rule and cell, and the lines.
    """
    logs = {path: path.stat().st_mtime for path in folder.rglob("*.log")}
    recent = sorted((time, path) for path, time in logs.items() if time >= since)[::-1]
    for _, path in recent[:_JOBS]:
        lines = path.read_text(errors="replace").splitlines()[-_LINES:]
        yield "\n    ".join([f"{path} ends with:", *lines])
    if len(recent) > _JOBS:
        yield f"and {len(recent) - _JOBS} more in {folder}"
