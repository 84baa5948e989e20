"""A study's file as plain values: text that is data and no more, or one sentence.

Snakemake reads a study too, and as YAML 1.1 does: `yes` is a truth value, 010 is eight. So it is checked as
any YAML text is (`queuebench.base.yaml_text`) and then read as Snakemake reads it; 1:30, which is ninety
there, is refused, and so is `__use_yte__`, for which Snakemake would run Python from the file.
"""

import re
from pathlib import Path

import yaml

from queuebench.base.errors import StudyError
from queuebench.base.yaml_text import YamlError, parse_yaml, read_text

_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")
_RENDERED = "__use_yte__"


def read_study_file(path: str | Path):
    """Read the values of a study's file.

    Returns
    -------
    object
        Plain values: mappings, lists, strings, numbers.

    Raises
    ------
    StudyError
        If the file cannot be read, is no UTF-8 or YAML, has a key twice, or is more than data.
    """
    try:
        text = read_text(path)
        parse_yaml(text)
    except YamlError as error:
        raise StudyError(f"{path}: {error}") from None
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if _is_sexagesimal(event):
            raise StudyError(
                f"{path}: line {event.start_mark.line + 1}: YAML reads {event.value} in base sixty; write a "
                "decimal number, or quotes around a text"
            )
    try:
        values = yaml.safe_load(text)
    except ValueError as error:  # A date that Python does not take.
        raise StudyError(f"{path}: a value in it cannot be read ({error})") from None
    if values is None:
        raise StudyError(f"{path}: is empty; a study must be a mapping of keys")
    refuse_code(values)
    return values


def _is_sexagesimal(event):
    plain = isinstance(event, yaml.ScalarEvent) and event.style is None
    return plain and _SEXAGESIMAL.fullmatch(event.value) is not None


def refuse_code(values):
    """Refuse a study that asks Snakemake to render it, which runs Python from it.

    Raises
    ------
    StudyError
    """
    if isinstance(values, dict) and _RENDERED in values:
        raise StudyError(f"{_RENDERED}: a study is data and runs no code; leave this key out")
