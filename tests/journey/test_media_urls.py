"""Images by URL and by file through the live server: the same vectors, one fetch, one error for any cause."""

import base64
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import CHECKPOINT, LiveServer, image, image_part
from tests.media_host import MediaHost, redirect, reply

IMAGES = [image(900), image(901)]
FILES = [base64.b64decode(uri.partition(",")[2]) for uri in IMAGES]


@pytest.fixture(scope="module")
def host() -> Iterator[MediaHost]:
    with MediaHost({"/0.png": reply(FILES[0]), "/1.png": reply(FILES[1]), "/text": reply(b"no image")}) as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="module")
def fetching(start_server: Callable[..., LiveServer], host: MediaHost, folder: Path) -> LiveServer:
    """A server that may fetch from this machine by name and from every public host, and read a folder."""
    flags = ["--allow-media-hosts", "*", "--allow-private-media-hosts", "localhost", "--media-paths", str(folder)]
    ports = f"80,443,{host.port},1"
    return start_server("--model", str(CHECKPOINT), "--media-ports", ports, *flags).wait_until_ready()


def item(*urls: str) -> dict[str, Any]:
    return {"content": [image_part(url) for url in urls]}


def error_of(server: LiveServer, url: str, status: int) -> dict[str, Any]:
    answer = server.http.post("/v1/embeddings", json={"inputs": [item(url)]})
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


def test_a_url_a_file_and_data_give_the_same_vector(fetching: LiveServer, host: MediaHost, folder: Path) -> None:
    (folder / "0.png").write_bytes(FILES[0])
    urls = [IMAGES[0], host.url("/0.png"), f"file://{folder}/0.png"]
    vectors = fetching.vectors({"inputs": [item(url) for url in urls]})
    assert np.array_equal(vectors[0], vectors[1])
    assert np.array_equal(vectors[0], vectors[2])


def test_one_url_is_fetched_once_for_one_request(fetching: LiveServer, host: MediaHost) -> None:
    host.asked.clear()
    fetching.vectors({"inputs": [item(host.url("/0.png"), host.url("/1.png")), *[item(host.url("/0.png"))] * 20]})
    assert sorted(host.paths) == ["/0.png", "/1.png"]


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/embeddings", {"inputs": [item("{0}")]}, "inputs[0].content[0].image_url"),
        ("/v1/embeddings", {"messages": [{"role": "user", **item("{0}")}]}, "messages[0].content[0].image_url"),
        ("/v2/embed", {"images": ["{0}"], "model": "checkpoint"}, "images[0]"),
        ("/v2/embed", {"inputs": [item("{0}")], "model": "checkpoint"}, "inputs[0].content[0].image_url"),
        ("/v1/embed", {"images": ["{0}"], "model": "checkpoint"}, "images[0]"),
        ("/v1/image_embeds", {"images": [image_part("{0}")]}, "images[0].image_url"),
        ("/tokenize", {"messages": [{"role": "user", **item("{0}")}]}, "messages[0].content[0].image_url"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_route_fetches_and_names_what_it_could_not_fetch(
    fetching: LiveServer, host: MediaHost, path: str, body: dict[str, Any], param: str
) -> None:
    asked = {name: _with_url(value, host.url("/0.png")) for name, value in body.items() if name != "model"}
    fetching.ask(path, asked)
    missing = fetching.http.post(path, json=_with_url(asked, "", host.url("/0.png"), host.url("/missing.png")))
    assert missing.status_code == 502
    error = missing.json()["error"]
    assert (error["code"], error["param"], error["index"]) == ("media_fetch_failed", param, 0)


def _with_url(body: Any, url: str, old: str = "{0}", new: str | None = None) -> Any:
    if isinstance(body, dict):
        return {name: _with_url(value, url, old, new) for name, value in body.items()}
    if isinstance(body, list):
        return [_with_url(value, url, old, new) for value in body]
    return (new or url) if body == old else body


def test_one_image_that_fails_leaves_the_others_alone(fetching: LiveServer, host: MediaHost) -> None:
    urls = [host.url("/0.png"), host.url("/missing.png"), "http://0x7f.1/", host.url("/1.png")]
    data = fetching.ask("/v1/embeddings", {"inputs": [item(url) for url in urls], "on_error": "per_item"}).json()[
        "data"
    ]
    codes = [(entry.get("error") or {}).get("code") for entry in data]
    assert codes == [None, "media_fetch_failed", "media_source_refused", None]
    assert data[1]["error"]["index"] == 1


def test_a_redirect_into_this_machine_looks_like_a_host_that_is_gone(fetching: LiveServer, host: MediaHost) -> None:
    host.pages |= {"/in": redirect(f"http://127.0.0.1:{host.port}/0.png"), "/gone": reply(status="404 Not Found")}
    urls = [host.url("/in"), host.url("/gone"), host.url("/0.png", "127.0.0.1"), host.url("/0.png", "[::1]")]
    before = host.num_connections
    errors = [error_of(fetching, url, 502) for url in [*urls, "http://localhost:1/", "http://nowhere.invalid/"]]
    assert len({error["message"] for error in errors}) == 1
    assert host.num_connections == before + 2


@pytest.mark.parametrize("url", ["http://localhost:22/", "http://intranet/", "http://good\\@localhost/", "http:/x",
                                 "http://localhost:99999/", "ftp://localhost/", "gopher://localhost/"])  # fmt: skip
def test_what_the_text_shows_is_said(fetching: LiveServer, url: str) -> None:
    assert error_of(fetching, url, 400)["code"] == "media_source_refused"


def test_what_is_fetched_is_looked_at_as_any_image(fetching: LiveServer, host: MediaHost) -> None:
    host.pages["/empty"] = reply(b"")
    assert error_of(fetching, host.url("/text"), 422)["code"] == "media_undecodable"
    assert error_of(fetching, host.url("/empty"), 422)["code"] == "media_undecodable"


def test_a_path_in_a_base64_field_is_never_opened(fetching: LiveServer, folder: Path) -> None:
    (folder / "abcd").write_bytes(FILES[0])
    assert error_of(fetching, f"{folder}/abcd", 400)["code"] == "media_source_refused"
    assert error_of(fetching, f"file://{folder}/../abcd", 400)["code"] == "media_source_refused"


def test_models_say_so_and_metrics_count_it(fetching: LiveServer, server: LiveServer) -> None:
    for one, fetches in ((fetching, True), (server, False)):
        assert one.http.get("/v1/models").json()["data"][0]["fetches_image_urls"] is fetches
    assert 'cenote_media_fetches_total{front="0",outcome="fetched"}' in fetching.http.get("/metrics").text


def test_no_log_line_holds_a_query(fetching: LiveServer, host: MediaHost) -> None:
    error_of(fetching, host.url("/missing.png?sig=SECRET"), 502)
    log = fetching.log.read_text()
    assert "media_host=localhost" in log
    assert "SECRET" not in log


def test_without_hosts_nothing_is_fetched(server: LiveServer, host: MediaHost) -> None:
    host.asked.clear()
    assert "not enabled" in error_of(server, host.url("/0.png"), 400)["message"]
    assert error_of(server, "file:///etc/passwd", 400)["code"] == "media_source_refused"
    assert host.asked == []


def test_the_requests_own_deadline_ends_its_fetches(start_server: Callable[..., LiveServer], host: MediaHost) -> None:
    flags = ("--allow-private-media-hosts", "localhost", "--media-ports", str(host.port), "--request-timeout-s", "1")
    hurried = start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()
    host.pages["/slow"] = slowly
    assert error_of(hurried, host.url("/slow"), 504)["code"] == "deadline_exceeded"
    deadline_s = time.monotonic() + 20
    while host.num_open:
        assert time.monotonic() < deadline_s
        time.sleep(0.01)
    hurried.ask("/v1/embeddings", {"inputs": [item(host.url("/0.png"))]})
    assert hurried.metric("cenote_queue_inputs") == 0


def slowly(_: object) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        time.sleep(0.05)
        yield b"x"
