"""Refusals as the tests of this folder state them: a request, and what must be said of it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from service.http.api_dialect import dialect_of
from tests.conftest import LiveServer

V1, V2 = "/v1/embeddings", "/v2/embed"
JSON = {"content-type": "application/json"}
GOOD = {"input": "a good text"}


@dataclass(frozen=True)
class Refusal:
    """A request, and what must be said of it."""

    name: str
    path: str
    body: dict[str, Any] | bytes
    status: int
    code: str
    param: str | None = None
    index: int | None = None
    words: Sequence[str] = ()
    headers: dict[str, str] = field(default_factory=lambda: JSON)

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def v1(name: str, body: dict[str, Any] | bytes, status: int, code: str, *place: Any, words: str = "") -> Refusal:
    return Refusal(f"v1 {name}", V1, body, status, code, *place, words=tuple(words.split("|")))


def v2(name: str, body: dict[str, Any] | bytes, status: int, code: str, *place: Any, words: str = "") -> Refusal:
    return Refusal(f"v2 {name}", V2, body, status, code, *place, words=tuple(words.split("|")))


def assert_refused(answer: httpx.Response, refusal: Refusal) -> None:
    body = answer.json()
    error = body["error"]
    got = (answer.status_code, error["code"], error["param"], error["index"])
    assert got == (refusal.status, refusal.code, refusal.param, refusal.index), error["message"]
    assert error["type"] == ("not_found_error" if refusal.status == 404 else "invalid_request_error")
    assert error["request_id"] == answer.headers["x-request-id"]
    assert [word for word in refusal.words if word not in error["message"]] == [], error["message"]
    assert len(error["message"]) < 600
    assert refusal.param is None or f"`{refusal.param}`" in error["message"], error["message"]  # all that SDKs show
    is_cohere = dialect_of(refusal.path) == "cohere" or refusal.code == "route_not_found"  # then nobody knows who asks
    assert set(body) == ({"id", "message", "detail", "error"} if is_cohere else {"error"})
    if is_cohere:
        assert (body["id"], body["message"]) == (error["request_id"], error["message"])
        assert body["detail"] == error["message"], "Jina's clients show nothing else"


def refusal(server: LiveServer, asked: dict[str, Any], path: str = V1) -> tuple[int, str, str, str]:
    """Status, code, param and message of the error of a request."""
    answer = server.http.post(path, json=asked)
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["param"], error["message"]


@pytest.fixture(scope="module")
def no_server_fault(server: LiveServer) -> Iterator[None]:
    """Fails the file whose tests made the shared server count a 5xx or log a traceback."""
    before, log_bytes = _server_faults(server), len(server.log.read_bytes())
    yield
    assert _server_faults(server) == before
    assert b"Traceback" not in server.log.read_bytes()[log_bytes:]


def _server_faults(server: LiveServer) -> list[str]:
    """The series that count answers with a 5xx, except those of a server that was not ready yet."""
    counted = [
        line for line in server.http.get("/metrics").text.splitlines() if line.startswith("cenote_requests_total{")
    ]
    assert counted
    return [
        line for line in counted if 'status="5' in line and 'route="/readyz"' not in line and not line.endswith(" 0.0")
    ]
