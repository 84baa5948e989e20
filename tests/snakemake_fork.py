"""Snakemake without its start: forks of a process that has imported it, and libraries, before.

A start takes two seconds of a processor for imports alone, and the tests run Snakemake a hundred times. The
package itself is never imported before a fork: each finds the one on its own ``PYTHONPATH``.
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
_THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What the workflow sets for its jobs; a process with threads is none to fork."""


def run_snakemake(arguments, cwd, env):
    """Run Snakemake in a folder; return the finished process, as ``subprocess.run`` does."""
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("out", "err")]
        request = {"arguments": arguments, "cwd": str(cwd), "env": env, "files": files}
        server = _server()
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        answer = server.stdout.readline()
        assert answer, "the process that Snakemake is forked from has ended"
        said = [Path(file).read_text() for file in files]
    return subprocess.CompletedProcess(["snakemake", *arguments], int(answer), *said)


@functools.cache
def _server():
    """Return the process that is forked; it ends with this one, which closes its input."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.snakemake_fork"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT,
        env=os.environ | dict.fromkeys(_THREADS, "1") | {"PYTHONPATH": ""},
    )  # fmt: skip


def _serve():
    # Imported in the process that is forked only; reading the plugins is part of a start.
    from snakemake import cli

    cli.get_argument_parser()
    for name in _BEFORE:
        importlib.import_module(name)
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
    sys.path[:1] = [cwd, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["snakemake", *arguments]
    importlib.invalidate_caches()
    assert "queuebench" not in sys.modules
    return importlib.import_module("snakemake.cli").main()


if __name__ == "__main__":
    _serve()
