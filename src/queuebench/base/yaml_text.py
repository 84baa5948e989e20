"""YAML as data and nothing else: no tags, no key twice, bounded, and no surprises of YAML 1.1.

Plain words are read as YAML 1.2 reads them: ``on``, ``no``, ``1:30``, ``010`` and dates are text, ``5e-1``
is a number.
"""

import re
from pathlib import Path

import yaml

_MOST_BYTES = 4 * 2**20
_MOST_DEPTH = 50
_MOST_NODES = 200_000
"""Values of a file, those behind an alias counted every time it is used."""

_SHOWN = 150
_STRING = "tag:yaml.org,2002:str"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_SURROGATES = re.compile("[\ud800-\udfff]")
"""Halves of characters, which an escape such as ``\\ud800`` can write but no UTF-8."""


class YamlError(ValueError):
    """A file that is not the YAML read here; one sentence without the file's name."""


def read_yaml(path: str | Path):
    """Read a YAML file.

    Returns
    -------
    object
        Mappings, lists, text, numbers, truth values and None.

    Raises
    ------
    YamlError
        If the file cannot be read, is no UTF-8, no YAML, refers to itself, is nested or expands beyond
        bounds, has a key twice in one mapping, or a tag.
    """
    return parse_yaml(read_text(path))


def parse_yaml(text):
    """Read YAML that is at hand as text; see `read_yaml`."""
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(
            f"line {line} is not valid YAML (the character {chr(error.character)!r})"
        ) from None
    except yaml.YAMLError as error:
        raise YamlError(_explain(error)) from None
    finally:
        if loader:
            loader.dispose()


def read_text(path):
    """Read a file of text in UTF-8.

    Raises
    ------
    YamlError
        If it cannot be read, is too large or is not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise YamlError(f"cannot be read ({error.strerror})") from None
    except ValueError:
        raise YamlError("cannot be read (no such name is possible)") from None
    if len(content) > _MOST_BYTES:
        raise YamlError(f"is larger than {_MOST_BYTES // 2**20} MiB; is it the right file?")
    if content.startswith(_UTF_16) or b"\0" in content:
        raise YamlError("is not text in UTF-8 but in UTF-16, or no text; save it as UTF-8")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise YamlError(
            f"line {line} is not text in UTF-8 (byte {content[error.start]:#x}, as in Latin-1); "
            "save it as UTF-8"
        ) from None


def _explain(error):
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    where = f"line {mark.line + 1}" if mark else "the file"
    if isinstance(error, _RefusedError):
        return f"{where}: {error.problem}"
    said = " ".join(str(getattr(error, "problem", None) or error).split())
    return f"{where} is not valid YAML ({said[:_SHOWN]})"


class _RefusedError(yaml.MarkedYAMLError):
    """YAML that is valid but not accepted."""

    def __init__(self, problem, mark):
        super().__init__(problem=problem, problem_mark=mark)


class _Loader(yaml.SafeLoader):
    def __init__(self, text):
        super().__init__(text)
        self._depth = 0
        self._nodes = 0
        self._sizes = {}

    def compose_node(self, parent, index):
        """Compose a node, counting how deep and how large the whole becomes."""
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            if event.anchor in self.anchors and event.anchor not in self._sizes:
                raise _RefusedError(f"*{event.anchor} refers to itself", event.start_mark)
            self._nodes += self._sizes.get(event.anchor, 0)
        elif event.tag not in (None, "!", _STRING):
            raise _RefusedError(
                f"the tag {event.tag!r} is not accepted; leave it out", event.start_mark
            )
        if isinstance(event, yaml.ScalarEvent) and _SURROGATES.search(event.value):
            raise _RefusedError("half a character (an escape like \\ud800)", event.start_mark)
        before = self._nodes
        self._nodes += 1
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise _RefusedError(f"nested more than {_MOST_DEPTH} deep", event.start_mark)
        if self._nodes > _MOST_NODES:
            raise _RefusedError(f"stands for more than {_MOST_NODES:,} values", event.start_mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if not isinstance(event, yaml.AliasEvent) and event.anchor is not None:
            self._sizes[event.anchor] = self._nodes - before
        return node

    def construct_mapping(self, node, deep=False):
        """Construct a mapping whose keys are all different; merged ones (`<<`) may be overridden."""
        lines = {}
        for key_node, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not isinstance(key_node, yaml.ScalarNode):
                raise _RefusedError("a key must be a word or a number", key_node.start_mark)
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node)
            if key in lines:
                raise _RefusedError(
                    f"the key {str(key)[:_SHOWN]} is given twice, first in line {lines[key]}",
                    key_node.start_mark,
                )
            lines[key] = key_node.start_mark.line + 1
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node):
        """Construct a whole number, which Python reads up to some thousand digits only."""
        try:
            return int(self.construct_scalar(node))
        except ValueError:
            raise _RefusedError("a number of too many digits", node.start_mark) from None


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.yaml_implicit_resolvers = {}
for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_kind}", re.compile(rf"^(?:{_pattern})$"), list(_first)
    )
