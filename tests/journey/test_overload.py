"""Queues are bounded."""

import json
import socket
import time
from collections.abc import Callable

import pytest

from tests.conftest import CHECKPOINT, LiveServer

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server("--model", str(CHECKPOINT), "--max-queue-bytes", "1MiB").wait_until_ready()


def wait_until(happened: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


def stalled(server: LiveServer, num_bytes: int, num_sent: int = 11) -> socket.socket:
    """A client that announces a body and sends only so much of it."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    head = ["POST /v1/embeddings HTTP/1.1", "host: x", "content-type: application/json", f"content-length: {num_bytes}"]
    connection.sendall("\r\n".join([*head, "", '{"input": "'.ljust(num_sent, "a")]).encode())
    return connection


def test_bodies_on_their_way_are_bounded_and_the_refusal_says_when_to_come_back(small: LiveServer) -> None:
    with stalled(small, 1 << 20):
        wait_until(lambda: small.metric("cenote_queue_bytes") > 0)
        small.ask("/v1/embeddings", {"input": "who announces much and sends little holds little"})
    with stalled(small, 1 << 20, (1 << 20) - 8):
        wait_until(lambda: small.metric("cenote_queue_bytes") >= (1 << 20) - 8)
        answer = small.http.post("/v1/embeddings", json={"input": "a"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
        assert int(answer.headers["retry-after"]) >= 1
        assert small.status("/readyz") == 200
    deadline_s = time.monotonic() + 10
    while small.http.post("/v1/embeddings", json={"input": "a"}).status_code != 200:
        assert time.monotonic() < deadline_s, "the bytes of a client that hung up must be given back"
        time.sleep(0.05)


def test_a_long_text_that_cannot_fit_is_refused_without_harm_to_others(small: LiveServer) -> None:
    """300,000 characters of three bytes: more tokens than fit, by their bytes alone."""
    body = json.dumps({"input": "字" * 300_000}, ensure_ascii=False).encode()
    began_s = time.monotonic()
    answer = small.http.post("/v1/embeddings", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "at least" in answer.json()["error"]["message"]  # not tokenized
    assert small.vectors({"input": "hello"}).shape == (1, 128)
    assert time.monotonic() - began_s < 30
