"""Schemas in words, and values as literals."""

import ast
import json
from typing import Any

import pytest

from service.reference.document import bounds, words
from service.reference.html import highlight
from service.reference.snippets import WIDTH, json_literal, python_literal

NUMBERS = {"type": "array", "items": {"type": "number"}}
REF = {"$ref": "#/components/schemas/Content"}
VALUES: list[Any] = [
    {"a": [True, False, None], "b": {}, "c": [], "d": 1.5, "é": 'a "quoted"\nline \\ and \u2028'},
    {"long": ["x" * 50, "y" * 50], "nested": [{"content": [{"type": "text", "text": "z" * 80}]}], "none": None},
    "x",
    [],
]


@pytest.mark.parametrize(
    ("schema", "phrase"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "array", "items": NUMBERS}, "list of lists of numbers"),
        ({"type": "array", "items": REF}, "list of [Content](#content)"),
        (REF | {"description": "x"}, "[Content](#content)"),
        ({"oneOf": [REF, {"title": "Url", "type": "string"}]}, "[Content](#content) or string"),
        ({"type": "string", "enum": ["text"]}, "`text`"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "map from string to string"),
        ({"type": "object", "additionalProperties": True}, "any object"),
    ],
)
def test_a_type_in_words(schema: dict[str, Any], phrase: str) -> None:
    assert words(schema) == phrase


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, ""),
        ({"minItems": 1}, "at least 1 entry"),
        ({"minItems": 2}, "at least 2 entries"),
        ({"minItems": 1, "maxItems": 2048}, "1 to 2,048 entries"),
        ({"minLength": 7, "maxLength": 7}, "exactly 7 characters"),
        ({"minimum": -1, "maximum": 10}, "-1 to 10"),
        ({"maximum": 0}, "at most 0"),
        ({"maxLength": 64, "pattern": "^a$"}, "at most 64 characters; matches `^a$`"),
    ],
)
def test_bounds_in_words(schema: dict[str, Any], text: str) -> None:
    assert bounds(schema) == text


@pytest.mark.parametrize("value", VALUES)
def test_a_literal_is_the_value(value: Any) -> None:
    assert json.loads(json_literal(value)) == value
    assert ast.literal_eval(python_literal(value)) == value


def test_a_literal_breaks_where_a_line_would_be_too_long() -> None:
    lines = json_literal(VALUES[1]).splitlines()
    assert max(map(len, lines)) <= WIDTH + 20
    assert lines[0] == "{"
    assert json_literal({"a": [1, 2]}) == '{"a": [1, 2]}'


def test_highlighted_code_is_escaped_and_otherwise_the_same() -> None:
    marked = highlight('if (a < 2) throw new Error("<b>"); // & so on', "ts")
    assert '<span class=s>"&lt;b&gt;"</span>' in marked
    assert "<span class=k>throw</span>" in marked
    assert "<span class=n>2</span>" in marked
    assert "<span class=c>// &amp; so on</span>" in marked


def test_an_address_is_neither_a_number_nor_a_comment() -> None:
    assert highlight("curl http://127.0.0.1:8000/v1/models", "sh").count("<span") == 1
