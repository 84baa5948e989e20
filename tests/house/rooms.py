"""The rooms of the package, as its imports draw them."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/queuebench"
FLOORS = [
    ["base"],
    ["study"],
    ["queueing", "loss_network", "trace"],
    ["estimators"],
    ["results"],
    ["logs"],
    ["pipeline.stages"],
    ["pipeline"],
    ["cli"],
]
"""From the ground up: a room knows its own floor and those below."""
MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.stem[0] != "_"
)


def dotted(path):
    """Return the name by which a module is imported."""
    return ".".join(("queuebench", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    )


def room_of(name):
    """Return the room of a module."""
    parts = name.split(".")[1:]
    return ".".join(parts[:2] if parts[:2] == ["pipeline", "stages"] else parts[:1])


def floor_of(room):
    """Return the number of a room's floor, from 0."""
    (floor,) = (number for number, rooms in enumerate(FLOORS) if room in rooms)
    return floor


def imports(path):
    """Return the modules of the package that a module imports, within functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports by the package's name are easier to follow"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found & {dotted(module) for module in MODULES}


def arrows():
    """Return which room knows which other room."""
    return {
        (room_of(dotted(path)), room_of(name))
        for path in MODULES
        for name in imports(path)
        if room_of(dotted(path)) != room_of(name)
    }


def picture():
    """Return the rooms as a Mermaid diagram; of the arrows those that no detour through others implies."""
    drawn = arrows()
    implied = {
        (one, other)
        for one, other in drawn
        for detour in {target for source, target in drawn if source == one} - {other}
        if other in _below(detour, drawn)
    }
    lines = ["flowchart TB"]
    for number, rooms in reversed(list(enumerate(FLOORS))):
        lines += [f"  subgraph floor{number}[ ]", "    direction LR"]
        lines += [f"    {room.replace('.', '_')}[{room.replace('.', '/')}]" for room in rooms]
        lines += ["  end"]
    lines += [
        f"  {one.replace('.', '_')} --> {other.replace('.', '_')}"
        for one, other in sorted(drawn - implied)
    ]
    return "\n".join(lines)


def _below(room, drawn):
    found, ahead = set(), [room]
    while ahead:
        steps = {target for source, target in drawn if source == ahead[-1]} - found
        ahead.pop()
        found |= steps
        ahead += steps
    return found


if __name__ == "__main__":
    print(picture())
