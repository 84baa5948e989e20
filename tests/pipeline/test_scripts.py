import importlib.util
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "workflow/scripts").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_hides_no_module(script):
    """Scripts run with their folder first on the path: one named like a library replaces it.

    (``coverage.py`` once did so to the library that numba looks for.)
    """
    assert importlib.util.find_spec(script.stem) is None


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_short(script):
    assert len(script.read_text().splitlines()) <= 30
