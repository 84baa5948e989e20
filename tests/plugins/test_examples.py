"""The examples of CONTRIBUTING.md in one study, and how plug-ins are found and refused."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.workflow_copy import TINY, Workflow, succeed

ROOT = Path(__file__).parents[2]
EXAMPLES = dict(
    re.findall(r"```python\n# (\S+)\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)
)
STUDY = TINY | {
    "plugins": [name for name in EXAMPLES if name != "one_plus_beta.py"],
    "designs": {"bernoulli": {"kind": "bernoulli"}},
    "estimators": ["naive", "wdq", "median_difference"],
    "arrival_process": {"kind": "erlang_gaps", "stages": 4},
    "service": {"distribution": "uniform", "spread": 0.5},
}
DRAWN = """
import json, sys
import numpy as np
from queuebench.pipeline.stages.build import build_system
from queuebench.queueing.service import draw_requirements
from queuebench.study.cells import Cell, load_study, resolve
from queuebench.study.families import families

(cell,) = resolve(load_study(sys.argv[1]))
assert Cell.from_dict(cell.to_dict()).to_dict() == cell.to_dict()
system, rng = build_system(cell), np.random.default_rng(5)
times, sizes = np.empty(40_000), np.empty(40_000)
process = system.arrivals(rng, -10.0)
process.fill(times[:7])
process.fill(times[7:])
draw_requirements(rng, system.distribution, system.service_parameters, sizes)
gaps = np.diff(times, prepend=-10.0) * cell.rate
print(json.dumps([families(cell), gaps.mean(), gaps.var(), sizes.mean(), sizes.var()]))
"""


@pytest.fixture
def folder(tmp_path):
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def python(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def check(folder, *plugins, **environment):
    """Return what a check of a study with some plug-ins says."""
    study = {"seed": 1, "scenarios": {"one": {}}, "plugins": list(plugins)}
    (folder / "checked.yaml").write_text(yaml.safe_dump(study))
    return python(
        folder, "-m", "queuebench", "check", "--configfile", "checked.yaml", **environment
    )


def test_laws_processes_and_families_are_what_they_say(folder):
    """Gaps of Erlang-4 have variance 1/4, the uniform law a twelfth; five standard errors."""
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
    done = succeed(python(folder, "-c", DRAWN, "study.yaml"))
    found, gap, gap_variance, size, size_variance = json.loads(done.stdout)
    assert found == ["small"]
    n = 40_000
    assert gap == pytest.approx(1.0, abs=5 * 0.5 / n**0.5)
    assert gap_variance == pytest.approx(0.25, rel=5 * (3.5 / n) ** 0.5)
    assert size == pytest.approx(1.0, abs=5 * (1 / 12 / n) ** 0.5)
    assert size_variance == pytest.approx(1 / 12, rel=5 * (0.8 / n) ** 0.5)


@pytest.mark.workflow
def test_they_run_as_a_module_with_a_table_and_a_figure(folder):
    lines = [
        'configfile: "study.yaml"', "module queuebench:",
        f'    snakefile: "{ROOT / "workflow/Snakefile"}"', "    config: config",
        "use rule * from queuebench",
    ]  # fmt: skip
    (folder / "Snakefile").write_text("\n".join(lines))
    (folder / "study.yaml").write_text(yaml.safe_dump(STUDY))
    user = object.__new__(Workflow)
    user.folder, user.environment = folder, {"PYTHONDONTWRITEBYTECODE": ""}
    wanted = ["results/tables/mean_estimates.csv", "results/figures/means-plain.png"]
    assert {"mean_estimates", "means", "violins"} <= user.planned()
    succeed(user.run(*wanted, cores=2))
    table = pd.read_csv(folder / wanted[0]).set_index("estimator")["estimate"]
    rows = pd.read_parquet(folder / "results/estimates.parquet")
    expected = rows.groupby("estimator")["estimate"].mean()
    assert set(table.index) == set(STUDY["estimators"])
    assert np.allclose(table, expected[table.index])
    assert (folder / wanted[1]).stat().st_size > 0
    truth = pd.read_parquet(folder / "results/truth.parquet").iloc[0]
    # Little's law holds in the time average of a stream that is not Poisson.
    assert abs(truth["gte"] - truth["gte_queue"]) < 5 * truth["little_se"]
    assert user.planned(*wanted) == set()


def test_what_is_no_plug_in_is_refused_in_one_sentence(folder):
    (folder / "deeper").mkdir()
    (folder / "deeper/json.py").write_text("")
    (folder / "broken.py").write_text("import queuebench\n1 / 0\n")
    (folder / "two-words.py").write_text("")
    (folder / "taken.py").write_text(
        EXAMPLES["median_difference.py"].replace('"median_difference"', '"naive"')
    )
    expected = {
        "absent.py": "plugins: there is no file absent.py (looked for in ",
        "absent.module": "plugins: absent.module cannot be imported: ModuleNotFoundError: No module",
        "broken.py": "plugins: broken.py cannot be imported: ZeroDivisionError: division by zero",
        "deeper/json.py": "plugins: deeper/json.py has the name of ",
        "two-words.py": "plugins: two-words.py: a plug-in's name must be a word of Python",
        "taken.py": "ValueError: an estimator named naive is registered already",
    }
    code = (
        "import sys\nfrom queuebench.cli import main\n"
        "print(*[main(['check', plugin]) for plugin in sys.argv[1:]])"
    )
    done = succeed(python(folder, "-c", code, *expected))
    assert done.stdout.split() == ["2"] * len(expected)
    for line, said in zip(done.stderr.splitlines(), expected.values(), strict=True):
        assert said in line


def test_installed_plug_ins_are_found_by_their_entry_point(folder):
    installed = folder / "installed"
    about = installed / "rivals-1.0.dist-info"
    about.mkdir(parents=True)
    (installed / "rivals_inside.py").write_text(EXAMPLES["median_difference.py"])
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: rivals\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[queuebench.plugins]\nrivals = rivals_inside\n")
    paths = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    code = (
        "from queuebench.study.plugins import load_installed, loaded_plugins\n"
        "from queuebench.estimators import known_estimators\n"
        "load_installed()\nprint(loaded_plugins(), 'median_difference' in known_estimators())"
    )
    done = succeed(python(folder, "-c", code, PYTHONPATH=paths))
    assert done.stdout.strip() == "['rivals_inside'] True"


def test_a_check_loads_nothing_that_the_study_does_not_name(folder):
    (folder / "loud.py").write_text("print('loud')\n")
    assert "loud" not in check(folder, "median_difference.py").stdout
    assert "loud" in check(folder, "loud.py").stdout


@pytest.mark.parametrize("kind", ["estimator", "policy"])
def test_a_new_plug_in_passes_its_test_and_overwrites_nothing(tmp_path, kind):
    new = ["-m", "queuebench", "new", kind, "mine", "--folder", "rivals"]
    succeed(python(tmp_path, *new))
    text = (tmp_path / "rivals/mine.py").read_text()
    assert len(text.splitlines()) <= 40
    assert "passed" in succeed(python(tmp_path, "-m", "pytest", "-q", "rivals")).stdout
    again = python(tmp_path, *new)
    assert again.returncode == 2
    assert again.stderr == "queuebench: new: rivals/mine.py is there already\n"


@pytest.mark.parametrize(
    "kind", ["estimator", pytest.param("policy", marks=pytest.mark.slow(seconds=60))]
)
def test_a_new_plug_in_keeps_the_contract(tmp_path, kind):
    succeed(python(tmp_path, "-m", "queuebench", "new", kind, "mine"))
    checked = succeed(python(tmp_path, "-m", "queuebench", "check", "mine.py"))
    assert checked.stdout.splitlines()[0] == "mine: no findings"
