"""Conda's environment and the container hold the versions of requirements.lock."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def conda_pins():
    """Return the versions in the environment for conda, Python's among them."""
    environment = yaml.safe_load((ROOT / "envs/environment.yaml").read_text())
    return dict(pin.split("=") for pin in environment["dependencies"])


def locked(python):
    """Return the versions in the lock that apply to Linux and a version of Python."""
    where = {"python_version": python, "python_full_version": f"{python}.0"} | {
        "sys_platform": "linux", "platform_system": "Linux", "os_name": "posix",
    }  # fmt: skip
    lines = re.findall(r"^([a-z].*?)(?: \\)?$", (ROOT / "requirements.lock").read_text(), re.M)
    requirements = map(Requirement, lines)
    return {
        canonicalize_name(entry.name): str(entry.specifier).removeprefix("==")
        for entry in requirements
        if entry.marker is None or entry.marker.evaluate(where)
    }


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_lock_names_exact_versions():
    versions = locked("3.11")
    assert versions["snakemake"].count(".") == 2
    assert all(re.fullmatch(r"[\w.]+", version) for version in versions.values())


@pytest.mark.parametrize("python", ["3.11", "3.12"])
def test_the_lock_satisfies_the_project(python):
    versions = locked(python)
    extras = dict(project()["optional-dependencies"])
    del extras["peers"]  # rivals in speed, installed beside the environment and not into it
    needed = [*project()["dependencies"], *(r for extra in extras.values() for r in extra)]
    for wanted in map(Requirement, needed):
        assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


def test_conda_has_the_versions_of_the_lock():
    pins = conda_pins()
    versions = locked(pins.pop("python"))
    assert pins == {name: versions[name] for name in pins}


def test_conda_has_everything_the_package_needs():
    needed = {canonicalize_name(Requirement(entry).name) for entry in project()["dependencies"]}
    assert needed <= conda_pins().keys()


def test_the_container_installs_the_lock_on_the_same_python():
    text = (ROOT / "envs/Containerfile").read_text()
    python = conda_pins()["python"]
    assert f"/python:{python}-slim" in text
    assert python in SpecifierSet(project()["requires-python"])
    installs = re.findall(r"pip install (.*?)(?: \\)?$", text, re.M)
    assert installs == [
        "--no-cache-dir --require-hashes -r requirements.lock",
        "--no-cache-dir --no-deps --no-build-isolation .",
    ]
