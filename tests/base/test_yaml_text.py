"""Files that are no plain YAML: one sentence with the line, at once; and words read as YAML 1.2 has them."""

import math

import pytest

from queuebench.base.yaml_text import YamlError, read_yaml

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a: 1\nb: é\n".encode("latin-1"), "line 2 is not text in UTF-8 (byte 0xe9, as in Latin-1)"),
        ("a: 1\n".encode("utf-16"), "is not text in UTF-8 but in UTF-16"),
        ("a: 1\n".encode("utf-16-le"), "is not text in UTF-8 but in UTF-16"),
        (b"\x89PNG\r\n\x1a\n", "line 1 is not text in UTF-8"),
        (b"#" * (5 * 2**20), "is larger than 4 MiB"),
        ("a: &a {b: *a}", "line 1: *a refers to itself"),
        ("&a [*a]", "line 1: *a refers to itself"),
        ("b: 1\n<<: &a {<<: *a}", "line 2: *a refers to itself"),
        (BOMB, "line 6: stands for more than 200,000 values"),
        ("a: " + "[" * 100_000, "line 1: nested more than 50 deep"),
        ("- " * 100_000 + "x", "line 1: nested more than 50 deep"),
        ("a: " + "{a: " * 100_000, "line 1: nested more than 50 deep"),
        ("a: 1\nb: 2\na: 3", "line 3: the key a is given twice, first in line 1"),
        ("x: {a: 1, b: 2, 'a': 1}", "line 1: the key a is given twice"),
        ("1: a\n1: b", "line 2: the key 1 is given twice"),
        ("[a]: 1", "line 1: a key must be a word or a number"),
        ("a: !!int x", "line 1: the tag 'tag:yaml.org,2002:int' is not accepted"),
        ("a: !!python/object/apply:os.system [ls]", "line 1: the tag "),
        ("a: !mine x", "line 1: the tag '!mine' is not accepted"),
        ("a: 1\nb: " + "9" * 5000, "line 2: a number of too many digits"),
        ("a: *nothing", "line 1 is not valid YAML (found undefined alias"),
        ("a: 1\n---\nb: 2", "line 2 is not valid YAML (but found another document"),
        ("a: 1\n\tb: 2", "line 2 is not valid YAML"),
        ("a: 1\nb: [1", "line 2 is not valid YAML"),
        ("a: 1\nb: \x07", "line 2 is not valid YAML (the character '\\x07')"),
        ('a: "\\ud800"', "line 1: half a character"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, content, expected):
    path = tmp_path / "x.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(YamlError) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(expected)
    assert "\n" not in message
    assert len(message) < 300


@pytest.mark.parametrize("name", ["nowhere.yaml", "", "a\0b"])
def test_what_cannot_be_opened(tmp_path, name):
    with pytest.raises(YamlError, match="cannot be read"):
        read_yaml(tmp_path / name)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("no", "no"), ("y", "y"), ("Yes", "Yes"), ("true", True), ("False", False),
        ("1:30", "1:30"), ("010", "010"), ("1_000", "1_000"), ("0x1F", "0x1F"),
        ("2026-03-01", "2026-03-01"), ("5e-1", 0.5), ("1e3", 1000.0), ("1.", 1.0), (".5", 0.5),
        ("-1.5E+2", -150.0), ("-7", -7), ("0", 0), (".inf", math.inf), ("~", None), ("", None),
        ("!!str 5", "5"), ("'5'", "5"),
    ],
)  # fmt: skip
def test_words_are_those_of_yaml_1_2(tmp_path, text, value):
    path = tmp_path / "x.yaml"
    path.write_text(f"on: {text}\n")
    found = read_yaml(path)["on"]
    assert found == value
    assert type(found) is type(value)


def test_aliases_and_merges_within_bounds(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: [*a, *a]\n")
    first = {"x": 1, "y": 2}
    assert read_yaml(path) == {"a": first, "b": {"x": 1, "y": 3}, "c": [first, first]}
