"""Snakemake without its start: forks of a process that has imported it, and libraries, before.

A start takes two seconds of a processor for imports alone, and the tests run Snakemake a hundred times.
There are two such processes. One has this package too, and fingerprints of its code. Where a test runs a copy
of the package, which it may edit, the other is forked, and finds the copy on its ``PYTHONPATH``.
"""

import functools
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).parents[1]
_BEFORE = (
    "numba", "numpy", "pandas", "pyarrow.parquet", "pydantic", "scipy.optimize", "scipy.special",
    "snakemake.workflow", "yaml",
)  # fmt: skip
_PACKAGE = ("queuebench.estimators", "queuebench.pipeline.checks", "queuebench.pipeline.jobs")
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What the workflow sets for its jobs; a process with threads is none to fork."""
_started = []


def run_snakemake(arguments, cwd, env):
    """Run Snakemake in a folder; return the finished process, as ``subprocess.run`` does."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("out", "err")]
        request = {"arguments": arguments, "cwd": str(cwd), "env": env, "files": files}
        server = _server(copied=env.get("PYTHONPATH") != os.environ.get("PYTHONPATH"))
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that Snakemake is forked from has ended"
        said = [Path(file).read_text() for file in files]
    return subprocess.CompletedProcess(["snakemake", *arguments], int(answer), *said)


@functools.cache
def _server(copied):
    """Return a process to fork, without the package or with."""
    changed = {"PYTHONPATH": ""} if copied else {}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.snakemake_fork", *(["copied"] if copied else [])],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT,
        env=os.environ | dict.fromkeys(_THREADS, "1") | changed,
    )  # fmt: skip
    _started.append(server)
    return server


def end():
    """End the processes that were forked, which they do when their input is closed."""
    while _started:
        with _started.pop() as server:
            server.stdin.close()


def _serve(copied):
    # Imported in the process that is forked only; reading the plugins is part of a start.
    from snakemake import cli

    cli.get_argument_parser()
    for name in (*_BEFORE, *([] if copied else _PACKAGE)):
        importlib.import_module(name)
    if not copied:
        from queuebench.pipeline.fingerprint import fingerprint

        for script in (_ROOT / "workflow/scripts").glob("*.py"):
            fingerprint(script)
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            sys.exit(_become(**json.loads(line)))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _become(arguments, cwd, env, files):
    """Be ``python -m snakemake`` with these arguments."""
    for number, name in enumerate((os.devnull, *files)):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    copy = [] if "queuebench" in sys.modules else env["PYTHONPATH"].split(os.pathsep)
    sys.path[:1] = [cwd, *copy]
    sys.argv = ["snakemake", *arguments]
    importlib.invalidate_caches()
    return importlib.import_module("snakemake.cli").main()


if __name__ == "__main__":
    _serve(copied="copied" in sys.argv)
