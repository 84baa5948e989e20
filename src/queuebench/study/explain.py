"""What a wrong study is told: one sentence on one key, from what pydantic found."""

import difflib
import json
import math

from pydantic import ValidationError

from queuebench.base.errors import StudyError
from queuebench.study.types import whole


def validate(model, values, locate):
    """Check plain values against a model.

    Parameters
    ----------
    model : type
        A pydantic model.
    values : dict
    locate : Callable
        From a key's path in the model to how the user knows it.

    Raises
    ------
    StudyError
        Naming the first key that is wrong and what is allowed there.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise StudyError(_explain(model, values, error.errors(), locate)) from None


_BOUNDS = {
    "greater_than": "gt",
    "greater_than_equal": "ge",
    "less_than": "lt",
    "less_than_equal": "le",
}
"""What pydantic calls a value that is beyond a bound."""

_NO_MAPPING = ("model_type", "model_attributes_type", "dict_type")
"""What pydantic calls a value that should be a mapping."""


def _explain(model, values, problems, locate):
    """Put what pydantic found into one sentence about one key; a misspelt key comes first."""
    unknown = [problem for problem in problems if problem["type"] == "extra_forbidden"]
    problem = (unknown or problems)[0]
    kind, context = problem["type"], problem.get("ctx", {})
    location = _keys_of_the_study(values, problem)
    key = locate(".".join(map(plainly, location)))
    if kind == "extra_forbidden":
        return f"{key}: unknown key{nearest(str(location[-1]), _known_keys(model, location))}"
    if kind == "missing":
        return f"{key}: this key is required"
    if kind == "value_error":
        return f"{key}: {context['error']}"
    if kind == "union_tag_invalid":
        discriminator = context["discriminator"].strip("'")
        return f"{key}.{discriminator}: must be one of {context['expected_tags']}"
    if kind == "union_tag_not_found":
        discriminator = context["discriminator"].strip("'")
        kinds = ", ".join(map(repr, _tags(model, location).get(discriminator, [])))
        return f"{key}.{discriminator}: this key is required, one of {kinds}"
    alternatives = [
        _requirement(model, location, other)
        for other in problems
        if _keys_of_the_study(values, other) == location
    ]
    return f"{key}: {', or '.join(alternatives)}, got {_shown(problem['input'])}{_hint(problem)}"


def plainly(part):
    """Return a key on one line and short, in quotes where it is no plain word."""
    text = str(part)
    plain = text.isprintable() and text and len(text) <= _LONGEST_SHOWN
    return text if plain else _shown(text)


_LONGEST_SHOWN = 80


def _shown(value):
    """Return a value as the study has it, cut where it is long."""
    text = json.dumps(value, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _hint(problem):
    """Say what to write for a text that looks like a number: YAML reads 5e-1 as text."""
    value = problem["input"]
    if problem["type"] not in ("float_type", "int_type") or not isinstance(value, str):
        return ""
    try:
        number = whole(float(value))
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    point = (
        "" if "." in value or "e" not in value.lower() else " (numbers like 5.0e-1 need the point)"
    )
    return f", which YAML reads as text; write {number!r}{point}"


def _requirement(model, location, problem):
    """Say what would be right, without the names of classes that pydantic gives."""
    if problem["type"] not in _NO_MAPPING:
        return problem["msg"].removeprefix("Input ") + _reason(model, location, problem)
    for key, kinds in _tags(model, location).items():
        close = difflib.get_close_matches(str(problem["input"]), kinds, n=1)
        return f"must be a mapping of keys like {{{key}: {(close or kinds)[0]}}}"
    return "must be a mapping of keys"


def _reason(model, location, problem):
    """Return why a bound is where it is, if a number is beyond one that has a reason."""
    if problem["type"] not in _BOUNDS:
        return ""
    schema = model.model_json_schema()
    node = schema
    for part in location:
        node = _step(schema, node, part)
    for option in _options(schema, node):
        reason = option.get("reasons", {}).get(_BOUNDS[problem["type"]])
        if reason:
            return f" ({reason})"
    return ""


def _keys_of_the_study(values, problem):
    """Drop what pydantic adds to a location for the alternatives of a union: no key of the study."""
    kept, node = [], values
    for part in problem["loc"]:
        if (isinstance(node, dict) and part in node) or (
            isinstance(node, list) and isinstance(part, int)
        ):
            node = node[part]
            kept.append(part)
    if problem["type"] == "missing":
        kept.append(problem["loc"][-1])
    return kept


def _known_keys(model, location):
    """Return the keys allowed where an unknown one was found, by walking the JSON schema."""
    schema = model.model_json_schema()
    node = schema
    for part in location[:-1]:
        node = _step(schema, node, part)
    return sorted(
        {key for option in _options(schema, node) for key in option.get("properties", {})}
    )


def _tags(model, location):
    """Return what each key that tells alternatives apart may be at a place of the study."""
    schema = model.model_json_schema()
    node = schema
    for part in location:
        node = _step(schema, node, part)
    tags = {}
    for option in _options(schema, node):
        for key, value in option.get("properties", {}).items():
            if "const" in value:
                tags.setdefault(key, []).append(value["const"])
    return tags


def _options(schema, node):
    """Yield the alternatives of a schema node with references resolved."""
    if "$ref" in node:
        yield from _options(schema, schema["$defs"][node["$ref"].rsplit("/", 1)[1]])
    elif "anyOf" in node or "oneOf" in node:
        for option in node.get("anyOf", node.get("oneOf")):
            yield from _options(schema, option)
    else:
        yield node


def _step(schema, node, part):
    for option in _options(schema, node):
        if part in option.get("properties", {}):
            return option["properties"][part]
        if isinstance(option.get("additionalProperties"), dict):
            return option["additionalProperties"]
        if isinstance(part, int) and "items" in option:
            return option["items"]
    return {}


def nearest(word, known):
    """Return a suggestion for an unknown word: the nearest known one, or all of them."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    if close:
        return f", did you mean {close[0]}?"
    return f"; known here: {', '.join(known)}" if known else ""
