"""Frames and video files by URL and by `file:` on a server that may read them: only what is seen is fetched."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import CHECKPOINT, LiveServer, frames_part, image
from tests.media_host import MediaHost, reply
from tests.video_file import video, video_part

FRAMES = [image(950), image(951)]
CLIP = video(30, size=(128, 96))


def content(uri: str) -> bytes:
    return base64.b64decode(uri.partition(",")[2])


@pytest.fixture(scope="module")
def host() -> Iterator[MediaHost]:
    pages = {f"/{i}.png": reply(content(FRAMES[i % 2])) for i in range(70)} | {"/clip": reply(CLIP)}
    with MediaHost(pages | {"/text": reply(b"no image")}) as one:
        yield one


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("videos")
    (folder / "clip.mp4").write_bytes(CLIP)
    (folder / "0.png").write_bytes(content(FRAMES[0]))
    return folder


@pytest.fixture(scope="module")
def fetching(start_server: Callable[..., LiveServer], host: MediaHost, folder: Path) -> LiveServer:
    flags = ["--allow-private-media-hosts", "localhost", "--media-ports", str(host.port), "--media-paths", str(folder)]
    return start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()


def vector(server: LiveServer, part: dict[str, Any]) -> np.ndarray:
    return server.vectors({"inputs": [{"content": [part]}]})[0]


def error_of(server: LiveServer, part: dict[str, Any], status: int) -> dict[str, Any]:
    answer = server.http.post("/v1/embeddings", json={"inputs": [{"content": [part]}]})
    assert answer.status_code == status, answer.text
    return answer.json()["error"]


def test_frames_by_url_by_file_and_as_data_give_the_same_vector(
    fetching: LiveServer, host: MediaHost, folder: Path
) -> None:
    want = vector(fetching, frames_part(FRAMES))
    assert np.array_equal(vector(fetching, frames_part([host.url("/0.png"), host.url("/1.png")])), want)
    file = f"file://{folder}/0.png"
    assert np.array_equal(vector(fetching, frames_part([file, host.url("/1.png")])), want)


def test_only_the_frames_that_are_seen_are_fetched(fetching: LiveServer, host: MediaHost) -> None:
    host.asked.clear()
    vector(fetching, frames_part([host.url(f"/{i}.png") for i in range(65)]))
    assert sorted(host.paths) == sorted(f"/{i}.png" for i in [*range(63), 64])


def test_a_file_by_url_by_file_and_as_data_give_the_same_vector(
    fetching: LiveServer, host: MediaHost, folder: Path
) -> None:
    want = vector(fetching, video_part(CLIP))
    for url in (host.url("/clip"), f"file://{folder}/clip.mp4"):
        assert np.array_equal(vector(fetching, {"type": "video_url", "video_url": url}), want)


def test_a_missing_and_a_broken_frame_are_named_by_their_places(fetching: LiveServer, host: MediaHost) -> None:
    gone = error_of(fetching, frames_part([FRAMES[0], host.url("/gone.png")]), 502)
    assert (gone["code"], gone["param"]) == ("media_fetch_failed", "inputs[0].content[0].frames[1].url")
    text = error_of(fetching, frames_part([host.url("/text"), FRAMES[0]]), 422)
    assert (text["code"], text["param"]) == ("media_undecodable", "inputs[0].content[0].frames[0].url")
    clip = error_of(fetching, {"type": "video_url", "video_url": host.url("/text")}, 422)
    assert (clip["code"], clip["param"]) == ("media_undecodable", "inputs[0].content[0].video_url")


def test_a_list_in_one_url_holds_data_only(fetching: LiveServer, host: MediaHost, folder: Path) -> None:
    """Text between commas is never a URL or a path, whatever it looks like."""
    host.asked.clear()
    for source in (host.url("/0.png"), f"file://{folder}/0.png"):
        error = error_of(fetching, {"type": "video_url", "video_url": f"data:video/jpeg;base64,{source}"}, 400)
        assert (error["code"], error["param"]) == ("media_source_refused", "inputs[0].content[0].video_url")
    assert host.paths == []


def test_a_list_of_ten_thousand_frames_in_one_url_is_refused(fetching: LiveServer) -> None:
    error = error_of(fetching, {"type": "video_url", "video_url": "data:video/jpeg;base64," + "," * 9_999}, 400)
    assert (error["code"], error["param"]) == ("too_many_inputs", "inputs[0].content[0].video_url")
    assert "at most 1024 frames, got 10000" in error["message"]
