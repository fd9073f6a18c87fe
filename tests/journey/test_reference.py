"""Everything in the reference works: every field's own example is accepted, and every snippet runs.

Against the built-in model: it is the one that the examples name, and that precomputed features have the width of.
What it has not (audio files, token vectors) gets as far as that refusal here, and is answered in `test_audio.py` and
`test_token_pooling_over_http.py`.
Driven by the route table, so that a new request, field or content part is covered by being declared.
"""

import contextlib
import io
import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.dialects.reading import DIALECTS, dialects_of
from schemas.endpoints.embeddings import EmbeddingRequest
from schemas.endpoints.rerank import RerankRequest
from service.http.route import Route
from service.http.route_table import ROUTES
from service.openapi import build
from service.openapi.components import component_name
from service.reference.markdown import render_markdown
from service.reference.snippets import BASE_URL
from tests.conftest import LiveServer

SCHEMAS: dict[str, Any] = build()["components"]["schemas"]
REFERENCE = render_markdown()


def named(schema: dict[str, Any]) -> str:
    """Name of the component that a schema refers to; empty when it is written out."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def values(schema: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """For each example of each field at any depth: the field, and values of the schema that hold the example."""
    if named(schema):
        yield from values(SCHEMAS[named(schema)])
    for branch in schema.get("oneOf", ()):
        yield from values(branch)
    if "items" in schema:
        yield from ((field, [[value] for value in alternatives]) for field, alternatives in values(schema["items"]))
    if "properties" in schema:
        yield from values_of_object(schema, [least(schema), full(schema)])


def values_of_object(schema: dict[str, Any], bases: list[dict[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """The same for an object: its own fields beside what each base holds, then what its fields show."""
    for name, field in schema["properties"].items():
        for example in field["examples"]:
            yield f"{schema['title']}.{name}", [base | {name: example} for base in bases]
        for inner, alternatives in values(field):
            yield inner, [base | {name: value} for base in bases for value in alternatives]


def least(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with what it requires; a rule may ask for more."""
    return {name: schema["properties"][name]["examples"][0] for name in schema.get("required", ())}


def full(schema: dict[str, Any]) -> dict[str, Any]:
    """An object with everything."""
    return {name: field["examples"][0] for name, field in schema["properties"].items()}


INHERITED = {
    f"{dialect.body.__name__}.{field}"
    for dialect in DIALECTS
    for own in (EmbeddingRequest, RerankRequest)
    if issubclass(dialect.body, own)
    for field in own.__struct_fields__
    if field not in dialect.body.__annotations__
}
"""Fields of other servers' forms that are our own form's."""


def bodies() -> Iterator[Any]:
    """For each request field: the route, the field, and bodies that hold its example; one must be answered.

    A field that many routes have, of a content part say, is asked of the first, one between and the last of them.
    """
    shown = defaultdict[str, dict[str, list[Any]]](lambda: defaultdict(list))
    for route in ROUTES:
        if route.request is None:
            continue
        schema = SCHEMAS[component_name(route.request.__name__)]
        bases = [least(schema), *(example["value"] for example in route.request_examples.values())]
        for field, alternatives in values_of_object(schema, bases):
            shown[field][route.operation_id].append((route, alternatives))
        for dialect in dialects_of(route.request):
            schema = SCHEMAS[component_name(dialect.body.__name__)]
            own = {k: v for k, v in schema["properties"].items() if f"{dialect.body.__name__}.{k}" not in INHERITED}
            for field, alternatives in values_of_object(schema | {"properties": own}, [dict(dialect.example)]):
                shown[field][route.operation_id].append((route, alternatives))
    for field, of_routes in shown.items():
        names = [*of_routes]
        for name in dict.fromkeys((names[0], names[len(names) // 2], names[-1])):
            for i, (route, alternatives) in enumerate(of_routes[name]):
                yield pytest.param(route, field, alternatives, id=f"{name} {field} {i}")


BODIES = list(bodies())
REFUSALS = {
    **dict.fromkeys(("InputAudioPart", "InputAudio", "AudioUrlPart", "AudioUrl"), '"unsupported_modality"'),
    **dict.fromkeys(("PoolingRequest.embed_dtype", "PoolingRequest.on_error"), "this route answers float32"),
    "MediaItem.audio": '"unsupported_modality"',
    "CohereEmbedRequest.pool_factor": "it is for documents of late-interaction models",
    **dict.fromkeys(("VideoUrlPart.start_s", "VideoUrlPart.end_s"), "expected of a file alone"),
}
"""Refusals of types and fields that the model does not support, or the example's video, a list of frames."""


def refusals(server: LiveServer, route: Route, alternatives: list[Any], refusal: str | None) -> list[str]:
    """Empty when one of the bodies is answered, or refused in these words; else every refusal."""
    found = []
    for body in alternatives:
        headers = {"content-type": route.request_media_type}
        answer: httpx.Response = server.http.request(
            route.method, route.path.format(deployment="builtin"), content=json.dumps(body), headers=headers
        )
        is_answered = answer.status_code == 200 and '"type":"error"' not in answer.text
        if is_answered or (refusal is not None and refusal in answer.text):
            return []
        found.append(answer.text)
    return found


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
    assert shown == closed - INHERITED
    assert {"EmbeddingRequest.dimensions", "ImageUrl.detail", "TextPart.text", "Message.role"} <= shown


@pytest.mark.parametrize(("route", "field", "alternatives"), BODIES)
def test_every_fields_own_example_is_accepted(
    serving: Callable[[str], LiveServer], route: Route, field: str, alternatives: list[Any]
) -> None:
    refusal = REFUSALS.get(field, REFUSALS.get(field.partition(".")[0]))
    assert refusals(serving(route.path), route, alternatives, refusal) == [], field


@pytest.mark.parametrize("code", blocks("python"))
def test_every_python_snippet_runs(serving: Callable[[str], LiveServer], code: str) -> None:
    assert BASE_URL in code
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code.replace(BASE_URL, serving(code).url), "snippet", "exec"), {})  # the snippet is our own
    assert printed.getvalue().strip()


@pytest.mark.parametrize("code", blocks("sh"))
def test_every_curl_snippet_is_answered_with_success(
    serving: Callable[[str], LiveServer], code: str, tmp_path: Path
) -> None:
    assert code.startswith(f"curl {BASE_URL}/")
    script = code.replace("curl ", "curl -sS --fail ", 1).replace(BASE_URL, serving(code).url)
    ran = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout or list(tmp_path.iterdir())


def test_snippets_are_there_for_every_request_example() -> None:
    calls = sum(max(1, len(route.request_examples)) for route in ROUTES)
    assert len(blocks("sh")) == len(blocks("ts")) == calls
    assert len(blocks("python")) > calls, "the SDKs' calls come on top"


def test_the_pages_are_served_under_their_policy(builtin: LiveServer) -> None:
    for path in ("/docs", "/docs/embeddings", "/docs/types/"):
        answer = builtin.http.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/html")
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert builtin.http.get("/docs/none").status_code == 404
    assert ["dimensions", "Vectors in OpenAI's form → body"] in [
        one[:2] for one in builtin.http.get("/docs/search.json").json()
    ]


def test_the_pages_calls_are_to_their_own_server_and_name_its_model(
    server: LiveServer, bare_server: LiveServer
) -> None:
    for one, name in ((server, "builtin"), (bare_server, "checkpoint")):
        page = one.http.get("/docs/embeddings").text
        assert BASE_URL not in page
        assert page.count(f"{one.url}/v1/embeddings") > 20
        assert f'"model"</span>: <span class=s>"{name}"' in page
        assert f"{one.url}/v1/models/{name}" in one.http.get("/docs/models").text
    assert '<span class=s>"builtin"</span>' not in page
    headers = {"host": "[2001:db8::1]:81"}
    assert "http://[2001:db8::1]:81/v1/" in server.http.get("/docs/embeddings", headers=headers).text


def test_the_index_for_language_models_is_plain_text_about_its_own_server(builtin: LiveServer) -> None:
    answer = builtin.http.get("/llms.txt")
    assert answer.headers["content-type"].startswith("text/plain")
    assert f"Base URL: {builtin.url}\n" in answer.text
