"""A policy from outside the package, with parameters and randomness of its own: that of CONTRIBUTING.md."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.kernel_copy import PackageCopy

EXAMPLE = re.search(
    r"```python\n(# one_plus_beta.py\n.*?)```",
    (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(),
    re.DOTALL,
)[1]
DRAWN = """
from queuebench.queueing.policies.capacity import every_server_alone
from queuebench.queueing.policies.registry import register


def _drawn(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    return start + int(uniform * size)


register(
    "drawn", samples=lambda size: 0, capacity=every_server_alone, randomised=True
)(_drawn)
"""
STUDY = """
import json, sys, tempfile
import one_plus_beta
from pathlib import Path
from queuebench.pipeline.checks import check_cell
from queuebench.base.errors import StudyError
from queuebench.study.cells import parse_study, resolve
from queuebench.pipeline.stages.simulate import simulate_batch
from queuebench.logs.read.description import check_policies
from queuebench.logs.errors import LogError
from queuebench.trace import Trace

ones = {"policy": "power_of_d", "d": 1}
said = []
for treatment in json.loads(sys.argv[1]):
    study = {"seed": 1, "scenarios": {"one": {}}, "control": ones, "treatment": treatment,
             "arrivals": 400, "warmup": 5.0, "horizon": 1.0, "system": {"servers": 4, "loads": [0.7]}}
    cell = resolve(parse_study(study))[0]
    try:
        check_cell(cell)
    except StudyError as error:
        said.append(str(error))
        try:
            check_policies(cell.experiment, 4)
        except LogError as error:
            said.append(str(error))
        continue
    with tempfile.TemporaryDirectory() as folder:
        simulate_batch(cell, "bernoulli", range(1), Path(folder) / "t.arrow")
        (replicate,) = Trace(Path(folder) / "t.arrow")
        for control, treated in replicate.chunks("server_if_control", "server_if_treated"):
            said.append(float((control == treated).mean()))
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    copy = PackageCopy(tmp_path_factory.mktemp("copy"))
    copy.write("one_plus_beta.py", EXAMPLE)
    copy.write("drawn.py", DRAWN)
    return copy


def mixed(d, beta):
    return {"policy": "one_plus_beta", "d": d, "beta": beta}


def one_of(d):
    return {"policy": "power_of_d", "d": d}


def test_its_parameters_reach_its_rule(copy):
    def choices(*arms):
        return copy.simulate(*arms, plugins=["one_plus_beta"], compiled=False)[1:]

    for like, own in ((one_of(1), mixed(3, 0.0)), (one_of(3), mixed(3, 1.0))):
        control, treatment = choices(like, own)
        assert control == treatment
    fewer, more = (
        np.mean(np.not_equal(*choices(one_of(1), mixed(3, beta)))) for beta in (0.2, 0.8)
    )
    assert 0.0 < fewer < 0.5 * more


def test_the_compiled_kernel_is_the_interpreters(copy):
    arms, how = (one_of(2), mixed(3, 0.4)), {"plugins": ["one_plus_beta"]}
    assert copy.simulate(*arms, **how) == copy.simulate(*arms, **how, compiled=False)


def test_the_random_number_is_uniform_and_independent_of_the_permutation(copy):
    """Chi-squared of servers drawn with it, and with the first of the permutation: 3 and 9 degrees."""
    _, first, drawn = copy.simulate(
        one_of(1), {"policy": "drawn"}, plugins=["drawn"], compiled=False
    )
    n = len(drawn)
    table = np.zeros((4, 4))
    np.add.at(table, (first, drawn), 1)
    alone = table.sum(axis=0)
    expected = np.outer(table.sum(axis=1), alone) / n
    # 21.1 and 33.7 are exceeded by chance once in 10 000 seeds.
    assert ((alone - n / 4) ** 2 / (n / 4)).sum() < 21.1
    assert ((table - expected) ** 2 / expected).sum() < 33.7


def test_a_study_runs_it_and_refuses_by_name_what_it_does_not_take(copy):
    given = [
        mixed(3, 0.0), mixed(3, 1.0), mixed(2, 0.5) | {"threshold": 4}, mixed(5, 0.5), mixed(2, 1.5),
        mixed(2, "nonsense"), mixed(2, True), {"policy": "one_plus_beta", "beta": 0.5},
    ]  # fmt: skip
    done = copy.python(STUDY, json.dumps(given), compiled=False)
    assert done.returncode == 0, done.stderr
    random, shortest, *refused = json.loads(done.stdout)
    assert random == 1.0
    assert shortest < 0.9
    reasons = [
        "threshold: unknown key, one_plus_beta takes d, beta",
        "d: must be a whole number from 1 to 4 (the number of servers), got 5",
        "beta: must be a number from 0 to 1, got 1.5",
        "beta: must be a number from 0 to 1, got 'nonsense'",
        "beta: must be a number from 0 to 1, got True",
        "d: one_plus_beta needs this key",
    ]
    assert refused[::2] == [f"scenario one, load 0.7: treatment.{reason}" for reason in reasons]
    assert refused[1::2] == [f"structure.treatment.{reason}" for reason in reasons]


def test_a_rule_that_returns_no_server_ends_the_run_with_an_error(copy):
    copy.write("astray.py", DRAWN.replace("drawn", "astray").replace("int(uniform * size)", "size"))
    with pytest.raises(AssertionError, match="returned a server that does not exist"):
        copy.simulate(one_of(1), {"policy": "astray"}, plugins=["astray"])
