"""JSON as people write it: on one line where it fits, else one entry a line; also as a Python literal.

A JSON value is a TypeScript literal as it stands; Python has other names for `true`, `false` and `null`.
"""

import json
from typing import Any

WIDTH = 88
"""Characters of a line, where it can be broken at all."""

PYTHON_STEP, JSON_STEP = 4, 2
"""Spaces of one level, as each language is usually written."""

_PYTHON = {True: "True", False: "False", None: "None"}


def json_literal(value: Any, *, indent: int = 0) -> str:
    """A value as JSON; `indent` is the number of spaces before the line that it starts on."""
    return _literal(value, indent, python=False)


def python_literal(value: Any, *, indent: int = 0) -> str:
    """A value as a Python literal, indented as by `json_literal`."""
    return _literal(value, indent, python=True)


def _literal(value: Any, indent: int, *, python: bool) -> str:
    line = _line(value, python=python)
    if len(line) + indent <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    deeper = indent + (PYTHON_STEP if python else JSON_STEP)
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_literal(v, deeper, python=python)}" for key, v in value.items()]
        opening, closing = "{", "}"
    else:
        entries = [_literal(v, deeper, python=python) for v in value]
        opening, closing = "[", "]"
    body = ",\n".join(" " * deeper + entry for entry in entries)
    return f"{opening}\n{body}{',' if python else ''}\n{' ' * indent}{closing}"


def _line(value: Any, *, python: bool) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_line(v, python=python)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_line(v, python=python) for v in value) + "]"
    if python and (value is None or isinstance(value, bool)):
        return _PYTHON[value]
    return json.dumps(value, ensure_ascii=False)
