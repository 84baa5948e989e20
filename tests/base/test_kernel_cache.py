"""No compiled kernel outlives the code it was compiled from, and none is compiled for nothing.

What a run says is compared with what the interpreter says of the same sources, which keeps nothing, and once
with a cold cache.
"""

import inspect
import pkgutil
import subprocess
import sys

import pytest

import queuebench
from queuebench.base import jit
from tests.kernel_copy import PackageCopy

TWO, THREE = ({"policy": "power_of_d", "d": d} for d in (2, 3))
HELPER = """
from queuebench.base.jit import inlined


@inlined
def is_shorter(one, other):
    return one < other
"""
FIRST_BY_NAME = """
from queuebench.queueing.policies.capacity import every_server_alone
from queuebench.queueing.policies.registry import register
from plug_in_part import place


def _sampled(permutation, start, size, parameters, seen, speeds, turn, pool, uniform):
    return permutation[start + place(size)]


register("a_last_sampled", samples=lambda size: size, capacity=every_server_alone)(_sampled)
"""
PART = """
from queuebench.base.jit import inlined


@inlined
def place(size):
    return size - 1
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy in which a policy uses a helper from another module."""
    copy = PackageCopy(tmp_path_factory.mktemp("copy"))
    copy.write("queueing/comparison.py", HELPER)
    policy = "queueing/policies/power_of_d.py"
    copy.edit(
        policy,
        "\nfrom queuebench",
        "\nfrom queuebench.queueing.comparison import is_shorter\nfrom queuebench",
    )
    copy.edit(policy, "seen[candidate] < shortest", "is_shorter(seen[candidate], shortest)")
    return copy


def test_an_edited_policy_or_helper_is_what_runs(copy):
    found = [copy.simulate(TWO, THREE)]
    before = copy.compiled()
    copy.edit("results/figures/violins.py", "    return ", "    0\n    return ")
    assert copy.simulate(TWO, THREE) == found[0]
    assert copy.compiled() == before, "a figure is no reason to compile"
    for module, old, new in (
        (
            "queueing/policies/power_of_d.py",
            "best = candidate if",
            "best = best if seen[best] else candidate if",
        ),
        ("queueing/comparison.py", "one < other", "one > other"),
    ):
        copy.edit(module, old, new)
        found.append(copy.simulate(TWO, THREE))
        assert found[-1] == copy.simulate(TWO, THREE, compiled=False)
    assert len({mean for mean, *_ in found}) == 3
    assert found[-1] == copy.simulate(TWO, THREE, cache="cold")


def test_a_policy_registered_first_from_elsewhere_shifts_nobody(copy):
    copy.write("plug_in.py", FIRST_BY_NAME)
    copy.write("plug_in_part.py", PART)
    own = {"policy": "a_last_sampled"}
    alone = copy.simulate(TWO, own, plugins=["plug_in"], compiled=False)
    assert copy.simulate(TWO, own, plugins=["plug_in"]) == alone
    before = copy.compiled()
    shipped = copy.simulate(TWO, THREE)
    assert copy.simulate(TWO, THREE, plugins=["plug_in"]) == shipped
    assert copy.simulate(TWO, own, plugins=["plug_in"]) == alone
    assert copy.compiled() <= before + 1, "each set of policies has a kernel of its own"
    copy.edit("plug_in_part.py", "size - 1", "size - 2")
    edited = copy.simulate(TWO, own, plugins=["plug_in"])
    assert edited != alone
    assert edited == copy.simulate(TWO, own, plugins=["plug_in"], compiled=False)


def test_a_policy_that_comes_too_late_is_refused(copy):
    copy.write("plug_in.py", FIRST_BY_NAME)
    copy.write("plug_in_part.py", PART)
    run = "from queuebench.queueing.policies.registry import code\ncode('power_of_d')\n"
    late = copy.python(f"{run}import plug_in")
    assert "comes too late" in late.stderr
    assert "import plug_in before the first" in late.stderr
    in_time = copy.python(f"import queuebench.queueing.dispatch\nimport plug_in\n{run}")
    assert in_time.returncode == 0, in_time.stderr


def test_whatever_a_kernel_calls_is_hashed():
    """Follow every compiled function's globals and closures, as the compiler does."""
    code = inspect.getsource(_called) + "\nprint(*sorted(_called()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    called = set(done.stdout.split())
    assert {"queuebench.queueing.dispatch", "queuebench.queueing.policies.power_of_d"} <= called
    assert called <= set(jit._reachable())


def test_a_module_no_kernel_reaches_is_not_hashed():
    reached = set(jit._reachable())
    names = {m.name for m in pkgutil.walk_packages(queuebench.__path__, "queuebench.")}
    assert reached - {"queuebench"} <= names
    for module in (
        "results.figures.violins",
        "results.tables.mse",
        "results.claims.verdicts",
        "study.cells",
        "cli",
        "logs.plan",
    ):
        assert f"queuebench.{module}" in names - reached


def _called():
    import importlib
    import pkgutil
    import sys

    from numba.core.dispatcher import Dispatcher

    import queuebench

    for module in pkgutil.walk_packages(queuebench.__path__, "queuebench."):
        importlib.import_module(module.name)
    from queuebench.queueing import dispatch

    # Declared by the first run.
    ahead = [dispatch._declared()] + [
        value
        for name, module in list(sys.modules.items())
        if name.startswith("queuebench")
        for value in vars(module).values()
        if isinstance(value, Dispatcher)
    ]
    seen, modules = set(), set()
    while ahead:
        function = getattr(ahead.pop(), "py_func", None)
        if function is None or function in seen or not function.__module__.startswith("queuebench"):
            continue
        seen.add(function)
        modules.add(function.__module__)
        names = function.__code__.co_names
        ahead += [function.__globals__[name] for name in names if name in function.__globals__]
        ahead += [cell.cell_contents for cell in function.__closure__ or ()]
    return modules
