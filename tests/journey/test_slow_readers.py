"""Answers that wait for slow readers: bounded, refused before their work is begun, given back as they are taken."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.builders import image_bytes, noise
from tests.conftest import CHECKPOINT, LiveServer, data_uri, image_part
from tests.raw_socket import address, post

pytestmark = pytest.mark.slow
"""Servers that start again and again."""

DIMENSIONS = 128
NUM_INPUTS = 2_000
ANSWER_BYTES = NUM_INPUTS * DIMENSIONS * 4
MAX_BYTES = 2 * ANSWER_BYTES + 1
ASK = post("/v1/embeddings", json.dumps({"input": ["a"] * NUM_INPUTS}).encode())
WAIT_S = 60


@pytest.fixture(scope="module")
def server(start_server: Callable[..., LiveServer]) -> LiveServer:
    flags = ("--max-queue-bytes", str(MAX_BYTES), "--log-format", "json", "--result-cache-bytes", "1MiB")
    return start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()


def wait_until(happened: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not happened():
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


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
    wait_until(lambda: held(server) == 0)
    assert server.vectors({"input": ["a"] * NUM_INPUTS}).shape == (NUM_INPUTS, DIMENSIONS)
    wait_until(lambda: held(server) == 0)


def test_what_is_taken_is_given_back_while_the_rest_waits(server: LiveServer) -> None:
    with slow_reader(server) as client:
        wait_until(lambda: 0 < held(server) < ANSWER_BYTES)
        before, num_read = held(server), 0
        while num_read < 1_000_000:
            num_read += len(client.recv(1 << 16))
        wait_until(lambda: 0 < held(server) < before - 100_000)
    wait_until(lambda: held(server) == 0)


def test_tokens_that_are_not_taken_are_held_too(server: LiveServer) -> None:
    body = json.dumps({"input": ["many words " * 20] * 2_000}).encode()
    with slow_reader(server, post("/tokenize", body)):
        assert held(server) > 0
    wait_until(lambda: held(server) == 0)


def test_an_answer_that_never_comes_gives_back_what_it_would_have_held(server: LiveServer) -> None:
    wrong = {"input": ["a"] * (NUM_INPUTS - 1) + ["too long " * 20_000]}
    assert server.http.post("/v1/embeddings", json=wrong).status_code == 400
    wait_until(lambda: held(server) == 0)
    texts = [f"{i} " + "many words " * 20 for i in range(NUM_INPUTS)]
    with socket.create_connection(address(server)) as client:
        client.sendall(post("/v1/embeddings", json.dumps({"input": texts}).encode()))
        wait_until(lambda: held(server) == ANSWER_BYTES)
    wait_until(lambda: held(server) == 0)


def test_an_image_counts_in_the_tokens_that_it_can_have_and_not_in_its_bytes(server: LiveServer) -> None:
    body = {"inputs": [{"content": [image_part(data_uri(image_bytes(noise(256, 256))))]}]}
    with slow_reader(server):
        assert held(server) > 0
        answer = server.http.post("/tokenize", json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["data"][0]["image_tokens"] == 64
    wait_until(lambda: held(server) == 0)
