"""`--allowed-origins`: what a browser on another origin is told, on every answer; a real browser: tests/playground."""

import socket
from collections.abc import Callable

import pytest

from service.app import create_app
from service.front.hub.hosted_front import HostedFront
from service.settings.setting_sources import load_settings
from service.settings.settings import SettingsError
from tests.builders import write_keys
from tests.conftest import CHECKPOINT, LiveServer

PAGE, OTHER, KEY = "https://app.example", "https://other.example", "cen_key"
BODY = {"input": "a text"}


@pytest.fixture(scope="module")
def allowing(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> LiveServer:
    keys = write_keys(tmp_path_factory.mktemp("keys") / "keys", {"a": KEY})
    flags = ("--api-keys", str(keys), "--max-body-bytes", "10000", "--max-connections", "4")
    flags += ("--allowed-origins", f"http://localhost:5173,{PAGE}")
    return start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()


def asked(server: LiveServer, origin: str) -> dict[str, str]:
    wanted = "authorization,content-type,x-stainless-lang"
    headers = {"origin": origin, "access-control-request-method": "POST", "access-control-request-headers": wanted}
    answer = server.http.request("OPTIONS", "/v1/embeddings", headers=headers)
    assert (answer.status_code == 204) == (origin == PAGE), "whoever may not ask has no key either"
    return dict(answer.headers)


def test_a_browsers_preflight_is_allowed_without_a_key(allowing: LiveServer) -> None:
    told = asked(allowing, PAGE)
    assert told["access-control-allow-origin"] == PAGE
    assert "POST" in told["access-control-allow-methods"]
    assert told["access-control-allow-headers"] == "authorization,content-type,x-stainless-lang"
    assert "access-control-allow-credentials" not in told
    assert "Origin" in told["vary"]
    assert "access-control-allow-origin" not in asked(allowing, OTHER)


@pytest.mark.parametrize(
    ("path", "key", "body", "status"),
    [
        ("/v1/embeddings", KEY, BODY, 200),
        ("/v1/embeddings", "wrong", BODY, 401),
        ("/none", KEY, BODY, 404),
        ("/v1/embeddings", KEY, {"input": "x" * 20_000}, 413),
        ("/v1/embeddings", KEY, {}, 400),
    ],
)
def test_answers_and_refusals_alike_may_be_read(
    allowing: LiveServer, path: str, key: str, body: dict[str, str], status: int
) -> None:
    for origin in (PAGE, OTHER, None):
        headers = {"authorization": f"Bearer {key}"} | ({"origin": origin} if origin else {})
        answer = allowing.http.post(path, json=body, headers=headers)
        assert answer.status_code == status
        assert "Origin" in answer.headers["vary"], "a cache must not give one origin's answer to another"
        assert answer.headers.get("access-control-allow-origin") == (PAGE if origin == PAGE else None)
        exposed = answer.headers.get("access-control-expose-headers", "").split(", ")
        names = {"x-request-id", "retry-after", "retry-after-ms", "x-total-time", "x-queue-time", "x-encoder-cache"}
        assert names <= set(exposed) or origin != PAGE


def test_the_refusal_of_a_crowded_server_may_be_read(allowing: LiveServer) -> None:
    allowing.http.close()
    host, port = allowing.url.removeprefix("http://").split(":")
    begun = b"POST /v1/embeddings HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %b\r\n" % KEY.encode()
    begun += b"expect: 100-continue\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    held = list[socket.socket]()
    for _ in range(2):  # an address's share of four; none makes way: its request is under way before the next one comes
        held.append(socket.create_connection((host, int(port)), timeout=20))
        held[-1].sendall(begun)
        assert held[-1].recv(65536).startswith(b"HTTP/1.1 100")
    try:
        with socket.create_connection((host, int(port)), timeout=20) as over:
            over.sendall(f"GET /v1/models HTTP/1.1\r\nhost: x\r\norigin: {PAGE}\r\n\r\n".encode())
            head = over.recv(65536).lower()
    finally:
        for one in held:
            one.close()
    assert head.startswith(b"http/1.1 503")
    assert b"access-control-allow-origin: https://app.example" in head


def test_without_the_setting_no_other_page_may_read_anything(server: LiveServer) -> None:
    answer = server.http.post("/v1/embeddings", json=BODY, headers={"origin": PAGE})
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("origins", ["https://app.example/", "app.example", "null", "*,https://a.example", ""])
def test_what_is_no_origin_stops_the_start(origins: str) -> None:
    settings = load_settings({"allowed_origins": origins}, {})
    with pytest.raises(SettingsError, match="--allowed-origins"):
        create_app(settings, HostedFront(settings))
