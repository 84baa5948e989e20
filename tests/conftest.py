import os
from dataclasses import replace

# As in the workflow's jobs, and before NumPy is imported: every worker has one processor.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

import pytest  # noqa: E402

from queuebench.study.cells import parse_study, resolve  # noqa: E402
from tests import snakemake_fork  # noqa: E402


def pytest_sessionfinish():
    """Leave no process behind."""
    snakemake_fork.end()


def pytest_collection_modifyitems(items):
    """Begin with the files that take longest, as workers take whole files and the last one is waited for."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)


@pytest.fixture
def make_cell():
    """Return a function that builds one cell from keys of a study.

    Records may be shorter, and arms rarer, than a study may ask for: estimators must bear them.
    """

    def make(load=0.7, **keys):
        system = {**keys.pop("system", {}), "loads": [load]}
        beyond = {key: system.pop(key) for key in ("treated_share",) if key in system}
        arrivals = keys.pop("arrivals", None)
        study = parse_study({"seed": 1, "scenarios": {"tested": {}}, **keys, "system": system})
        cell = resolve(study)[0]
        changed = {"system": cell.experiment.system.model_copy(update=beyond)}
        if arrivals is not None:
            changed["arrivals"] = arrivals
        return replace(cell, experiment=cell.experiment.model_copy(update=changed))

    return make
