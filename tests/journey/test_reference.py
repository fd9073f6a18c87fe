"""What the reference shows works: every field's own example is accepted, and every snippet runs.

Driven by the route table, so that a new request, field or content part is covered by being declared.
"""

import contextlib
import io
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.openapi import build
from service.openapi.components import component_name
from service.openapi.routes import ROUTES, Route
from service.reference.snippets import BASE_URL
from tests.conftest import ROOT, LiveServer

SCHEMAS: dict[str, Any] = build()["components"]["schemas"]
REFERENCE = (ROOT / "docs" / "reference.md").read_text()


def named(schema: dict[str, Any]) -> str:
    """Name of the component that a schema refers to; empty when it is written out."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def values(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Values of a schema, one for each example of each field at any depth, with the field that it shows."""
    if named(schema):
        yield from values(SCHEMAS[named(schema)])
    for branch in schema.get("oneOf", ()):
        yield from values(branch)
    if "items" in schema:
        yield from ((field, [value]) for field, value in values(schema["items"]))
    if "properties" in schema:
        yield from values_of_object(schema)


def values_of_object(schema: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Objects with what is required and one field more: its example, then what its own fields show."""
    properties = schema["properties"]
    least = {name: properties[name]["examples"][0] for name in schema.get("required", ())}
    for name, field in properties.items():
        for example in field["examples"]:
            yield f"{schema['title']}.{name}", least | {name: example}
        for inner, value in values(field):
            yield inner, least | {name: value}


def bodies() -> Iterator[Any]:
    for route in ROUTES:
        if route.request is None:
            continue
        for i, (field, body) in enumerate(values(SCHEMAS[component_name(route.request.__name__)])):
            yield pytest.param(route, field, body, id=f"{route.operation_id} {i} {field}")


BODIES = list(bodies())


def accepted(server: LiveServer, route: Route, body: dict[str, Any]) -> list[str]:
    """Empty when the body is answered, alone or with what another example of the route holds; else every refusal."""
    refusals = []
    for base in ({}, *(example["value"] for example in route.request_examples.values())):
        answer: httpx.Response = server.http.request(route.method, route.path, json=base | body)
        if answer.status_code == 200:
            return []
        refusals.append(answer.text)
    return refusals


def blocks(language: str) -> list[Any]:
    """The reference's blocks in a language, each with the heading of its operation."""
    found = re.finditer(rf"^### (\w+)$|^```{language}\n(.*?)^```$", REFERENCE, re.DOTALL | re.MULTILINE)
    heading, out = "", []
    for i, match in enumerate(found):
        heading = match[1] or heading
        if match[2]:
            out.append(pytest.param(match[2], id=f"{heading} {i}"))
    return out


def test_the_fields_shown_are_all_that_requests_have() -> None:
    shown = {param.values[1] for param in BODIES}
    closed = {
        f"{name}.{field}"
        for name, schema in SCHEMAS.items()
        if schema.get("additionalProperties") is False
        for field in schema["properties"]
    }
    assert shown == closed
    assert {"EmbeddingRequest.dimensions", "ImageUrl.detail", "TextPart.text", "Message.role"} <= shown


@pytest.mark.parametrize(("route", "field", "body"), BODIES)
def test_every_fields_own_example_is_accepted(server: LiveServer, route: Route, field: str, body: Any) -> None:
    assert accepted(server, route, body) == [], field


@pytest.mark.parametrize("code", blocks("python"))
def test_every_python_snippet_runs(server: LiveServer, code: str) -> None:
    assert BASE_URL in code
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code.replace(BASE_URL, server.url), "snippet", "exec"), {})  # the snippet is our own
    assert printed.getvalue().strip()


@pytest.mark.parametrize("code", blocks("sh"))
def test_every_curl_snippet_is_answered_with_success(server: LiveServer, code: str, tmp_path: Path) -> None:
    assert code.startswith(f"curl {BASE_URL}/")
    script = code.replace("curl ", "curl -sS --fail ", 1).replace(BASE_URL, server.url)
    ran = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout or list(tmp_path.iterdir())


def test_snippets_are_there_for_every_request_example() -> None:
    calls = sum(max(1, len(route.request_examples)) for route in ROUTES)
    assert len(blocks("sh")) == len(blocks("ts")) == calls
    assert len(blocks("python")) > calls, "the SDKs' calls come on top"


def test_the_page_is_served_under_its_policy(server: LiveServer) -> None:
    for path in ("/docs", "/"):
        answer = server.http.get(path)
        assert answer.headers["content-type"].startswith("text/html")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
