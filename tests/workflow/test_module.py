"""The workflow as a module of another: from a folder, and from a git host."""

import subprocess

import pytest
import yaml

from tests.workflow_copy import INEXACT, TINY, Workflow, succeed

HOST = "https://github.com/somebody/"
SNAKEFILE = """
configfile: "study.yaml"


module queuebench:
    snakefile:
        {snakefile}
    config:
        config{key}


use rule * from queuebench{names}
"""

pytestmark = pytest.mark.workflow


class User(Workflow):
    """A folder of somebody's own, with a Snakefile that uses the workflow."""

    def __init__(self, folder, snakefile, study=TINY, key="", names=""):
        folder.mkdir()
        self.folder = folder
        self.environment = {"PYTHONDONTWRITEBYTECODE": ""}
        (folder / "Snakefile").write_text(
            SNAKEFILE.format(snakefile=snakefile, key=key, names=names)
        )
        (folder / "study.yaml").write_text(yaml.safe_dump(study))


def files(folder):
    return {path for path in folder.rglob("*") if ".snakemake" not in path.parts}


def test_results_land_in_the_folder_of_the_user(workflow, tmp_path_factory):
    before = files(workflow.folder)
    own = tmp_path_factory.mktemp("user") / "own"
    shim = workflow.folder / "workflow/Snakefile"
    user = User(own, f'"{shim}"', {"bench": {**TINY, **INEXACT}}, '["bench"]', " as bench_*")
    succeed(user.run("results/estimates.parquet"))
    assert (own / "results/estimates.parquet").exists()
    assert files(workflow.folder) == before

    workflow.write_study(**INEXACT)
    succeed(workflow.run("results/estimates.parquet"))
    assert user.results()["estimates.parquet"] == workflow.results()["estimates.parquet"]


def test_the_default_target_is_the_whole_study(workflow, tmp_path_factory):
    user = User(
        tmp_path_factory.mktemp("user") / "own", f'"{workflow.folder / "workflow/Snakefile"}"'
    )
    workflow.write_study()
    alone = workflow.planned()
    assert "violins" in alone
    assert user.planned() == alone | {"study"}
    assert workflow.planned("--snakefile", "workflow/Snakefile") == alone | {"study"}


def test_a_git_host_can_serve_it(workflow, tmp_path_factory):
    repository = tmp_path_factory.mktemp("host") / "queuebench"
    workflow.folder.rename(repository)
    for command in ("init --initial-branch main", "add --all", "commit --message all"):
        git = ["git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
        subprocess.run([*git, *command.split()], cwd=repository, check=True, capture_output=True)
    folder = tmp_path_factory.mktemp("user")
    address = 'github("somebody/queuebench", path="workflow/Snakefile", branch="main")'
    user = User(folder / "own", address)
    # git fetches from the folder whatever is asked of the host.
    user.environment |= {
        "XDG_CACHE_HOME": str(folder / "cache"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{repository.parent}/.insteadOf",
        "GIT_CONFIG_VALUE_0": HOST,
    }
    assert {"violins", "truth cell=plain-load0.6", "study"} <= user.planned()
