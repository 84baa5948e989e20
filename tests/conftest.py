import pytest

from queuebench.config import parse_study, resolve


@pytest.fixture
def make_cell():
    """Return a function that builds one cell from keys of a study."""

    def make(load=0.7, **keys):
        keys.setdefault("system", {})["loads"] = [load]
        study = parse_study({"seed": 1, "scenarios": {"tested": {}}, **keys})
        return resolve(study)[0]

    return make
