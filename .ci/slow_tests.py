"""Run slow tests of what changed, as many as fit into some time.

A change is what a branch has beyond the main one, or on that one the last commit's day. Its files stand for
rooms: folders of the package, and those of the tests called the same. The slow tests of these rooms are put
into an order that is drawn with the commit's hash, and those run that fit into the time: the same ones
whenever it is this commit, others for the next.
"""

import argparse
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAIN = "origin/HEAD"
DAY = 24 * 3600
MORE = {
    "logs": ["systems"],
    "pipeline": ["workflow", "cluster"],
    "results": ["workflow"],
    "workflow": ["cluster"],
}
"""Rooms of tests that run with those of a room."""


def git(*arguments):
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.split() if done.returncode == 0 else []


def change():
    """Return the commit before the change, the one after it, and the files it touches."""
    (head,) = git("rev-parse", "HEAD")
    base = git("merge-base", MAIN, head)
    if base in ([], [head]):
        (last,) = git("show", "--no-patch", "--format=%ct", head)
        base = git("rev-list", "--max-count=1", f"--before={int(last) - DAY}", head)
    return (base or ["nothing"])[0], head, git("diff", "--name-only", *base, head)


def rooms_of(files):
    """Return the folders of tests that some files concern."""
    named = {
        room for file in files for room in re.findall(r"^(?:src/queuebench|tests)/(\w+)/", file)
    }
    if any(re.match("Snakefile|(rules|workflow|profiles|config)/", file) for file in files):
        named.add("workflow")
    named.update(*(MORE.get(room, []) for room in named))
    return sorted(room for room in named if (ROOT / "tests" / room).is_dir())


class Collected:
    """A plug-in of pytest that notes the slow tests it finds, with their seconds, 60 where none are given."""

    def __init__(self):
        self.seconds = {}

    def pytest_collection_finish(self, session):
        for item in session.items:
            mark = item.get_closest_marker("slow")
            self.seconds[item.nodeid] = mark.kwargs.get("seconds", 60.0)


def chosen(seconds, budget, seed):
    """Return the tests that fit into a time, taken in an order drawn with a seed."""
    names = sorted(seconds)
    random.Random(seed).shuffle(names)
    found = []
    for name in names:
        if seconds[name] <= budget:
            found.append(name)
            budget -= seconds[name]
    return sorted(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=100.0, help="of one processor, in all")
    budget = parser.parse_args().seconds
    base, head, files = change()
    rooms = rooms_of(files)
    print(
        f"{len(files)} files changed from {base[:9]} to {head[:9]}; rooms: {', '.join(rooms) or 'none'}"
    )
    if not rooms:
        return 0
    collected = Collected()
    folders = [f"tests/{room}" for room in rooms]
    status = pytest.main(
        ["--collect-only", "--quiet", "--quiet", "-m", "slow", *folders], plugins=[collected]
    )
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return int(status)
    names = chosen(collected.seconds, budget, head)
    total = sum(collected.seconds[name] for name in names)
    print(
        f"{len(names)} of {len(collected.seconds)} slow tests there fit into {budget:.0f} seconds,"
        f" taking {total:.0f}: drawn with {head[:9]}"
    )
    if not names:
        return 0
    command = [sys.executable, "-m", "pytest", "--verbose", "-n", "2", "--dist", "loadfile", *names]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
