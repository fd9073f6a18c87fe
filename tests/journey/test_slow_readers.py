"""Answers that wait for slow readers: bounded, refused before their work is begun, given back as they are taken."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.builders import image_bytes, noise
from tests.conftest import CHECKPOINT, WAIT_S, LiveServer, data_uri, image_part, until
from tests.raw_socket import address, connect, post

pytestmark = pytest.mark.slow
"""Servers that start again and again."""

DIMENSIONS = 128
NUM_INPUTS = 2_000
ANSWER_BYTES = NUM_INPUTS * DIMENSIONS * 4
MAX_BYTES = 2 * ANSWER_BYTES + 1
ASK = post("/v1/embeddings", json.dumps({"input": ["a"] * NUM_INPUTS}).encode())


@pytest.fixture(scope="module")
def server(start_server: Callable[..., LiveServer]) -> LiveServer:
    flags = ("--max-queue-bytes", str(MAX_BYTES), "--log-format", "json", "--result-cache-bytes", "1MiB")
    return start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()


def held(server: LiveServer) -> float:
    return server.metric("cenote_answer_bytes")


@contextmanager
def slow_reader(server: LiveServer, request: bytes = ASK) -> Iterator[socket.socket]:
    """A client that has read the beginning of its answer."""
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(WAIT_S)
        client.connect(address(server))
        client.sendall(request)
        assert client.recv(12).startswith(b"HTTP/1.1 200")
        yield client


def test_answers_that_are_not_read_are_bounded_and_others_are_refused_before_their_work(server: LiveServer) -> None:
    with slow_reader(server), slow_reader(server):
        assert ANSWER_BYTES < held(server) <= MAX_BYTES
        refused = server.http.post("/v1/embeddings", json={"input": ["a"] * NUM_INPUTS})
        error = refused.json()["error"]
        assert (refused.status_code, error["code"]) == (503, "overloaded")
        assert "this one would hold 1024000 more" in error["message"]
        assert refused.headers["retry-after"] == "2"
        assert server.vectors({"input": "a small answer has no part in that"}).shape == (1, DIMENSIONS)
    until(lambda: held(server) == 0, "bytes held or given back")
    assert server.vectors({"input": ["a"] * NUM_INPUTS}).shape == (NUM_INPUTS, DIMENSIONS)
    until(lambda: held(server) == 0, "bytes held or given back")


def test_what_is_taken_is_given_back_while_the_rest_waits(server: LiveServer) -> None:
    with slow_reader(server) as client:
        until(lambda: 0 < held(server) < ANSWER_BYTES, "bytes held or given back")
        before, num_read = held(server), 0
        while num_read < 1_000_000:
            num_read += len(client.recv(1 << 16))
        until(lambda: 0 < held(server) < before - 100_000, "bytes held or given back")
    until(lambda: held(server) == 0, "bytes held or given back")


def test_tokens_that_are_not_taken_are_held_too(server: LiveServer) -> None:
    body = json.dumps({"input": ["many words " * 20] * 2_000}).encode()
    with slow_reader(server, post("/tokenize", body)):
        assert held(server) > 0
    until(lambda: held(server) == 0, "bytes held or given back")


def test_an_answer_that_never_comes_gives_back_what_it_would_have_held(server: LiveServer) -> None:
    wrong = {"input": ["a"] * (NUM_INPUTS - 1) + ["too long " * 20_000]}
    assert server.http.post("/v1/embeddings", json=wrong).status_code == 400
    until(lambda: held(server) == 0, "bytes held or given back")
    texts = [f"{i} " + "many words " * 20 for i in range(NUM_INPUTS)]
    with socket.create_connection(address(server)) as client:
        client.sendall(post("/v1/embeddings", json.dumps({"input": texts}).encode()))
        until(lambda: held(server) == ANSWER_BYTES, "bytes held or given back")
    until(lambda: held(server) == 0, "bytes held or given back")


def test_an_image_counts_in_the_tokens_that_it_can_have_and_not_in_its_bytes(server: LiveServer) -> None:
    body = {"inputs": [{"content": [image_part(data_uri(image_bytes(noise(256, 256))))]}]}
    with slow_reader(server):
        assert held(server) > 0
        answer = server.http.post("/tokenize", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"][0]["image_tokens"] == 64
    until(lambda: held(server) == 0, "bytes held or given back")


@pytest.fixture(scope="module")
def small(start_server: Callable[..., LiveServer]) -> LiveServer:
    return start_server("--model", str(CHECKPOINT), "--max-queue-bytes", "1MiB").wait_until_ready()


def stalled(server: LiveServer, num_bytes: int, num_sent: int = 11) -> socket.socket:
    """A client that announces a body and sends only so much of it."""
    connection = connect(server)
    whole = post("/v1/embeddings", b'{"input": "'.ljust(num_bytes, b"a"))
    connection.sendall(whole[: len(whole) - num_bytes + num_sent])
    return connection


def test_bodies_on_their_way_are_bounded_and_the_refusal_says_when_to_come_back(small: LiveServer) -> None:
    with stalled(small, 1 << 20):
        until(lambda: small.metric("cenote_queue_bytes") > 0, "its bytes")
        small.ask("/v1/embeddings", {"input": "who announces much and sends little holds little"})
    with stalled(small, 1 << 20, (1 << 20) - 8):
        until(lambda: small.metric("cenote_queue_bytes") >= (1 << 20) - 8, "its bytes")
        answer = small.http.post("/v1/embeddings", json={"input": "a"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "overloaded")
        assert int(answer.headers["retry-after"]) >= 1
        assert small.status("/readyz") == 200
    until(
        lambda: small.http.post("/v1/embeddings", json={"input": "a"}).status_code == 200,
        "the bytes of a client that hung up",
    )


def test_a_long_text_that_cannot_fit_is_refused_without_harm_to_others(small: LiveServer) -> None:
    """300,000 characters of three bytes: more tokens than fit, by their bytes alone."""
    body = json.dumps({"input": "字" * 300_000}, ensure_ascii=False).encode()
    began_s = time.monotonic()
    answer = small.http.post("/v1/embeddings", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")
    assert "at least" in answer.json()["error"]["message"]  # not tokenized
    assert small.vectors({"input": "hello"}).shape == (1, 128)
    assert time.monotonic() - began_s < 30
