"""A client's own deadline, and a client that hangs up: what nobody waits for is not done, and everything comes back."""

import json
import re
import socket
import time
from collections.abc import Callable

import httpx
import pytest

from tests.conftest import CHECKPOINT, LiveServer, image, image_part, inputs, until
from tests.raw_socket import connect, post

GOOD = {"input": "a good text"}
MANY = {"input": [f"text {i} " + "long " * 250 for i in range(600)]}
"""More than any processor runs within the deadlines below."""


@pytest.fixture(scope="module")
def own(start_server: Callable[..., LiveServer]) -> LiveServer:
    """A server that nobody else keeps busy."""
    return start_server("--model", str(CHECKPOINT), "--max-batch-requests", "4").wait_until_ready()


def wait_for(server: LiveServer, **values: float) -> None:
    until(lambda: all(server.metric(f"cenote_{name}") == value for name, value in values.items()), f"{values}")


def counted(server: LiveServer, status: int) -> float:
    series = rf'cenote_requests_total{{front="0",route="/v1/embeddings",status="{status}"}} (\S+)'
    found = re.search(series, server.http.get("/metrics").text)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("asked", ["", "soon", "0", "-1", "nan", "inf", "1,5", "0x1", "1e-9", "1 2"])
def test_a_header_that_is_no_number_of_seconds_is_refused(own: LiveServer, asked: str) -> None:
    raw = asked.encode()
    answer = own.http.post("/v1/embeddings", json=GOOD, headers=[(b"x-request-timeout", raw)])
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, "invalid_request", "X-Request-Timeout")
    assert own.http.post("/v1/embeddings", json=GOOD, headers=[("x-request-timeout", "1")] * 2).status_code == 400


@pytest.mark.parametrize("asked", ["5", "0.5e1", "1e300", "30.25"])
def test_a_number_of_seconds_is_taken(own: LiveServer, asked: str) -> None:
    assert own.http.post("/v1/embeddings", json=GOOD, headers={"x-request-timeout": asked}).status_code == 200


def test_work_that_is_late_is_504_at_its_time_and_never_reaches_the_model(own: LiveServer) -> None:
    before = own.metric("cenote_batch_inputs_sum")
    began_s = time.monotonic()
    answer = own.http.post("/v1/embeddings", json=MANY, headers={"x-request-timeout": "0.3"})
    took_s = time.monotonic() - began_s
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "deadline_exceeded")
    assert "0.3 s" in answer.json()["error"]["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert took_s < 5
    wait_for(own, queue_inputs=0, queue_tokens=0, queue_bytes=0)
    time.sleep(0.5)
    ran = own.metric("cenote_batch_inputs_sum") - before
    assert ran < len(MANY["input"]) / 2


def sent(server: LiveServer, body: dict[str, object], cut: int = 0) -> socket.socket:
    """A request on a connection of its own; only the first `cut` bytes of its body."""
    raw = post("/v1/embeddings", json.dumps(body).encode())
    connection = connect(server)
    connection.sendall(raw[: raw.index(b"\r\n\r\n") + 4 + cut] if cut else raw)
    return connection


def test_a_client_that_hangs_up_is_499_and_its_work_is_not_done(own: LiveServer) -> None:
    before, gone = own.metric("cenote_batch_inputs_sum"), counted(own, 499)
    connection = sent(own, MANY)
    wait_for(own, queue_inputs=len(MANY["input"]))
    connection.close()
    wait_for(own, queue_inputs=0, queue_tokens=0, queue_bytes=0)
    assert counted(own, 499) == gone + 1
    time.sleep(0.5)
    assert own.metric("cenote_batch_inputs_sum") - before < len(MANY["input"]) / 2
    assert '"status": 499' in own.log.read_text() or "status=499" in own.log.read_text()


def test_a_client_that_hangs_up_in_its_body_is_499_too(own: LiveServer) -> None:
    gone, wrong = counted(own, 499), counted(own, 400)
    sent(own, GOOD, cut=5).close()
    until(lambda: counted(own, 499) == gone + 1, "the count of it")
    assert counted(own, 400) == wrong


def test_images_of_a_client_that_hung_up_leave_no_pixels_behind(own: LiveServer) -> None:
    for seed in range(5):
        parts = [image_part(image(seed * 10 + i, 400, 300)) for i in range(8)]
        connection = sent(own, inputs(*parts))
        time.sleep(0.02 * seed)
        connection.close()
    wait_for(own, queue_inputs=0, queue_bytes=0, pixel_arena_bytes=0)
    own.vectors({"inputs": [{"content": [image_part(image(1, 400, 300))]}]})


def test_an_idle_connection_that_closes_is_no_499(own: LiveServer) -> None:
    gone = counted(own, 499)
    for _ in range(20):
        with httpx.Client(base_url=own.url) as client:
            client.post("/v1/embeddings", json=GOOD).raise_for_status()
    assert counted(own, 499) == gone
