"""The document and the server say the same: routes, statuses, answers, examples."""

import json
import re
from collections.abc import Callable
from typing import Any, get_args

import httpx
import jsonschema
import msgspec
import pytest

from schemas.dialects.dialect import Dialect
from schemas.dialects.reading import dialects_of
from schemas.errors import ErrorType
from service.http.errors import error_type
from service.http.route import Route
from service.http.route_table import ROUTE_HANDLERS, ROUTES
from service.openapi import build
from service.openapi.components import REF, component_of
from service.playground.files import FILES, PAGES_PATH
from service.reference.pages import SEARCH, pages
from service.statuses import CODES
from tests.conftest import ROOT, LiveServer

DOCUMENT = build()
RAW = "application/octet-stream"
LINES = "application/x-ndjson"

EXAMPLES = [
    pytest.param(route, example["value"], id=f"{route.operation_id} {name}")
    for route in ROUTES
    for name, example in route.request_examples.items()
]
DIALECTS = [
    pytest.param(route, dialect, id=f"{route.operation_id} {dialect.name}")
    for route in ROUTES
    for dialect in dialects_of(route.request)
]
READS = [pytest.param(route, id=route.operation_id) for route in ROUTES if route.method == "GET"]
BAD_BODIES = ({}, {"unknown": 1}, {"model": "nobody", "input": "x", "texts": ["x"]}, {"input": 5, "texts": 5})


def served() -> set[tuple[str, str]]:
    """Method and path of everything that the app answers, with parameters written as in the document."""
    return {
        (method, re.sub(r"\{(\w+):\w+\}", r"{\1}", path))
        for handler in ROUTE_HANDLERS
        for path in handler.paths
        for method in handler.http_methods - {"HEAD"}
    }


def response_of(route: Route, status: int) -> dict[str, Any]:
    operation = DOCUMENT["paths"][route.path][route.method.lower()]
    assert str(status) in operation["responses"], f"{route.operation_id} answered {status}, which is not documented"
    found: dict[str, Any] = operation["responses"][str(status)]
    return found


def check(route: Route, answer: httpx.Response) -> None:
    """The answer is what the document promises: status, headers, media type, body."""
    response = response_of(route, answer.status_code)
    contents = {name.partition(";")[0]: content for name, content in response["content"].items()}
    media_type = answer.headers["content-type"].partition(";")[0]
    content = contents[media_type]
    due = [
        name for name in response["headers"] if media_type == RAW or DOCUMENT["components"]["headers"][name]["required"]
    ]
    assert [name for name in due if name not in answer.headers] == []
    if media_type in ("application/json", LINES):
        schema = {"components": DOCUMENT["components"], **content["schema"]}
        for line in answer.text.splitlines() if media_type == LINES else [answer.text]:
            jsonschema.Draft202012Validator(schema).validate(json.loads(line))


def send(server: LiveServer, route: Route, body: Any) -> httpx.Response:
    """A body of the route's own kind; lines are one line."""
    headers = {"content-type": route.request_media_type}
    path = route.path.format(model_id="builtin", deployment="builtin")
    return server.http.request(route.method, path, content=json.dumps(body), headers=headers)


def test_the_apps_routes_are_the_documents() -> None:
    """Except what pages load and ask, pages below `/docs`, and the index for language models: no client calls them."""
    others = {("GET", path) for path in (*FILES, *pages(), SEARCH, "/llms.txt")} | {("POST", PAGES_PATH)}
    assert served() == {(route.method, route.path) for route in ROUTES} | others


def test_every_type_of_error_has_a_status() -> None:
    assert {error_type(status) for status in CODES} == set(get_args(ErrorType))


@pytest.mark.parametrize("name", ["openapi.json", "openapi-sdk.json"])
def test_the_served_documents_are_the_committed_files(server: LiveServer, name: str) -> None:
    assert server.http.get(f"/{name}").content == (ROOT / name).read_bytes()


@pytest.mark.parametrize(("route", "body"), EXAMPLES)
def test_every_request_example_is_answered_as_documented(
    serving: Callable[[str], LiveServer], route: Route, body: dict[str, Any]
) -> None:
    answer = send(serving(route.path), route, body)
    assert answer.status_code == 200, answer.text
    assert '"type":"error"' not in answer.text
    check(route, answer)


@pytest.mark.parametrize(("route", "dialect"), DIALECTS)
def test_every_other_form_is_read_as_ours_bit_for_bit(keeping: LiveServer, route: Route, dialect: Dialect[Any]) -> None:
    assert route.request is not None
    own = without_nulls(
        msgspec.to_builtins(dialect.read(msgspec.convert(dialect.example, dialect.body), route.request))
    )
    own = {name: value for name, value in own.items() if name in route.request.__struct_fields__}
    path = route.path.format(model_id="builtin", deployment="builtin")
    answers = [keeping.ask(path, body).json() for body in (dict(dialect.example), own)]
    scored = [one.get("data") or one["results"] for one in answers]
    assert len(scored[0]) > 0
    for got, want in zip(*scored, strict=True):
        same = [name for name in ("embedding", "index", "relevance_score") if name in want]
        assert len(same) == 2
        assert [got[name] for name in same] == [want[name] for name in same]
    if dialect.response is None:
        check(route, keeping.http.post(path, json=dict(dialect.example)))
    else:
        schema = {"components": DOCUMENT["components"], "$ref": REF + component_of(dialect.response)}
        jsonschema.Draft202012Validator(schema).validate(answers[0])


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return [without_nulls(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("route", [route for route in ROUTES if route.raw_examples], ids=lambda r: r.operation_id)
def test_a_raw_answer_and_its_refusal_are_as_documented(server: LiveServer, route: Route) -> None:
    for body, status in (({"input": "x"}, 200), ({"input": "x", "on_error": "per_item"}, 400)):
        answer = server.http.post(route.path, json=body, headers={"accept": RAW})
        assert answer.status_code == status
        check(route, answer)


@pytest.mark.parametrize("route", READS)
def test_every_read_is_answered_as_documented(server: LiveServer, route: Route) -> None:
    answer = server.http.get(route.path.format(model_id="builtin"))
    assert answer.status_code == 200, answer.text
    check(route, answer)


@pytest.mark.parametrize("route", [route for route in ROUTES if route.request], ids=lambda r: r.operation_id)
def test_every_refusal_is_documented(server: LiveServer, route: Route) -> None:
    path = route.path.format(deployment="builtin")
    for body in BAD_BODIES:
        answer = server.http.post(path, json=body)
        assert answer.is_client_error
        check(route, answer)
    check(route, server.http.post(path, content=b"x"))


def test_a_model_that_is_not_there_is_refused_as_documented(server: LiveServer) -> None:
    route = next(route for route in ROUTES if "model_id" in route.parameters)
    answer = server.http.get(route.path.format(model_id="a/b"))
    assert answer.status_code == 404
    check(route, answer)
