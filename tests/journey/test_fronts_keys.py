"""Two fronts with a file of keys: a key's limits are those of the service, and every front reads the file again."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.conftest import CHECKPOINT, LiveServer, from_base64
from tests.faults.server import faulty_environ, slowed
from tests.journey.test_keys import bearer, line
from tests.two_fronts import all_are_ready, open_clients, until

pytestmark = pytest.mark.slow

A, RATED, LONE, LATE = "cen_key-of-a", "cen_key-with-a-rate", "cen_key-with-one-place", "cen_key-that-comes-later"
PER_S = 4
LINES = line(A, "a") + line(RATED, "rated", max_requests_per_s=PER_S) + line(LONE, "lone", max_concurrent_requests=1)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.jsonl"
    path.write_text(LINES)
    return path


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def two(start_server: Callable[..., LiveServer], key_file: Path, faults: Path) -> LiveServer:
    flags = ("--fronts", "2", "--model", str(CHECKPOINT), "--api-keys", str(key_file), "--result-cache-bytes", "1MiB")
    server = start_server(*flags, env=faulty_environ(faults)).wait_until_ready()
    until(lambda: all_are_ready(server), "both fronts ready")
    return server


@pytest.fixture
def clients(two: LiveServer) -> Iterator[list[httpx.Client]]:
    yield from open_clients(two)


def ask(client: httpx.Client, key: str, text: str = "a text") -> httpx.Response:
    return client.post("/v1/embeddings", json={"input": text}, headers=bearer(key))


def test_a_keys_rate_is_that_of_the_service(clients: list[httpx.Client]) -> None:
    began_s = time.monotonic()
    statuses = [ask(client, RATED).status_code for client in [*clients, *clients]]
    most = PER_S * (1 + time.monotonic() - began_s)  # a second's worth at once, and what has come since
    assert set(statuses) == {200, 429}
    assert PER_S <= statuses.count(200) <= most


def test_a_keys_concurrency_is_that_of_the_service(clients: list[httpx.Client], faults: Path) -> None:
    with slowed(faults, 1.5), ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, clients[0], LONE, "alone")
        time.sleep(0.5)
        assert {ask(client, LONE).status_code for client in clients[1:]} == {429}
        assert first.result().status_code == 200
    assert {ask(client, LONE).status_code for client in clients} == {200}


def test_a_vector_that_is_kept_answers_at_every_front(clients: list[httpx.Client]) -> None:
    answers = [ask(client, A, "asked at every front").json() for client in clients]
    assert [one["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for one in answers] == [False] + [True] * 7
    assert len({json.dumps(one["data"]) for one in answers}) == 1


def test_a_stream_is_answered_at_every_front(clients: list[httpx.Client]) -> None:
    lines = b"".join(b'{"input": "line %d"}\n' % number for number in range(20))
    headers = bearer(A) | {"content-type": "application/x-ndjson"}
    found = []
    for client in clients:
        answer = client.post("/v1/embeddings/stream?encoding_format=base64", content=lines, headers=headers)
        assert answer.status_code == 200
        *rows, last = [json.loads(row) for row in answer.text.splitlines()]
        assert last["usage"]["prompt_tokens"] > 0
        found.append(np.stack([from_base64(row["embedding"]) for row in sorted(rows, key=lambda row: row["index"])]))
    assert np.abs(np.stack(found) - found[0]).max() <= 1e-5


def test_a_signal_has_every_front_read_the_keys_again(
    clients: list[httpx.Client], two: LiveServer, key_file: Path
) -> None:
    assert {ask(client, LATE).status_code for client in clients} == {401}
    key_file.write_text(LINES + line(LATE, "late"))
    two.process.send_signal(signal.SIGHUP)
    until(lambda: {ask(client, LATE).status_code for client in clients} == {200}, "the new key at every front")
