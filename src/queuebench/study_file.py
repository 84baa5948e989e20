"""A study's file as plain values: text that is data and no more, or one sentence.

YAML can do more than say keys and values: refer to itself, grow a thousandfold through aliases, nest
without end, read 1:30 as ninety, and (with Snakemake, which renders `__use_yte__`) run Python. None of
this is a study.
"""

import re
from pathlib import Path

import yaml

from queuebench.errors import StudyError

_MOST_BYTES = 2_000_000
_MOST_NODES = 200_000
_DEEPEST = 30
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_RENDERED = "__use_yte__"


def read_study_file(path):
    """Read the values of a study's file.

    Parameters
    ----------
    path : str or pathlib.Path

    Returns
    -------
    object
        Plain values: mappings, lists, strings, numbers.

    Raises
    ------
    StudyError
        If the file cannot be read, is no UTF-8 or YAML, or is more than data.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StudyError(f"{path}: cannot be read ({error.strerror})") from None
    if len(content) > _MOST_BYTES:
        raise StudyError(f"{path}: has {len(content)} bytes; a study has at most {_MOST_BYTES}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise StudyError(f"{path}: line {line} is not UTF-8; save the file as UTF-8") from None
    try:
        _Nodes(path).go_through(text)
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else "it"
        raise StudyError(f"{path}: {where} is not valid YAML") from None
    except ValueError as error:  # A number or a date that Python does not take.
        if isinstance(error, StudyError):
            raise
        raise StudyError(f"{path}: a value in it cannot be read ({error})") from None
    if values is None:
        raise StudyError(f"{path}: is empty; a study must be a mapping of keys")
    refuse_code(values)
    return values


def refuse_code(values):
    """Refuse a study that asks Snakemake to render it, which runs Python from it.

    Raises
    ------
    StudyError
    """
    if isinstance(values, dict) and _RENDERED in values:
        raise StudyError(f"{_RENDERED}: a study is data and runs no code; leave this key out")


class _Nodes:
    """A pass over a file's YAML events, which neither builds values nor follows aliases."""

    def __init__(self, path):
        self._path = path
        self._open = []  # anchor of each node that is being read
        self._starts = []  # how many nodes there were before it, aliases counted in full
        self._sizes = {}  # nodes under each anchor
        self._nodes = 0

    def go_through(self, text):
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._sizes[self._open.pop()] = self._nodes - self._starts.pop()
            if self._nodes > _MOST_NODES:
                self._refuse(event, f"there are more than {_MOST_NODES} values, aliases counted")

    def _alias(self, event):
        if event.anchor in self._open:
            self._refuse(event, f"*{event.anchor} refers to itself")
        self._nodes += self._sizes.get(event.anchor, 1)

    def _scalar(self, event):
        self._nodes += 1
        self._sizes[event.anchor] = 1
        if event.style is None and _SEXAGESIMAL.fullmatch(event.value):
            self._refuse(
                event,
                f"YAML reads {event.value} in base sixty; write a decimal number, or quotes around a text",
            )

    def _begin(self, event):
        self._open.append(event.anchor)
        self._starts.append(self._nodes)
        self._nodes += 1
        if len(self._open) > _DEEPEST:
            self._refuse(event, f"is nested more than {_DEEPEST} deep")

    def _refuse(self, event, message):
        raise StudyError(f"{self._path}: line {event.start_mark.line + 1}: {message}")
