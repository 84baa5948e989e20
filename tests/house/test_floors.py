"""The package's rooms: what a stranger finds at a glance, and which room may know which."""

import pytest

from tests.house.rooms import MODULES, PACKAGE, dotted, floor_of, imports, room_of

MOST_AT_THE_TOP, MOST_IN_A_ROOM = 10, 20


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_no_arrow_goes_upward(path):
    floor = floor_of(room_of(dotted(path)))
    assert {name for name in imports(path) if floor_of(room_of(name)) > floor} == set()


def test_a_stranger_sees_few_things_at_a_glance():
    # Git leaves a folder that has moved where compiled code lies in it.
    shown = [
        path
        for path in PACKAGE.iterdir()
        if not path.name.startswith("__") and (path.is_file() or [*path.glob("*.py")])
    ]
    assert len(shown) <= MOST_AT_THE_TOP
    assert {path.name for path in shown if path.is_file()} == {"cli.py", "trace.py"}
    for folder in {path.parent for path in MODULES}:
        inside = [path for path in folder.iterdir() if not path.name.startswith("__")]
        assert len(inside) <= MOST_IN_A_ROOM, folder
