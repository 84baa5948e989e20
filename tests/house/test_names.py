"""Estimators and policies are called by name in their own modules only; elsewhere their attributes speak.

So one from outside stands in every table and figure by being registered.
"""

import ast
from functools import cache

import pytest

from queuebench.estimators import all_estimators
from queuebench.queueing.policies import known_policies, policy
from tests.house.rooms import MODULES, dotted

HOMES = {entry.name: entry.function.__module__ for entry in all_estimators()}
HOMES |= {name: policy(name).module for name in known_policies()}
ELSEWHERE = {
    # Kinds of design.
    ("group", "queuebench.study.system"),
    ("switchback", "queuebench.study.system"),
    ("group", "queuebench.queueing.designs"),
    ("switchback", "queuebench.queueing.designs"),
    ("group", "queuebench.estimators.common.setting"),
    ("switchback", "queuebench.estimators.switchback_corrected"),
    ("group", "queuebench.pipeline.checks"),
    ("switchback", "queuebench.pipeline.checks"),
    ("group", "queuebench.pipeline.stages.simulate"),
    ("switchback", "queuebench.pipeline.stages.simulate"),
    ("group", "queuebench.pipeline.kernels"),
    ("switchback", "queuebench.pipeline.kernels"),
    ("group", "queuebench.logs.read.description"),
    ("switchback", "queuebench.logs.read.description"),
    ("switchback", "queuebench.logs.record.normalise"),
    ("group", "queuebench.logs.analysis"),
    # Kind of a scenario whose workload is recorded, and its family.
    ("replay", "queuebench.study.cells"),
    ("replay", "queuebench.study.families"),
    # An answer of the exact oracle.
    ("naive", "queuebench.pipeline.stages.exact"),
    ("naive", "queuebench.results.tables.bias_decomposition"),
    # The small system of the contract.
    ("group", "queuebench.pipeline.contract"),
    ("switchback", "queuebench.pipeline.contract"),
    ("naive", "queuebench.pipeline.contract"),
    ("power_of_d", "queuebench.pipeline.contract"),
    # What a study has where it says nothing, and the study that compiles all kernels.
    ("power_of_d", "queuebench.study.settings"),
    ("power_of_d", "queuebench.pipeline.kernels"),
}
"""Where a name is another thing's too, by word and module."""


@cache
def called():
    """Return every name that a module other than its own calls, with that module."""
    return {
        (node.value, dotted(path))
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if HOMES.get(node.value) not in (None, dotted(path))
    }


@pytest.mark.parametrize("name", sorted(HOMES))
def test_a_name_is_written_at_home_only(name):
    found = {module for called_name, module in called() if called_name == name}
    assert found == {module for known, module in ELSEWHERE if known == name}
