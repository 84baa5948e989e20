"""The package's rooms: what a stranger finds at a glance, and which room may know which."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src/queuebench"
FLOORS = [
    {"base"},
    {"study"},
    {"queueing", "loss_network", "trace"},
    {"estimators"},
    {"results"},
    {"logs"},
    {"pipeline.stages"},
    {"pipeline"},
    {"cli"},
    {"__main__"},
]
"""A room knows its own floor and those before it."""
MOST_AT_THE_TOP, MOST_IN_A_ROOM = 10, 20
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(dotted):
    parts = dotted.split(".")[1:]
    return ".".join(parts[:2] if parts[:2] == ["pipeline", "stages"] else parts[:1])


def floor_of(dotted):
    (floor,) = (number for number, rooms in enumerate(FLOORS) if room_of(dotted) in rooms)
    return floor


def dotted(path):
    return ".".join(("queuebench", *path.relative_to(PACKAGE).with_suffix("").parts))


def imports(path):
    """Return the modules of the package that a module imports, within functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports by the package's name are easier to follow"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    known = {dotted(module).removesuffix(".__init__") for module in MODULES}
    return {name for name in found & known if name != "queuebench"}


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_arrow_goes_upward(path):
    own = dotted(path)
    if own == "queuebench.__init__":
        assert imports(path) == set()
        return
    upward = {name for name in imports(path) if floor_of(name) > floor_of(own)}
    assert upward == set()


def test_a_stranger_sees_few_things_at_a_glance():
    shown = [path for path in PACKAGE.iterdir() if not path.name.startswith("__")]
    assert len(shown) <= MOST_AT_THE_TOP
    assert {path.name for path in shown if path.is_file()} == {"cli.py", "trace.py"}
    for folder in {path.parent for path in MODULES}:
        inside = [path for path in folder.iterdir() if not path.name.startswith("__")]
        assert len(inside) <= MOST_IN_A_ROOM, folder
