"""Whether a Snakemake, or a job that one left behind, is at work in a folder.

``python -m queuebench.pipeline.at_work`` fails if so: to unlock the folder then would let two runs write
the same files.
"""

import os
import sys
from pathlib import Path

import psutil


def at_work(folder):
    """Return the command lines, by process, of Snakemake and its jobs on this machine in a folder."""
    found = {}
    for process in psutil.process_iter(["cmdline", "cwd"]):
        words = process.info["cmdline"] or []
        if process.info["cwd"] == os.path.realpath(folder) and any(map(_is_snakemake, words)):
            found[process.pid] = " ".join(words)
    return found


def _is_snakemake(word):
    return Path(word).name == "snakemake" or "/.snakemake/scripts/" in word


def main():
    """Say what is at work in the working directory; return the exit status."""
    found = at_work(".")
    for pid, command in found.items():
        print(f"process {pid} is at work here: {command}", file=sys.stderr)
    if found:
        print(
            "queuebench: wait for it to end, or end it, before resuming: two runs at once would "
            "write the same files",
            file=sys.stderr,
        )
    return 2 if found else 0


if __name__ == "__main__":
    sys.exit(main())
