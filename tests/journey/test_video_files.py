"""Video files over HTTP: decoded once, limited before they cost, and refused by name where they cannot be read."""

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest

from tests.conftest import CHECKPOINT, Gained, LiveServer, frames_part, image, inputs
from tests.journey.conftest import refusal
from tests.video_file import video, video_part

PARAM = "inputs[0].content[0].video_url"
heights = count(160, 32)
"""Each test draws a video that no other test has sent."""


def new_video(num_frames: int = 25, **made: Any) -> bytes:
    return video(num_frames, size=(next(heights), 128), **made)


def test_frames_that_were_seen_before_are_not_decoded_again(server: LiveServer) -> None:
    encoded = new_video(25)
    server.vectors(inputs(video_part(encoded)))  # 0, 8, 16, 24
    gained = Gained(server)
    server.vectors(inputs(video_part(encoded, max_frames=2)))  # 0, 24: another pair
    assert gained("vision_encodes_total") == 1


@pytest.mark.slow
def test_an_evicted_pair_is_decoded_again(start_server: Callable[..., LiveServer]) -> None:
    """The engine asks for pixels of a video that the front believes cached."""
    small = start_server("--model", str(CHECKPOINT), "--encoder-cache-bytes", "300000").wait_until_ready()
    encoded = new_video()
    first = small.vectors(inputs(video_part(encoded)))
    for seed in range(3):
        small.vectors(inputs(frames_part([image(seed), image(seed + 10)])))
    assert np.array_equal(small.vectors(inputs(video_part(encoded))), first)
    assert small.metric("cenote_videos_decoded_total") > 1
    small.stop()


def test_tokenize_reads_the_container_and_decodes_nothing(server: LiveServer) -> None:
    asked = inputs(video_part(new_video()))
    num_decoded = server.metric("cenote_videos_decoded_total")
    counted = server.ask("/tokenize", asked).json()["count"]
    assert server.metric("cenote_videos_decoded_total") == num_decoded
    assert server.ask("/v1/embeddings", asked).json()["usage"]["prompt_tokens"] == counted


def test_what_a_model_takes_of_videos_is_in_its_plan(server: LiveServer) -> None:
    card = server.http.get("/v1/models/builtin").json()
    assert card["modalities"] == ["text", "image", "video"]
    assert (card["max_video_frames"], card["max_video_bytes"]) == (64, 64 << 20)


PLAYLIST = b"ffconcat version 1.0\nfile http://a.example/secret\nfile /etc/passwd\n"


@pytest.mark.parametrize(
    ("encoded", "words"),
    [
        (b"RIFF" + bytes(40), "MP4, WebM"),
        (PLAYLIST, "MP4, WebM"),
        (b"#EXTM3U\nfile:///etc/passwd\n", "MP4, WebM"),
        (b"\x1aE\xdf\xa3" + bytes(8) + b"matroska" + bytes(40), "MP4, WebM"),
        (b"\0\0\0\x20ftypisom" + PLAYLIST, "damaged"),
        (video(1), "1 frame"),
        (video(10)[:900], "damaged"),
    ],
)
def test_what_is_no_video_is_refused(server: LiveServer, encoded: bytes, words: str) -> None:
    status, code, param, message = refusal(server, inputs(video_part(encoded)))
    assert (status, code, param) == (422, "media_undecodable", PARAM)
    assert words in message


@pytest.mark.slow
def test_limits_hold_before_anything_is_decoded(start_server: Callable[..., LiveServer]) -> None:
    limits = {"max-media-bytes": 20000, "max-video-s": 2, "max-image-pixels": 20000, "max-video-frames": 8}
    flags = [word for name, value in limits.items() for word in (f"--{name}", str(value))]
    strict = start_server("--model", str(CHECKPOINT), *flags).wait_until_ready()
    assert strict.http.get("/v1/models/checkpoint").json()["max_video_bytes"] == 20000
    for encoded, words in (
        (bytes(20_001), "20001 bytes; at most 20000"),
        (video(60, codec="mpeg4"), "2.4 s long; at most 2 s"),
        (video(2, size=(128, 160)), "160 x 128 pixels; at most 20000"),
    ):
        status, code, param, message = refusal(strict, inputs(video_part(encoded)))
        assert (status, code, param) == (413, "media_too_large", PARAM)
        assert words in message
    fast = strict.ask("/v1/embeddings", inputs(video_part(video(40, fps=25), fps=1000))).json()
    assert fast["usage"]["encoder_cache_misses"] == 4
    assert strict.metric("cenote_videos_decoded_total") == 1
    strict.stop()
