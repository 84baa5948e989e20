"""Paths of the repository that documents and modules name are there."""

import re
from pathlib import Path

import pytest

from tests.house.rooms import PACKAGE, ROOT

NAMED = r"(?:src/queuebench|tests|workflow/scripts|rules|config|docs)/[\w./-]+\.(?:py|md|yaml|smk|json)\b"
FILES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "config").glob("*.md"),
        *PACKAGE.rglob("*.py"),
    ]
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_what_a_document_names_is_there(file):
    text = file.read_text()
    paths = {ROOT / path for path in re.findall(NAMED, text)}
    # Paths in a document may be of its own folder.
    paths |= {file.parent / path for path in re.findall(r"\]\(((?!http)[\w./-]+\.\w+)", text)}
    modules = set(re.findall(r"`queuebench\.([a-z_]+(?:\.[a-z_]+)*)", text)) - {"plugins"}
    paths |= {Path(PACKAGE, *name.split(".")[:1]) for name in modules}
    assert {
        str(path) for path in paths if not (path.exists() or path.with_suffix(".py").exists())
    } == set()
