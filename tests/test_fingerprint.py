import pytest

from queuebench import fingerprint as module
from queuebench.fingerprint import fingerprint


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package in place of this one."""

    def write(**sources):
        folder = tmp_path / "queuebench"
        folder.mkdir(exist_ok=True)
        for name, source in sources.items():
            (folder / f"{name}.py").write_text(source)
        for cached in (module._tree, module._imports, module._hash):
            cached.cache_clear()

    monkeypatch.setattr(module, "_SOURCE", tmp_path)
    write(
        kernel="def f():\n    return 1\n",
        job="from queuebench.kernel import f\n\ndef g():\n    return f()\n",
        other="X = 1\n",
    )
    yield write
    for cached in (module._tree, module._imports, module._hash):
        cached.cache_clear()


def test_it_follows_imports(package):
    before = fingerprint("queuebench.job")
    package(kernel="def f():\n    return 2\n")
    assert fingerprint("queuebench.job") != before


def test_comments_docstrings_and_unrelated_modules_do_not_count(package):
    before = fingerprint("queuebench.job")
    package(
        kernel='"""Says something."""\n\n\ndef f():\n    """Return one."""\n    return 1  # one\n'
    )
    package(other="X = 2\n")
    assert fingerprint("queuebench.job") == before


def test_the_pipelines_stages_depend_on_what_they_run():
    reached = module._closure(["queuebench.estimation"])
    assert "queuebench.trace" in reached
    assert "queuebench.estimators.windows" in reached
    assert "queuebench.estimators.switchback" not in reached  # the rule names it where it is used
    assert "queuebench.queueing.dispatch" not in reached
    assert "queuebench.queueing.dispatch" in module._closure(["queuebench.experiment"])
    assert "queuebench.queueing.policies.power_of_d" not in module._closure(
        ["queuebench.experiment"]
    )


def test_an_unknown_module_is_an_error(package):
    with pytest.raises(FileNotFoundError):
        fingerprint("queuebench.absent")
