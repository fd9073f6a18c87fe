"""Two fronts and one engine after one address: what a client sees of it, and what is left when a process dies."""

import http.client
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from service.processes.front_process import LATE_S
from tests.conftest import CHECKPOINT, WAIT_S, LiveServer, children_of, command_of, image, image_part, text_part, until
from tests.faults.server import faulty_environ, slowed
from tests.faults.troubled import KILLER_TOKENS
from tests.two_fronts import MANY, all_are_ready, fronts_of, open_clients, wait_for_ends

NUM_FRONTS = 2
TOKENIZED = re.compile(r'cenote_requests_total\{front="[01]",route="/tokenize",status="200"\} .*')


@pytest.fixture
def clients(two: LiveServer) -> Iterator[list[httpx.Client]]:
    yield from open_clients(two)


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def two(start_server: Callable[..., LiveServer], faults: Path) -> LiveServer:
    flags = ("--fronts", str(NUM_FRONTS), "--model", str(CHECKPOINT), "--max-queue-requests", "64")
    server = start_server(*flags, env=faulty_environ(faults)).wait_until_ready()
    until(lambda: all_are_ready(server), "both fronts ready")
    return server


def vector(client: httpx.Client, *content: dict[str, Any], **body: Any) -> np.ndarray:
    answer = client.post("/v1/embeddings", json={"messages": [{"role": "user", "content": list(content)}], **body})
    assert answer.status_code == 200, answer.text
    return np.array(answer.json()["data"][0]["embedding"], np.float32)


def test_every_front_gives_the_vectors_of_a_single_one(clients: list[httpx.Client], server: LiveServer) -> None:
    content = (image_part(image(5)), text_part("which shapes are there?"))
    with httpx.Client(base_url=server.url) as single:
        want = vector(single, *content)
    for client in clients:
        assert np.abs(vector(client, *content) - want).max() <= 1e-5


def test_an_image_is_encoded_once_for_all_fronts(clients: list[httpx.Client], two: LiveServer) -> None:
    before = two.metric("cenote_vision_encodes_total")
    for number, client in enumerate(clients):
        vector(client, image_part(image(77)), text_part(f"instruction {number}"))
    assert two.metric("cenote_vision_encodes_total") - before == 1


def test_images_of_many_clients_at_once_get_their_own_vectors(clients: list[httpx.Client]) -> None:
    def ask(number: int) -> np.ndarray:
        return vector(clients[number % MANY], image_part(image(1000 + number % 12, 320, 256)))

    with ThreadPoolExecutor(MANY) as pool:
        first = list(pool.map(ask, range(12)))
        again = list(pool.map(ask, range(12, 24)))
    assert np.abs(np.stack(first) - np.stack(again)).max() <= 1e-5


def test_metrics_are_those_of_all_fronts(clients: list[httpx.Client]) -> None:
    def count() -> float:
        lines = clients[0].get("/metrics").text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if TOKENIZED.fullmatch(line))

    before = count()
    for client in clients:
        assert client.post("/tokenize", json={"input": "a"}).status_code == 200
    assert count() - before == MANY


def test_a_name_bound_at_one_front_is_known_at_all(clients: list[httpx.Client]) -> None:
    named = {**image_part(image(3)), "uuid": "the-same-everywhere"}
    want = vector(clients[0], named)
    alone = {"type": "image_url", "uuid": "the-same-everywhere"}
    for client in clients:
        assert np.abs(vector(client, alone) - want).max() <= 1e-5
    other = {**image_part(image(4)), "uuid": "the-same-everywhere"}
    for client in clients:
        body = {"messages": [{"role": "user", "content": [other]}]}
        assert client.post("/v1/embeddings", json=body).status_code == 409


def test_the_queue_is_bounded_for_all_fronts_together(clients: list[httpx.Client], faults: Path) -> None:
    def ask(number: int) -> int:
        texts = [f"text {number} {i}" for i in range(32)]
        return clients[number].post("/v1/embeddings", json={"input": texts}).status_code

    with slowed(faults, 1.0), ThreadPoolExecutor(MANY) as pool:
        statuses = sorted(pool.map(ask, range(6)))
    assert statuses.count(503) in (3, 4, 5)  # two fit; a race between fronts may let in one more
    assert set(statuses) == {200, 503}


def test_a_front_that_dies_takes_its_own_connections_along(two: LiveServer) -> None:
    wait_for_ends(two)
    address = two.url.removeprefix("http://")
    opened = [http.client.HTTPConnection(address, timeout=WAIT_S) for _ in range(MANY)]
    for one in opened:
        one.connect()
        one.auto_open = 0
    pids = fronts_of(two)
    os.kill(pids[0], signal.SIGKILL)
    until(lambda: len(fronts_of(two)) == NUM_FRONTS and pids[0] not in fronts_of(two), "another front")
    lost = 0
    for one in opened:
        try:
            one.request("GET", "/readyz")
            assert one.getresponse().status == 200
        except (http.client.HTTPException, OSError):
            lost += 1
        one.close()
    assert abs(lost - MANY // NUM_FRONTS) <= 1  # the fixture has a connection as well
    until(lambda: all_are_ready(two), "the new front ready")
    with httpx.Client(base_url=two.url) as one, httpx.Client(base_url=two.url) as other:
        content = (image_part(image(5)), text_part("again"))
        assert np.abs(vector(one, *content) - vector(other, *content)).max() <= 1e-5
    assert two.metric("cenote_engine_restarts_total") == 0


@pytest.mark.slow
def test_a_front_that_stops_holds_up_no_other(clients: list[httpx.Client], two: LiveServer) -> None:
    stopped = fronts_of(two)[0]
    os.kill(stopped, signal.SIGSTOP)
    try:
        answered = 0
        for number, client in enumerate(clients):
            try:
                vector_body = {"input": [f"{number} {i}" for i in range(16)]}
                answered += client.post("/v1/embeddings", json=vector_body, timeout=1.5).status_code == 200
            except httpx.TimeoutException:
                pass
        assert 0 < answered < MANY
    finally:
        os.kill(stopped, signal.SIGCONT)
    until(lambda: all_are_ready(two), "ready again")


@pytest.mark.slow
def test_a_front_that_is_stuck_gets_no_more_connections_and_is_replaced(two: LiveServer) -> None:
    stuck = fronts_of(two)[0]
    os.kill(stuck, signal.SIGSTOP)
    time.sleep(LATE_S + 1)
    assert all_are_ready(two)  # by new connections, of which each front would have half
    until(lambda: stuck not in fronts_of(two) and len(fronts_of(two)) == NUM_FRONTS, "another front")
    until(lambda: all_are_ready(two), "the new front ready")
    assert two.metric("cenote_engine_restarts_total") == 0


@pytest.mark.slow
def test_an_input_that_kills_engines_is_refused_at_every_front(clients: list[httpx.Client], two: LiveServer) -> None:
    text = killer(clients[0])
    before = two.metric("cenote_engine_restarts_total")
    told = []
    for number in range(5):
        until(lambda: all_are_ready(two), "ready again")
        answer = clients[number % MANY].post("/v1/embeddings", json={"input": text})
        told.append((answer.status_code, answer.json()["error"]["code"]))
    assert told == [(503, "engine_restarting")] * 3 + [(500, "internal_error")] * 2
    assert "the engine ended each time" in answer.json()["error"]["message"]
    assert clients[0].post("/v1/embeddings", json={"input": "another text"}).status_code == 200
    assert two.metric("cenote_engine_restarts_total") - before == 3


def killer(client: httpx.Client) -> str:
    text = "a"
    while (num := client.post("/tokenize", json={"input": text}).json()["count"]) < KILLER_TOKENS:
        text += " a" * (KILLER_TOKENS - num)
    assert num == KILLER_TOKENS
    return text


def test_a_dead_engine_is_replaced_for_all(two: LiveServer) -> None:
    os.kill(two.engine_pid(), signal.SIGKILL)
    until(lambda: not all_are_ready(two), "not ready")
    until(lambda: all_are_ready(two), "ready again")
    assert two.vectors({"input": ["after"]}).shape[0] == 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 0)])
def test_nothing_outlives_the_main_process(start_server: Callable[..., LiveServer], number: int, code: int) -> None:
    """Killed or told to go: all processes end, and SIGTERM says that all went well."""
    server = start_server("--fronts", "2", "--model", str(CHECKPOINT)).wait_until_ready()
    children = children_of(server.process.pid)
    assert len(children) == 3
    server.process.send_signal(number)
    assert server.ended() == code
    until(lambda: not any(command_of(pid) for pid in children), "the end of all")
    assert "Traceback" not in server.log.read_text()
