"""One line per request, one set of series, whatever clients send."""

import asyncio
import json
import logging
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from litestar.types import ASGIApp, Receive, Scope, Send

from service.http.middleware.access_log import CLOSE, MAX_WRITE_BYTES, AccessLog
from service.http.middleware.tracing import Tracing, trace_context
from service.http.request import PROBES
from service.http.route_table import ROUTES
from service.logs import MAX_VALUE_CHARS, HumanFormatter, JsonFormatter
from tests.conftest import CHECKPOINT, LiveServer, image, image_part
from tests.raw_socket import say
from tests.service.http.middleware.access_lines import access_lines, line_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
SERVING: Any = SimpleNamespace(is_draining=False)
NASTY = ("\r\n{}", "\x1b[31mred", "\x00", "\u2028", "%s{}%(name)s", '"}\n{"level":"error"', "x" * 1_000_000)


@pytest.fixture(scope="module")
def logged(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server("--model", str(CHECKPOINT), "--log-format", "json", "--metrics-port", "0").wait_until_ready()


def test_a_requests_stages_add_up_to_its_time(logged: LiveServer) -> None:
    body = {"inputs": [{"content": [image_part(image(seed, 1600, 1200))]} for seed in range(3)]}
    logged.http.post("/v1/embeddings", json=body, headers={"x-request-id": "sum"}).raise_for_status()
    line = line_of(logged, "sum")
    stages = [line[f"{name}_ms"] for name in ("body", "decode", "prepare", "media", "engine", "write")]
    assert line["ms"] > 20, "too short a request to measure"
    assert sum(stages) == pytest.approx(line["ms"], rel=0.05, abs=0.5), line
    assert 0 < line["inference_ms"] <= line["engine_ms"]
    assert 0 <= line["queue_ms"] <= line["engine_ms"]


def test_a_line_has_the_route_and_never_path_query_or_body(logged: LiveServer) -> None:
    logged.http.post("/v1/secret-path?key=hidden-word", json={"input": "a secret text"}, headers={"x-request-id": "no"})
    line = line_of(logged, "no")
    assert (line["method"], line["route"], line["status"]) == ("POST", "other", 404)
    assert [word for word in ("secret", "hidden") if word in logged.log.read_text()] == []


def test_every_route_of_the_document_has_its_own_label(logged: LiveServer) -> None:
    for number, route in enumerate(route for route in ROUTES if route.path not in PROBES):  # those are logged for DEBUG
        path = route.path.replace("{model_id}", "builtin")
        logged.http.request(route.method, path, headers={"x-request-id": f"route-{number}"})
        assert line_of(logged, f"route-{number}")["route"] == route.path.replace("{model_id}", "{id}")


@pytest.mark.parametrize("nasty", NASTY)
def test_a_bad_request_id_is_replaced(logged: LiveServer, nasty: str) -> None:
    sent = b"GET /v1/models HTTP/1.1\r\nhost: a\r\nx-request-id: " + nasty.encode() + b"\r\n\r\n"
    assert say(logged, sent).status in (0, 200, 400, 431)
    assert nasty[:200] not in logged.log.read_text()
    assert all(isinstance(json.loads(line), dict) for line in logged.log_lines())


@pytest.mark.parametrize("nasty", NASTY)
def test_no_value_can_break_a_line(nasty: str) -> None:
    record = logging.makeLogRecord({"msg": nasty, "value": nasty, "other": {nasty: object}, "levelname": "INFO"})
    line = json.loads(JsonFormatter().format(record))
    assert len(line["value"]) <= MAX_VALUE_CHARS * len("\\u2028")
    for text in (line["message"], line["value"], line["other"], HumanFormatter().format(record)):
        assert text.isprintable()


def test_a_trace_is_continued_and_a_malformed_one_does_no_harm(logged: LiveServer) -> None:
    logged.http.get("/v1/models", headers={"traceparent": PARENT, "x-request-id": "trace"})
    assert line_of(logged, "trace")["trace_id"] == TRACE
    dice = random.Random(5)
    for number in range(200):
        bad = list(PARENT)
        for _ in range(dice.randint(1, 5)):
            bad[dice.randrange(len(bad))] = dice.choice("gZ-_0/f,;")
        headers = {"traceparent": "".join(bad) + "x" * dice.randint(0, 3), "x-request-id": f"bad-{number}"}
        assert logged.http.get("/v1/models", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("came", "is_read"),
    [
        ([PARENT], True),
        ([PARENT.replace("00-", "cc-", 1) + "-more"], True),
        ([PARENT + "-more"], False),
        ([PARENT.replace("00-", "ff-", 1)], False),
        ([PARENT, PARENT], False),
        ([PARENT.upper()], False),
        ([PARENT.replace(TRACE, "0" * 32)], False),
        ([PARENT.replace("00f067aa0ba902b7", "0" * 16)], False),
        ([""], False),
    ],
)
def test_a_traceparent_is_read_as_the_recommendation_says(came: list[str], is_read: bool) -> None:
    found = trace_context(", ".join(came).encode())
    assert (found is not None) == is_read
    if found is not None:
        assert (found.trace_id, found.parent_id, found.is_sampled) == (TRACE, "00f067aa0ba902b7", True)


@pytest.mark.parametrize(
    ("path", "level", "is_logged"),
    [
        ("/v1/models", logging.INFO, True),
        ("/v1/models", logging.WARNING, False),
        ("/livez", logging.DEBUG, True),
        ("/livez", logging.INFO, False),
    ],
)
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_line_below_the_level_is_not_logged_whether_or_not_there_are_spans(
    path: str, level: int, is_logged: bool, is_traced: bool
) -> None:
    tracing = Mock(Tracing) if is_traced else None
    with access_lines(level) as lines:
        pass_through(path, AccessLog(answers, SERVING, tracing))
    assert len(lines) == is_logged
    assert tracing is None or tracing.export.call_count == 1


async def answers(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def pass_through(path: str, app: ASGIApp) -> list[Any]:
    """The messages that an app sends for a GET."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope: Any = {"type": "http", "method": "GET", "path": path, "headers": []}
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]  # it is a coroutine
    return sent


@pytest.mark.parametrize("size", [0, 1, MAX_WRITE_BYTES, MAX_WRITE_BYTES + 1, 3 * MAX_WRITE_BYTES])
@pytest.mark.parametrize("more_body", [False, True])
def test_a_large_body_is_written_in_parts_so_that_little_of_it_waits_for_a_slow_client(
    size: int, more_body: bool
) -> None:
    body = bytes(range(256)) * (size // 256) + b"x" * (size % 256)

    async def document(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body, "more_body": more_body})

    _, *sent = pass_through("/openapi.json", AccessLog(document, SERVING))
    assert b"".join(one["body"] for one in sent) == body
    assert all(len(one["body"]) <= MAX_WRITE_BYTES for one in sent)
    assert [one["more_body"] for one in sent] == [True] * (len(sent) - 1) + [more_body]


@pytest.mark.parametrize("said", [[], [CLOSE]])
@pytest.mark.parametrize("is_draining", [False, True])
def test_while_the_service_drains_every_answer_says_once_that_it_ends_the_connection(
    said: list[tuple[bytes, bytes]], is_draining: bool
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*said]})

    (start,) = pass_through("/livez", AccessLog(app, SimpleNamespace(is_draining=is_draining)))  # type: ignore[arg-type]
    assert start["headers"].count(CLOSE) == (is_draining or bool(said))


def series(server: LiveServer) -> set[str]:
    url = server.log.read_text().partition("metrics on ")[2].partition('"')[0]
    return {line.rpartition(" ")[0] for line in server.http.get(url).text.splitlines() if not line.startswith("#")}


def test_metrics_have_a_port_of_their_own_and_no_path_makes_a_series(logged: LiveServer) -> None:
    assert logged.status("/metrics") == 404
    ask_what_is_not_there(logged, 10)
    before = series(logged)
    assert 'cenote_limit{name="max_connections"}' in before
    ask_what_is_not_there(logged, 300)
    assert series(logged) == before


def ask_what_is_not_there(server: LiveServer, num: int) -> None:
    for number in range(num):
        server.http.request(random.Random(number).choice(["GET", "POST", "BREW"]), f"/x/{num}-{number}?y={number}")
        server.http.get(f"/v1/models/{num}-{number}")


@pytest.mark.slow
def test_a_pair_of_route_and_status_has_a_series_when_it_has_happened(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", str(CHECKPOINT)).wait_until_ready()
    page = server.http.get("/metrics").text
    pairs = [line for line in page.splitlines() if line.startswith("cenote_requests_total{")]
    assert [line for line in pairs if line.endswith(" 0.0")] == []
    assert len(page.encode()) < 40_000
    server.http.post("/v1/embeddings", json={"input": "a"}).raise_for_status()
    assert (
        'cenote_requests_total{front="0",route="/v1/embeddings",status="200"} 1.0' in server.http.get("/metrics").text
    )


@pytest.mark.slow
def test_only_hosts_that_are_allowed_are_answered(start_server: Callable[..., LiveServer]) -> None:
    server = start_server("--model", str(CHECKPOINT), "--allowed-hosts", "pool.example, [::1]").wait_until_ready()
    for host, status in {"pool.example": 200, "POOL.example:8000": 200, "[::1]:80": 200, "other": 400}.items():
        assert server.http.get("/v1/models", headers={"host": host}).status_code == status
