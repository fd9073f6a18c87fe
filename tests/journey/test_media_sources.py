"""Media of each kind as data, by URL and by file: the same vectors, one fetch, one decode, one error for any cause."""

import base64
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.at_start.environ import customized_environ
from tests.conftest import CHECKPOINT, Gained, LiveServer, frames_part, image, image_part, until
from tests.media_host import MediaHost, redirect, reply
from tests.models.audio.audios import encode, tone
from tests.models.audio.checkpoints import make_checkpoint
from tests.pdf_file import pdf, slide
from tests.video_file import video

V1, PLACE = "/v1/embeddings", "inputs[0].content[0]"
FILES = [base64.b64decode(image(seed).partition(",")[2]) for seed in (900, 901)]
seeds = count(910)
"""Each test draws media that no other test has sent."""


@dataclass(frozen=True)
class Kind:
    """One kind of medium.

    Attributes:
        draw: a file, by a number.
        part: with a source.
        mime: of its data URI.
        field: which an error names.
        counter: of its decodes.
        extra: without which it is not taken.
    """

    draw: Callable[[int], bytes]
    part: Callable[[str], dict[str, Any]]
    mime: str
    field: str
    counter: str = "pictures_decoded_total"
    extra: str = ""

    def data(self, file: bytes) -> dict[str, Any]:
        return self.part(f"data:{self.mime};base64,{base64.b64encode(file).decode()}")


KINDS = {
    "image": Kind(lambda seed: base64.b64decode(image(seed).partition(",")[2]), image_part, "image/png", "image_url"),
    "frames": Kind(lambda seed: base64.b64decode(image(seed).partition(",")[2]),
                   lambda url: frames_part([url, url]), "image/png", "frames[0].url"),
    "video": Kind(lambda seed: video(12, size=(128, 2 * (seed - 860))),
                  lambda url: {"type": "video_url", "video_url": {"url": url}}, "video/mp4", "video_url",
                  "videos_decoded_total", "video"),
    "page": Kind(lambda seed: pdf(2, slide, (seed - 800, 80)),
                 lambda url: {"type": "file", "file": {"file_data": url}, "page": 2}, "application/pdf", "file",
                 extra="pdf"),
    "audio": Kind(lambda seed: encode(tone(0.5, seed)),
                  lambda url: {"type": "audio_url", "audio_url": {"url": url}}, "audio/wav", "audio_url",
                  "sounds_decoded_total", "audio"),
}  # fmt: skip
of_kinds = pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=[pytest.mark.slow] if name == "audio" else []) for name in KINDS]
)


@pytest.fixture(scope="module")
def host() -> Iterator[MediaHost]:
    with MediaHost({"/0.png": reply(FILES[0]), "/1.png": reply(FILES[1]), "/text": reply(b"no image")}) as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="module")
def start_fetching(start_server: Callable[..., LiveServer], host: MediaHost, folder: Path) -> Callable[..., LiveServer]:
    """Servers that may fetch from this machine by name and from every public host, and read a folder."""
    flags = ["--allow-media-hosts", "*", "--allow-private-media-hosts", "localhost", "--media-paths", str(folder)]
    flags += ["--media-ports", f"80,443,{host.port},1"]
    return lambda model: start_server("--model", str(model), *flags).wait_until_ready()


@pytest.fixture(scope="module")
def fetching(start_fetching: Callable[..., LiveServer]) -> LiveServer:
    return start_fetching(CHECKPOINT)


@pytest.fixture(scope="module")
def clap(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("unfused", tmp_path_factory.mktemp("clap") / "unfused")


@pytest.fixture(scope="module")
def hearing(start_fetching: Callable[..., LiveServer], clap: Path) -> LiveServer:
    return start_fetching(clap)


@pytest.fixture
def one(request: pytest.FixtureRequest, kind: str) -> LiveServer:
    """A server that takes the kind."""
    server: LiveServer = request.getfixturevalue("hearing" if kind == "audio" else "fetching")
    return server


def item(*parts: str | dict[str, Any]) -> dict[str, Any]:
    return {"content": [image_part(part) if isinstance(part, str) else part for part in parts]}


def error_of(server: LiveServer, part: str | dict[str, Any], status: int) -> dict[str, Any]:
    return server.refusal(V1, {"inputs": [item(part)]}, status)


@of_kinds
def test_a_url_a_file_and_data_give_the_same_vector_and_the_url_is_fetched_once(
    one: LiveServer, host: MediaHost, folder: Path, kind: str
) -> None:
    medium, file = KINDS[kind], KINDS[kind].draw(next(seeds))
    host.pages[f"/{kind}"] = reply(file)
    (folder / kind).write_bytes(file)
    host.asked.clear()
    url = medium.part(host.url(f"/{kind}"))
    parts = [medium.data(file), url, medium.part(f"file://{folder}/{kind}"), url]
    vectors = one.vectors({"inputs": [item(part) for part in parts]})
    assert len({row.tobytes() for row in vectors}) == 1
    assert host.paths == [f"/{kind}"]


@of_kinds
def test_it_is_decoded_and_encoded_once_whatever_it_is_asked_for(one: LiveServer, kind: str) -> None:
    medium = KINDS[kind]
    body, gained = {"inputs": [item(medium.data(medium.draw(next(seeds))))] * 2}, Gained(one)
    asked = [{}, {}] if kind == "audio" else [{"instruction": f"Represent the {word}."} for word in ("colors", "mood")]
    first = one.vectors(body | asked[0])
    counts = gained(medium.counter), gained("vision_encodes_total")
    assert min(counts) > 0
    second = one.vectors(body | asked[1])
    assert (gained(medium.counter), gained("vision_encodes_total")) == counts
    assert (np.abs(first - second).max() > 1e-3) == (asked[0] != asked[1])


@of_kinds
def test_a_broken_one_fails_its_own_input_alone_and_nothing_of_it_is_logged(one: LiveServer, kind: str) -> None:
    medium, file = KINDS[kind], KINDS[kind].draw(next(seeds))
    body = {"inputs": [item(medium.data(file[:300] + b"a-secret-word")), item(medium.data(file))]}
    first, second = one.ask(V1, body | {"on_error": "per_item"}).json()["data"]
    assert (first["embedding"], first["error"]["code"]) == (None, "media_undecodable")
    assert first["error"]["param"] == f"{PLACE}.{medium.field}"
    assert second["embedding"] is not None
    assert "a-secret-word" not in one.log.read_text()


@of_kinds
def test_one_that_is_missing_and_one_that_is_none_are_named_by_their_place(
    one: LiveServer, host: MediaHost, kind: str
) -> None:
    for path, status, code in (("/gone", 502, "media_fetch_failed"), ("/text", 422, "media_undecodable")):
        error = error_of(one, KINDS[kind].part(host.url(path)), status)
        assert (error["code"], error["param"]) == (code, f"{PLACE}.{KINDS[kind].field}")


@pytest.mark.slow
def test_what_a_model_does_not_take_is_never_fetched(hearing: LiveServer, host: MediaHost) -> None:
    host.asked.clear()
    assert error_of(hearing, host.url("/0.png"), 400)["code"] == "unsupported_modality"
    assert host.paths == []


@pytest.fixture(scope="module")
def start_bare(start_server: Callable[..., LiveServer], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Servers in an environment without the extras."""
    place = tmp_path_factory.mktemp("hidden")
    (place / "sitecustomize.py").write_text(
        "import after_import, sys, importlib.util as u\n"
        "sys.modules['av'] = None\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'pypdfium2' else find(name, *rest)\n"
    )
    environ = customized_environ(place)
    return lambda model: start_server("--model", str(model), env=environ).wait_until_ready()


def assert_refused_by_extra(server: LiveServer, name: str) -> None:
    error = error_of(server, KINDS[name].data(KINDS[name].draw(next(seeds))), 400)
    assert (error["code"], error["param"]) == ("invalid_request", f"{PLACE}.{KINDS[name].field}")
    assert f"extra `{KINDS[name].extra}`" in error["message"]
    card = server.http.get("/v1/models").json()["data"][0]
    assert card[{"page": "max_pdf_bytes"}.get(name, f"max_{name}_bytes")] is None


@pytest.mark.slow
def test_without_the_extras_files_are_refused_by_their_names_and_frames_are_taken(start_bare: Any) -> None:
    bare = start_bare(CHECKPOINT)
    for name in ("video", "page"):
        assert_refused_by_extra(bare, name)
    assert "video_frames" in error_of(bare, KINDS["video"].data(video(4)), 400)["message"]
    assert bare.vectors({"inputs": [item(frames_part([image(1), image(2)]))]}).shape == (1, 128)
    shown = {"file_data": f"data:application/pdf;base64,{base64.b64encode(pdf(1)).decode()}"}
    error = bare.http.post("/playground/pages", json={"file": shown}).json()["error"]
    assert (error["code"], error["param"]) == ("invalid_request", "file.file_data")
    assert "extra `pdf`" in error["message"]


@pytest.mark.slow
def test_without_the_extra_audios_are_refused_by_its_name_and_texts_are_taken(start_bare: Any, clap: Path) -> None:
    bare = start_bare(clap)
    assert_refused_by_extra(bare, "audio")
    assert bare.vectors({"input": ["thunder"]}).shape == (1, 24)


def test_only_the_frames_that_are_seen_are_fetched(fetching: LiveServer, host: MediaHost) -> None:
    host.pages |= {f"/{i}.png": reply(FILES[i % 2]) for i in range(65)}
    host.asked.clear()
    fetching.vectors({"inputs": [item(frames_part([host.url(f"/{i}.png") for i in range(65)]))]})
    assert sorted(host.paths) == sorted(f"/{i}.png" for i in [*range(63), 64])


def test_a_list_in_one_url_holds_data_only(fetching: LiveServer, host: MediaHost, folder: Path) -> None:
    """Text between commas is never a URL or a path, whatever it looks like."""
    host.asked.clear()
    for source, code in (
        (host.url("/0.png"), "media_source_refused"),
        (f"file://{folder}/image", "media_source_refused"),
        ("," * 9_999, "too_many_inputs"),
    ):
        error = error_of(fetching, KINDS["video"].part(f"data:video/jpeg;base64,{source}"), 400)
        assert (error["code"], error["param"]) == (code, f"{PLACE}.video_url")
        assert code != "too_many_inputs" or "at most 1024 frames, got 10000" in error["message"]
    assert host.paths == []


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/embeddings", {"inputs": [item("{0}")]}, "inputs[0].content[0].image_url"),
        ("/v1/embeddings", {"messages": [{"role": "user", **item("{0}")}]}, "messages[0].content[0].image_url"),
        ("/v2/embed", {"images": ["{0}"]}, "images[0]"),
        ("/v2/embed", {"inputs": [item("{0}")]}, "inputs[0].content[0].image_url"),
        ("/v1/embed", {"images": ["{0}"]}, "images[0]"),
        ("/v1/image_embeds", {"images": [image_part("{0}")]}, "images[0].image_url"),
        ("/tokenize", {"messages": [{"role": "user", **item("{0}")}]}, "messages[0].content[0].image_url"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_route_fetches_and_names_what_it_could_not_fetch(
    fetching: LiveServer, host: MediaHost, path: str, body: dict[str, Any], param: str
) -> None:
    asked = {name: _with_url(value, host.url("/0.png")) for name, value in body.items()}
    fetching.ask(path, asked)
    error = fetching.refusal(path, _with_url(asked, "", host.url("/0.png"), host.url("/missing.png")), 502)
    assert (error["code"], error["param"], error["index"]) == ("media_fetch_failed", param, 0)


def _with_url(body: Any, url: str, old: str = "{0}", new: str | None = None) -> Any:
    if isinstance(body, dict):
        return {name: _with_url(value, url, old, new) for name, value in body.items()}
    if isinstance(body, list):
        return [_with_url(value, url, old, new) for value in body]
    return (new or url) if body == old else body


def test_several_that_fail_leave_the_others_alone(fetching: LiveServer, host: MediaHost) -> None:
    urls = [host.url("/0.png"), host.url("/missing.png"), "http://0x7f.1/", host.url("/1.png")]
    data = fetching.ask(V1, {"inputs": [item(url) for url in urls], "on_error": "per_item"}).json()["data"]
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


def test_an_empty_file_is_no_image(fetching: LiveServer, host: MediaHost) -> None:
    host.pages["/empty"] = reply(b"")
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


@pytest.mark.slow
def test_the_requests_own_deadline_ends_its_fetches(start_server: Callable[..., LiveServer], host: MediaHost) -> None:
    flags = ("--allow-private-media-hosts", "localhost", "--media-ports", str(host.port), "--request-timeout-s", "1")
    hurried = start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()
    host.pages["/slow"] = slowly
    assert error_of(hurried, host.url("/slow"), 504)["code"] == "deadline_exceeded"
    until(lambda: host.num_open == 0, "the end of its fetches")
    hurried.ask("/v1/embeddings", {"inputs": [item(host.url("/0.png"))]})
    assert hurried.metric("cenote_queue_inputs") == 0


def slowly(_: object) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n\r\n"
    while True:
        time.sleep(0.05)
        yield b"x"
