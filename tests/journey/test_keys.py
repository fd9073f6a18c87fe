"""Two fronts with a file of keys: who gets in, what a tenant sees of another, and what a key's limits mean."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest

from service.cli import main
from service.front.admission.api_keys import Keyring
from service.front.admission.key_file import ApiKey, hash_key
from service.front.admission.shared_table import SharedTable
from service.openapi.document import build
from tests.conftest import CHECKPOINT, ROOT, LiveServer, from_base64, image, image_part, plain_environ, until
from tests.faults.server import faulty_environ, slowed
from tests.raw_socket import address
from tests.stream_client import NDJSON
from tests.two_fronts import all_are_ready, open_clients

A, B, RATED, LONE = "cen_key-of-a", "cen_key-of-b", "cen_key-with-a-rate", "cen_key-with-one-place"
PER_S = 4
GOOD: dict[str, object] = {"input": "a good text"}


def line(key: str, tenant: str, **limits: float) -> str:
    values = {"tenant": tenant, "sha256": hash_key(key.encode()).hex(), **limits}
    return msgspec.json.encode(msgspec.convert(values, ApiKey)).decode() + "\n"


LINES = line(A, "a") + line(B, "b")
LINES += line(RATED, "rated", max_requests_per_s=PER_S) + line(LONE, "lone", max_concurrent_requests=1)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.jsonl"
    path.write_text(LINES)
    return path


@pytest.fixture(scope="module")
def faults(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("faults")


@pytest.fixture(scope="module")
def locked(start_server: Callable[..., LiveServer], key_file: Path, faults: Path) -> LiveServer:
    flags = ("--fronts", "2", "--model", str(CHECKPOINT), "--api-keys", str(key_file), "--result-cache-bytes", "1MiB")
    server = start_server(*flags, env=faulty_environ(faults)).wait_until_ready()
    until(lambda: all_are_ready(server), "both fronts ready")
    return server


@pytest.fixture
def clients(locked: LiveServer) -> Iterator[list[httpx.Client]]:
    """Of which each front has half."""
    yield from open_clients(locked)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def ask(http: httpx.Client, key: str, body: dict[str, object] = GOOD) -> httpx.Response:
    return http.post("/v1/embeddings", json=body, headers=bearer(key))


def test_a_key_opens_by_each_header_and_on_every_api(locked: LiveServer) -> None:
    for headers in (bearer(A), {"X-API-Key": A}, {"api-key": A}, {"authorization": f"bEARER  {A}"}):
        assert locked.http.post("/v1/embeddings", json=GOOD, headers=headers).status_code == 200
    assert locked.http.post("/v2/embed", json={"texts": ["x"]}, headers=bearer(B)).status_code == 200
    assert locked.http.get("/v1/models", headers=bearer(A)).status_code == 200
    name = locked.http.get("/v1/models", headers=bearer(A)).json()["data"][0]["id"].replace("/", "-")
    azure = f"/openai/deployments/{name}/embeddings?api-version=1"
    assert [locked.http.post(azure, json=GOOD, headers=one).status_code for one in ({"api-key": A}, {})] == [200, 401]
    for path in ("/api/embed", "/pooling"):
        assert [locked.http.post(path, json=GOOD, headers=one).status_code for one in (bearer(B), {})] == [200, 401]
    assert [locked.http.get("/docs/embeddings", headers=headers).status_code for headers in ({}, bearer(A))] == [
        200
    ] * 2
    assert [locked.http.get("/llms.txt", headers=headers).status_code for headers in ({}, bearer(A))] == [401, 200]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"Bearer wrong")],
        [(b"authorization", b"")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", b"Bearer\t" + A.encode())],
        [(b"authorization", b"Bearer " + A.encode() + b" l")],
        [(b"proxy-authorization", b"Bearer " + A.encode())],
        [(b"authorization", A.encode())],
        [(b"authorization", b"Basic " + A.encode())],
        [(b"authorization", b"Bearer \xff\xfe")],
        [(b"authorization", "Bearer schlüssel".encode())],
        [(b"authorization", b"Bearer " + b"k" * 30_000)],
        [(b"x-api-key", b"")],
        [(b"x-api-key", b"Bearer " + A.encode())],
        [(b"x-api-key", A.encode()), (b"x-api-key", A.encode())],
        [(b"authorization", b"Basic x"), (b"x-api-key", A.encode())],
        [(b"api-key", b"wrong")],
        [(b"api-key", A.encode()), (b"x-api-key", A.encode())],
        [(b"authorization", b"Bearer " + A.encode()), (b"authorization", b"Bearer " + A.encode())],
        [(b"authorization", b"Bearer " + A.encode()), (b"x-api-key", A.encode())],
    ],
)
def test_whatever_is_not_one_known_key_is_401(locked: LiveServer, headers: list[tuple[bytes, bytes]]) -> None:
    for path in ("/v1/embeddings", "/v2/embed"):
        answer = locked.http.post(path, json=GOOD, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        error = answer.json()["error"]
        assert (error["code"], error["type"]) == ("invalid_api_key", "invalid_request_error")
        assert error["request_id"] == answer.headers["x-request-id"]
    assert set(answer.json()) == {"id", "message", "detail", "error"}  # Cohere's shape, and Jina's


def test_a_refused_body_is_not_waited_for_and_the_connection_survives(locked: LiveServer) -> None:
    """The body is announced and never sent: the answer must not wait for it."""
    with socket.create_connection(address(locked), timeout=5) as connection:
        connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
    for _ in range(3):  # one connection, kept
        assert locked.http.post("/v1/embeddings", json={"input": "x" * 100_000}).status_code == 401
    assert ask(locked.http, A).status_code == 200


def test_only_the_probes_metrics_and_the_pages_are_open(locked: LiveServer) -> None:
    """Of everything in the document, everything that is not in it, and every method."""
    paths = build()["paths"]
    inside = [path.format(model_id="builtin", deployment="builtin") for path in paths] + [
        "/playground/main.js",
        "/playground/pages",
    ]
    near = ["/livez/", "//livez", "/livez/x", "/livezz", "/health/../v1/models", "/%6civez/x", "/metrics.json", "/none"]
    near += ["/playground", "/playground/", "/playground/main.js/", "/playground/../v1/models", "/playground/files.py"]
    near += ["/docs/none", "/docs/", "/docs/files.py", "/llms.txt"]
    open_: set[str] = set()
    for path in [*inside, *near]:
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "PROPFIND"):
            answer = locked.http.request(method, path)
            if answer.status_code != 401:
                open_.add(httpx.URL(path).path)
    assert open_ == {"/livez", "/readyz", "/health", "/metrics", "/", "/docs", "/playground/main.js"}


def test_a_tenant_never_meets_what_another_has_computed(locked: LiveServer) -> None:
    body: Any = {"inputs": [{"content": [image_part(image(900))]}]}
    caches = [ask(locked.http, key, body).headers["x-encoder-cache"] for key in (A, A, B, B)]
    assert caches == ["hit=0, miss=1", "hit=1, miss=0"] * 2
    decoded = locked.metric("cenote_pictures_decoded_total")
    ask(locked.http, B, body)
    assert locked.metric("cenote_pictures_decoded_total") == decoded
    hashes = [
        locked.http.post("/v1/image_embeds", json={"images": body["inputs"][0]["content"]}, headers=bearer(key))
        for key in (A, B)
    ]
    assert len({answer.json()["data"][0]["content_hash"] for answer in hashes}) == 2
    first, other, again = (ask(locked.http, key, {"input": "kept"}).json() for key in (A, B, A))
    assert [one["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for one in (first, other, again)] == [0, 0, 1]
    assert first["data"] == again["data"]  # the kept vector, bit for bit


def test_a_name_belongs_to_its_tenant(locked: LiveServer) -> None:
    part = {"type": "image_url", "uuid": "front-1"}
    full = {"inputs": [{"content": [part | {"image_url": {"url": image(901)}}]}]}
    alone = {"inputs": [{"content": [part]}]}
    assert ask(locked.http, A, full).status_code == 200
    assert ask(locked.http, A, alone).status_code == 200
    answer = ask(locked.http, B, alone)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "cache_miss")
    other = {"inputs": [{"content": [part | {"image_url": {"url": image(902)}}]}]}
    assert ask(locked.http, A, other).json()["error"]["code"] == "uuid_conflict"
    assert ask(locked.http, B, other).status_code == 200


def test_a_keys_rate_is_that_of_the_service_and_a_429_has_the_time_to_retry(clients: list[httpx.Client]) -> None:
    began_s = time.monotonic()
    answers = [ask(client, RATED) for client in [*clients, *clients]]
    most = PER_S * (1 + time.monotonic() - began_s)  # a second's worth at once, and what has come since
    num_well, refused = [one.status_code for one in answers].count(200), [one for one in answers if one.is_error][-1]
    assert PER_S <= num_well <= most
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert refused.headers["retry-after"] == "1"
    assert 0 < int(refused.headers["retry-after-ms"]) <= 1000 / PER_S + 50
    assert ask(clients[0], A).status_code == 200  # nobody else is held up
    time.sleep(int(refused.headers["retry-after-ms"]) / 1e3 + 0.01)
    assert ask(clients[0], RATED).status_code == 200


def test_a_keys_concurrency_is_that_of_the_service(clients: list[httpx.Client], faults: Path) -> None:
    with slowed(faults, 1.5), ThreadPoolExecutor(1) as pool:
        first = pool.submit(ask, clients[0], LONE, {"input": "alone"})
        time.sleep(0.5)
        assert {ask(client, LONE).status_code for client in clients[1:]} == {429}
        assert first.result().status_code == 200
    assert {ask(client, LONE).status_code for client in clients} == {200}


def test_a_vector_that_is_kept_answers_at_every_front(clients: list[httpx.Client]) -> None:
    answers = [ask(client, A, {"input": "asked at every front"}).json() for client in clients]
    assert [one["usage"]["prompt_tokens_details"]["cached_tokens"] > 0 for one in answers] == [False] + [True] * 7
    assert len({json.dumps(one["data"]) for one in answers}) == 1


def test_a_stream_is_answered_at_every_front(clients: list[httpx.Client]) -> None:
    lines, found = b"".join(b'{"input": "line %d"}\n' % number for number in range(20)), []
    for client in clients:
        answer = client.post("/v1/embeddings/stream?encoding_format=base64", content=lines, headers=bearer(A) | NDJSON)
        *rows, last = [json.loads(row) for row in answer.text.splitlines()]
        assert last["usage"]["prompt_tokens"] > 0
        found.append(np.stack([from_base64(row["embedding"]) for row in sorted(rows, key=lambda row: row["index"])]))
    assert np.abs(np.stack(found) - found[0]).max() <= 1e-5


def test_every_front_reads_a_new_file_and_none_a_broken_one(
    clients: list[httpx.Client], locked: LiveServer, key_file: Path
) -> None:
    def told(expected: dict[str, int]) -> bool:
        return all({ask(client, key).status_code for client in clients} == {code} for key, code in expected.items())

    new = key_file.with_suffix(".new")
    for text, expected in (
        (LINES + line("cen_new", "a"), {A: 200, "cen_new": 200}),
        (LINES + "oops", {A: 200, "cen_new": 200}),
        (LINES, {A: 200, "cen_new": 401}),
    ):
        new.write_text(text)
        new.replace(key_file)
        until(lambda expected=expected: told(expected), "what the file says", 5)
        time.sleep(1.2 if "oops" in text else 0)
        assert told(expected)
    log = locked.log.read_text()
    assert "the keys stay as they were" in log
    assert all(key not in log for key in (A, B, RATED, "cen_new"))


def test_a_file_that_is_not_one_of_keys_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(json.dumps({"tenant": "a"}))
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--api-keys", str(tmp_path / "keys")]
    ended = subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, timeout=60)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "line 1" in ended.stderr


def test_a_new_key_opens_with_the_line_that_comes_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["key", "new", "acme", "--max-requests-per-s", "5"])
    made = capsys.readouterr()
    key = made.err.split()[-1]
    assert key not in made.out
    (tmp_path / "keys").write_text(made.out)
    found = Keyring(tmp_path / "keys", SharedTable.of_one_front()).find(key.encode())
    assert found
    assert (found.tenant.name, found.meter.key.max_requests_per_s) == ("acme", 5.0)
    with pytest.raises(SystemExit, match="2"):
        main(["key", "new", "a b"])
