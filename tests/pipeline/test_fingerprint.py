"""What a rule's fingerprint follows, against what Python imports when the rule's script runs."""

import ast
import inspect
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from queuebench import study
from queuebench.estimators.common.registry import all_estimators
from queuebench.pipeline import fingerprint as module
from queuebench.pipeline.fingerprint import fingerprint, hash_of, reached
from queuebench.pipeline.jobs import external_code
from queuebench.queueing.policies import known_policies, policy
from queuebench.study import cells, settings, system, types
from queuebench.study.settings import ExternalLog

SCRIPTS = {path.stem: path for path in Path(__file__).parents[2].glob("workflow/scripts/*.py")}
CELL_SCRIPTS = {"simulate", "estimate", "simulate_and_estimate", "truth", "exact"}
NO_RESULT = {
    "queuebench",
    "queuebench.pipeline.failures",
    "queuebench.pipeline.kernels",
    "queuebench.base.progress",
}
NAMED = {"queuebench.estimators", "queuebench.queueing.policies"}
SETTINGS = {
    f"queuebench.study.{path.stem}" for path in Path(study.__file__).parent.glob("[!_]*.py")
}
"""Followed by definition."""
PARSING = SETTINGS | {"queuebench.base.errors", "queuebench.base.yaml_text"}
"""What only reads a study among it: what comes out of that is in the params."""
STUDY_ONLY = {"Study", "ExternalLog", "LossNetworkStudy", "JobClass"}
CACHES = (module._tree, module._followed, module._definitions, module._hash)

# Runs in a process of its own: the modules that each script imports, with those that functions of these
# import when they run (from the bytecode) and those that a package finds by itself. Packages whose modules
# a rule names are loaded without them.
IMPORTED = """
import ast, dis, importlib, json, sys, types
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

scripts, no_result, named = json.loads(sys.stdin.read())


class Alone(SourceFileLoader):
    def get_code(self, name):
        tree = ast.parse(Path(self.path).read_text())
        tree.body = [
            node for node in tree.body
            if not isinstance(node, ast.For) and getattr(node, "module", None) != name
        ]
        return compile(tree, self.path, "exec")


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in named:
            spec = PathFinder.find_spec(name, path)
            spec.loader = Alone(name, spec.origin)
            return spec


sys.meta_path.insert(0, Finder())


def lazy(code):
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and step.argval.startswith("queuebench"):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from lazy(constant)


def ours():
    return {name for name in sys.modules if name.split(".")[0] == "queuebench"}


found = {}
for script, path in scripts.items():
    for name in ours():
        del sys.modules[name]
    tree = ast.parse(Path(path).read_text())
    tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    exec(compile(tree, path, "exec"), {})
    if "queuebench.loss_network.policies" in sys.modules:
        sys.modules["queuebench.loss_network.policies"].policies()
    done = set(no_result)
    while waiting := ours() - done:
        for name in waiting:
            done.add(name)
            if name not in named and (file := sys.modules[name].__file__):
                for wanted in lazy(compile(Path(file).read_text(), file, "exec")):
                    if wanted not in no_result:
                        importlib.import_module(wanted)
    found[script] = sorted(ours())
print(json.dumps(found))
"""


@cache
def imported():
    scripts = {name: str(path) for name, path in SCRIPTS.items()}
    given = json.dumps([scripts, sorted(NO_RESULT), sorted(NAMED)])
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: set(modules) for name, modules in json.loads(done.stdout).items()}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in place of this one; returns a function that writes it and its script."""

    def write(**sources):
        folder = tmp_path / "queuebench"
        (folder / "study").mkdir(parents=True, exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name.replace('__', '/', 1)}.py").write_text(source)
        forget()
        return tmp_path / "queuebench/script.py"

    monkeypatch.setattr(module, "_SOURCE", tmp_path)
    write(
        kernel="def f():\n    return 1\n",
        job="from queuebench.kernel import f\n\ndef g():\n    return f()\n",
        other="X = 1\n",
        script="def main():\n    from queuebench.job import g\n    g()\n",
        study____init__="",
        study__cells="",
    )
    yield write
    forget()


def forget():
    for cached in CACHES:
        cached.cache_clear()


def test_it_follows_imports_within_functions_too(package):
    before = fingerprint(package())
    assert fingerprint(package(kernel="def f():\n    return 2\n")) != before


def test_comments_docstrings_and_unrelated_modules_do_not_count(package):
    before = fingerprint(package())
    kernel = '"""Says something."""\n\n\ndef f():\n    """Return one."""\n    return 1  # one\n'
    assert fingerprint(package(kernel=kernel, other="X = 2\n")) == before


def test_of_the_settings_what_runs_counts(package):
    settings = """
Share = Annotated[float, Field(gt=0)]

class System:
    servers: int = Field(1)
    {validator}

    def load(self):
        return helper({load})

class Cell:
    system: System
    share: Share

def helper(x):
    return x{helper}

def parse(x):
    return x{parse}
"""
    alike = {"validator": "", "load": "1", "helper": "", "parse": ""}
    script = "from queuebench.study.cells import Cell\n"

    def found(**changed):
        return fingerprint(package(script=script, study__cells=settings.format(**alike | changed)))

    before = found()
    assert found(load="2") != before
    assert found(helper=" + 1") != before
    assert found(parse=" + 1") == before
    check = "@model_validator()\n    def check(self):\n        return helper(self)"
    assert found(validator=check) == before


def test_an_unknown_module_is_an_error(package):
    with pytest.raises(FileNotFoundError):
        fingerprint(package(), "queuebench.absent")
    with pytest.raises(FileNotFoundError, match="no Absent"):
        fingerprint(package(script="from queuebench.study.cells import Absent\n"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_rule_follows_what_its_script_imports_and_nothing_else(script):
    followed = {name for name in reached(SCRIPTS[script]) if ":" not in name}
    expected = imported()[script] - NO_RESULT - NAMED - SETTINGS
    assert followed <= expected
    assert expected - followed <= PARSING


@pytest.mark.parametrize("script", SCRIPTS)
def test_an_edit_of_any_module_it_follows_changes_the_fingerprint(script, monkeypatch):
    names = reached(SCRIPTS[script])
    before, whole = fingerprint(SCRIPTS[script]), module._hash
    for edited in [*names, "queuebench.cli"]:
        monkeypatch.setattr(
            module, "_hash", lambda name, edited=edited: whole(name) + "x" * (name == edited)
        )
        assert (fingerprint(SCRIPTS[script]) != before) == (edited in names), edited


def test_an_edit_of_any_function_changes_its_modules_hash():
    modules = {name for names in imported().values() for name in names}
    modules |= {entry.function.__module__ for entry in all_estimators()}
    modules |= {policy(name).module for name in known_policies()}
    functions = 0
    for name in modules - NO_RESULT - NAMED - SETTINGS:
        tree = ast.parse(
            Path(
                sys.modules[name].__file__ if name in sys.modules else module._path(name)
            ).read_text()
        )
        before = hash_of(tree)
        assert before == module._hash(name)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                node.body.append(ast.Expr(ast.Constant(0)))
                assert hash_of(tree) != before, f"{name}.{node.name}"
                node.body.pop()
                functions += 1
    assert functions > 500


def methods_of_the_settings():
    """Return what the models and the cell do after they are checked, as class and function names."""
    found = []
    kinds = {**vars(types), **vars(system), **vars(settings), **vars(cells)}
    for name, kind in kinds.items():
        ours = inspect.isclass(kind) and kind.__module__ in SETTINGS
        if ours and name not in STUDY_ONLY:
            decorators = getattr(kind, "__pydantic_decorators__", None)
            checks = (
                {*decorators.model_validators, *decorators.field_validators}
                if decorators
                else set()
            )
            own = {
                key for key, value in vars(kind).items()
                if isinstance(value, property | classmethod) or inspect.isfunction(value)
            }  # fmt: skip
            text = inspect.getsource(kind)
            found += [
                (name, key) for key in sorted(own - checks) if re.search(rf"def {key}\(", text)
            ]
    return found


@pytest.mark.parametrize(("kind", "function"), methods_of_the_settings())
def test_an_edit_of_what_a_cell_computes_reruns_every_job_of_a_cell(kind, function, monkeypatch):
    before = {name: fingerprint(path) for name, path in SCRIPTS.items()}
    home = next(m for m in (types, system, settings, cells) if hasattr(m, kind))
    home = sys.modules[getattr(home, kind).__module__]
    tree = ast.parse(Path(home.__file__).read_text())
    (owner,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == kind)
    (method,) = (n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == function)
    method.body.append(ast.Expr(ast.Constant(0)))
    whole_tree, whole_hash = module._tree, module._hash
    module._definitions.cache_clear()
    monkeypatch.setattr(
        module, "_tree", lambda name: tree if name == home.__name__ else whole_tree(name)
    )
    monkeypatch.setattr(
        module, "_hash", lambda name: (whole_hash.__wrapped__ if ":" in name else whole_hash)(name)
    )
    changed = {name for name, path in SCRIPTS.items() if fingerprint(path) != before[name]}
    module._definitions.cache_clear()
    assert changed >= CELL_SCRIPTS
    assert changed <= CELL_SCRIPTS | ({"external"} if kind == "Policy" else set())


def test_registered_modules_are_followed_only_where_they_are_named():
    plain = reached(SCRIPTS["simulate_and_estimate"])
    for entry in (policy("power_of_d").module, "queuebench.estimators.switchback"):
        assert entry not in plain
        assert entry in reached(SCRIPTS["simulate_and_estimate"], entry)
    assert "queuebench.queueing.dispatch" not in reached(SCRIPTS["exact"])
    assert "queuebench.queueing.dispatch" in reached(
        SCRIPTS["estimate"], "queuebench.estimators.replay"
    )


def test_the_external_rule_follows_the_policies_its_log_names(tmp_path, monkeypatch):
    description = tmp_path / "log.yaml"
    log = ExternalLog(log="log.csv", config=str(description))
    whole = module._hash

    def found(*edited):
        monkeypatch.setattr(module, "_hash", lambda name: whole(name) + "x" * (name in edited))
        return external_code(log, SCRIPTS["external"])

    robin, choices = policy("round_robin").module, policy("power_of_d").module
    for text in ("control: [", "structure: 3", "structure: {control: {policy: nobody}}", "{}"):
        description.write_text(text)
        assert found() == found(robin, choices)
    description.write_text(
        "structure: {control: {policy: round_robin}, treatment: {policy: join_idle_queue}}"
    )
    assert found() != found(robin)
    assert found() == found(choices)
    assert found() != found(all_estimators()[0].function.__module__)
