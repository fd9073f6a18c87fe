"""With a file of keys: who gets in, what a tenant sees of another, and what a key's limits mean."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
import pytest

from service.front.admission.api_keys import Keyring
from service.front.admission.key_file import ApiKey, hash_key
from service.front.admission.shared_table import SharedTable
from service.openapi.document import build
from tests.conftest import CHECKPOINT, ROOT, LiveServer, image, plain_environ

A, B, SLOW = "cen_key-of-a", "cen_key-of-b", "cen_key-with-limits"
GOOD = {"input": "a good text"}


def line(key: str, tenant: str, **limits: float) -> str:
    values = {"tenant": tenant, "sha256": hash_key(key.encode()).hex(), **limits}
    return msgspec.json.encode(msgspec.convert(values, ApiKey)).decode() + "\n"


LINES = line(A, "a") + line(B, "b") + line(SLOW, "slow", max_requests_per_s=0.5, max_concurrent_requests=1)


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "keys.jsonl"
    path.write_text(LINES)
    return path


@pytest.fixture(scope="module")
def locked(start_server: Callable[..., LiveServer], key_file: Path) -> LiveServer:
    return start_server("--model", str(CHECKPOINT), "--api-keys", str(key_file)).wait_until_ready()


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def ask(server: LiveServer, key: str, body: dict[str, object]) -> httpx.Response:
    return server.http.post("/v1/embeddings", json=body, headers=bearer(key))


def test_a_key_opens_by_either_header_and_on_every_api(locked: LiveServer) -> None:
    for headers in (bearer(A), {"x-api-key": A}, {"authorization": f"bEARER  {A}"}):
        assert locked.http.post("/v1/embeddings", json=GOOD, headers=headers).status_code == 200
    assert locked.http.post("/v2/embed", json={"texts": ["x"]}, headers=bearer(B)).status_code == 200
    assert locked.http.get("/v1/models", headers=bearer(A)).status_code == 200
    assert locked.http.get("/docs", headers=bearer(A)).status_code == 200
    assert [locked.http.get("/llms.txt", headers=headers).status_code for headers in ({}, bearer(A))] == [401, 200]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [(b"authorization", b"Bearer wrong")],
        [(b"authorization", b"Bearer")],
        [(b"authorization", A.encode())],
        [(b"authorization", b"Basic " + A.encode())],
        [(b"authorization", b"Bearer \xff\xfe")],
        [(b"authorization", "Bearer schlüssel".encode())],
        [(b"authorization", b"Bearer " + b"k" * 30_000)],
        [(b"x-api-key", b"")],
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
    host, port = locked.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 401")
    for _ in range(3):  # one connection, kept
        assert locked.http.post("/v1/embeddings", json={"input": "x" * 100_000}).status_code == 401
    assert ask(locked, A, GOOD).status_code == 200


def test_only_the_probes_metrics_and_the_playground_are_open(locked: LiveServer) -> None:
    """Of everything in the document, everything that is not in it, and every method."""
    paths = build()["paths"]
    inside = [path.replace("{model_id}", "builtin") for path in paths] + ["/playground/main.js", "/playground/pages"]
    near = ["/livez/", "//livez", "/livez/x", "/livezz", "/health/../v1/models", "/%6civez/x", "/metrics.json", "/none"]
    near += ["/playground", "/playground/", "/playground/main.js/", "/playground/../v1/models", "/playground/files.py"]
    open_: set[str] = set()
    for path in [*inside, *near]:
        for method in ("GET", "HEAD", "OPTIONS", "POST", "PUT", "DELETE", "TRACE", "PROPFIND"):
            answer = locked.http.request(method, path)
            if answer.status_code != 401:
                open_.add(httpx.URL(path).path)
    assert open_ == {"/livez", "/readyz", "/health", "/metrics", "/", "/playground/main.js"}


def test_a_tenant_never_meets_what_another_has_computed(locked: LiveServer) -> None:
    body = {"inputs": [{"content": [{"type": "image_url", "image_url": {"url": image(900)}}]}]}
    caches = [ask(locked, key, body).headers["x-encoder-cache"] for key in (A, A, B, B)]
    assert caches == ["hit=0, miss=1", "hit=1, miss=0"] * 2
    decoded = locked.metric("cenote_pictures_decoded_total")
    ask(locked, B, body)
    assert locked.metric("cenote_pictures_decoded_total") == decoded
    hashes = [
        locked.http.post(
            "/v1/image_embeds",
            json={"images": body["inputs"][0]["content"]},  # type: ignore[index]
            headers=bearer(key),
        ).json()["data"][0]["content_hash"]
        for key in (A, B)
    ]
    assert hashes[0] != hashes[1]


def test_a_name_belongs_to_its_tenant(locked: LiveServer) -> None:
    part = {"type": "image_url", "uuid": "front-1"}
    full = {"inputs": [{"content": [part | {"image_url": {"url": image(901)}}]}]}
    alone = {"inputs": [{"content": [part]}]}
    assert ask(locked, A, full).status_code == 200
    assert ask(locked, A, alone).status_code == 200
    answer = ask(locked, B, alone)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "cache_miss")
    other = {"inputs": [{"content": [part | {"image_url": {"url": image(902)}}]}]}
    assert ask(locked, A, other).json()["error"]["code"] == "uuid_conflict"
    assert ask(locked, B, other).status_code == 200


def test_a_key_over_its_rate_gets_429_with_the_time_to_retry(locked: LiveServer) -> None:
    deadline_s = time.monotonic() + 60
    while (refused := ask(locked, SLOW, GOOD)).status_code == 200:
        assert time.monotonic() < deadline_s
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert refused.headers["retry-after"] in ("1", "2")
    assert 0 < int(refused.headers["retry-after-ms"]) <= 2500
    assert ask(locked, A, GOOD).status_code == 200  # nobody else is held up
    time.sleep(int(refused.headers["retry-after-ms"]) / 1e3 + 0.01)
    assert ask(locked, SLOW, GOOD).status_code == 200


def test_a_new_file_counts_within_two_seconds_and_a_broken_one_never(locked: LiveServer, key_file: Path) -> None:
    new = key_file.with_suffix(".new")
    for text, expected in (
        (LINES + line("cen_new", "a"), {A: 200, "cen_new": 200}),
        (LINES + "oops", {A: 200, "cen_new": 200}),
        (LINES, {A: 200, "cen_new": 401}),
    ):
        new.write_text(text)
        new.replace(key_file)
        deadline_s = time.monotonic() + 5
        while {key: ask(locked, key, GOOD).status_code for key in expected} != expected:
            assert time.monotonic() < deadline_s
            time.sleep(0.1)
        time.sleep(1.2 if "oops" in text else 0)
        assert {key: ask(locked, key, GOOD).status_code for key in expected} == expected
    log = locked.log.read_text()
    assert "the keys stay as they were" in log
    assert all(key not in log for key in (A, B, SLOW, "cen_new"))


def test_a_file_that_is_not_one_of_keys_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(json.dumps({"tenant": "a"}))
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--api-keys", str(tmp_path / "keys")]
    ended = subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, timeout=60)
    assert (ended.returncode, len(ended.stderr.splitlines())) == (2, 1)
    assert "line 1" in ended.stderr


def test_a_new_key_opens_with_the_line_that_comes_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service", "key", "new", "acme", "--max-requests-per-s", "5"]
    made = subprocess.run(command, cwd=ROOT, env=plain_environ(), capture_output=True, text=True, timeout=60)
    key = made.stderr.split()[-1]
    assert key not in made.stdout
    (tmp_path / "keys").write_text(made.stdout)
    found = Keyring(tmp_path / "keys", SharedTable.of_one_front()).find(key.encode())
    assert found
    assert (found.tenant.name, found.meter.key.max_requests_per_s) == ("acme", 5.0)
    refused = subprocess.run([*command[:-3], "a b"], cwd=ROOT, env=plain_environ(), capture_output=True, timeout=60)
    assert refused.returncode == 2
