"""A simulation or estimation job imports no library that only tables and figures need."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
HEAVY = ("pandas", "seaborn", "matplotlib", "scipy.stats", "scipy.sparse", "snakemake")
SIMULATE_AND_ESTIMATE = """
import tempfile
from pathlib import Path
from queuebench.study.cells import parse_study, resolve
study = {"seed": 0, "arrivals": 2000, "warmup": 10.0, "horizon": 3.0, "scenarios": {"one": {}}}
cell = resolve(parse_study(study))[0]
with tempfile.TemporaryDirectory() as folder:
    simulate_and_estimate(cell, range(1), [Path(folder) / name for name in ("a", "b")])
"""


@pytest.mark.parametrize("script", ["simulate", "estimate", "simulate_and_estimate", "truth"])
def test_jobs_import_nothing_heavy(script):
    text = (SCRIPTS / f"{script}.py").read_text()
    code = "\n".join(re.findall(r"^(?:import|from) .*$", text, re.MULTILINE))
    if script == "simulate_and_estimate":
        code += SIMULATE_AND_ESTIMATE
    code += f"\nimport sys\nprint('found', [name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "found []"
