"""Running simulations in processes of their own, from a copy of the package that a test may edit."""

import json
import os
import subprocess
import sys

from tests.package_copy import copy_package

_CASES = ("    if rules.split and lagged:", "    return _run(begin, arrival, requirement, treated,")

_DRIVER = """
import importlib, json, sys
for plugin in json.loads(sys.argv[2]):
    importlib.import_module(plugin)
import numpy as np
from queuebench.queueing.dispatch import Output, dispatch, grow, new_state
from queuebench.queueing.structure import Structure
from queuebench.queueing.system import dispatch_rules

names, parameters = json.loads(sys.argv[1])
rng, n, servers = np.random.default_rng(7), 2000, 4
rules = dispatch_rules(Structure(np.ones(servers), tuple(names), tuple(parameters)))
state, done = new_state(rules), 0
out = Output(
    np.zeros(n), np.zeros(n), *(np.zeros(n, np.int32) for _ in range(2)),
    *((np.zeros(n, np.int32), np.zeros(n, np.int32)) for _ in range(3)),
)
arrival, requirement = np.cumsum(rng.exponential(size=n) / 3.0), rng.exponential(size=n)
treated = rng.integers(0, 2, n).astype(np.uint8)
words = rng.integers(0, 2**32, size=(n, servers + 2), dtype=np.uint32)
while done < n:
    done, full = dispatch(done, arrival, requirement, treated, words, rules, state, out)
    state = grow(state) if full else state
chosen = [part.tolist() for part in out.server_if]
print(json.dumps([out.response_time.mean(), *chosen]))
"""


class PackageCopy:
    """A copy of the package whose kernel is compiled for fresh information and a nested design only."""

    def __init__(self, folder):
        self.folder = folder
        copy_package(folder / "src")
        dispatch = self.folder / "src/queuebench/queueing/dispatch.py"
        text = dispatch.read_text()
        begin, end = text.index(_CASES[0]), text.rindex(_CASES[1])
        dispatch.write_text(text[:begin] + text[end:])

    def write(self, module, text):
        """Write a file of the package, or with a bare name a module outside it."""
        (self._path(module)).write_text(text)

    def edit(self, module, old, new):
        """Replace text in a file."""
        text = self._path(module).read_text()
        assert old in text, f"{module} does not contain {old!r}"
        self._path(module).write_text(text.replace(old, new, 1))

    def _path(self, module):
        folder = self.folder / "src/queuebench" if "/" in module else self.folder
        return folder / module

    def python(self, code, *arguments, cache="warm", compiled=True):
        """Run code with the copy; return the finished process."""
        paths = os.pathsep.join(map(str, (self.folder / "src", self.folder)))
        environment = os.environ | {
            "PYTHONPATH": paths,
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(self.folder / cache),
            "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        }
        return subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True, text=True, check=False, env=environment, cwd=self.folder,
        )  # fmt: skip

    def simulate(self, *arms, plugins=(), **how):
        """Simulate 2000 arrivals; return the mean response and what either arm chose.

        Parameters
        ----------
        *arms : dict
            Control's policy and treatment's.
        plugins : tuple of str
            Modules imported first.
        **how
            ``cache``, the folder of compiled kernels, and ``compiled``, whether to compile at all.
        """
        names = [arm["policy"] for arm in arms]
        parameters = [{k: v for k, v in arm.items() if k != "policy"} for arm in arms]
        wanted = json.dumps([names, parameters]), json.dumps(list(plugins))
        done = self.python(_DRIVER, *wanted, **how)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def compiled(self):
        """Return the number of kernels compiled into the warm cache so far."""
        return len(list((self.folder / "warm").rglob("*.nbc")))
