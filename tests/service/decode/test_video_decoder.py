"""Video files are decoded in processes that can be killed: they are replaced, and only that file fails."""

import asyncio
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from service.decode.av_decoder import VideoDecoder
from service.decode.video_reader import read_frames
from service.errors import MediaError
from service.media.error_location import ErrorLocation
from service.media.item import QWEN3_VL
from service.media.video.video_file import OpenVideo, VideoFile, VideoInfo
from tests.service.decode import misbehaving
from tests.video_file import video

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="these limits are Linux's")
PLACE = ErrorLocation("inputs[3].content[0].video_url", 3)
SIZE = (96, 128)
INFO = VideoInfo(width=128, height=96, num_frames=50, fps=25.0)

Start = Callable[..., VideoDecoder]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    started: list[VideoDecoder] = []

    def start(*, deadline_s: float = 20, command: Sequence[str] = VideoDecoder.command) -> VideoDecoder:
        monkeypatch.setattr(VideoDecoder, "command", command)
        started.append(VideoDecoder(num_workers=1, max_bytes=128 << 20, deadline_s=deadline_s, max_pixels=10**6))
        return started[-1]

    yield start
    for one in started:
        one.close()


def clip(encoded: bytes) -> VideoFile:
    return VideoFile(OpenVideo(encoded, "mp4", INFO, b""), SIZE, QWEN3_VL)


def test_a_process_says_and_gives_what_the_reader_does(start: Start) -> None:
    encoded, decoder = video(), start()
    assert asyncio.run(decoder.info(encoded, "mp4", PLACE)) == INFO
    frames = asyncio.run(decoder.frames(clip(encoded), [3, 17], PLACE))
    assert np.array_equal(frames, read_frames(encoded, "mp4", [3, 17], SIZE, max_pixels=10**6))


@pytest.mark.parametrize("encoded", [b"", b"\0\0\0\x20ftypisom" + bytes(64), b"\x1aE\xdf\xa3webm"])
def test_a_file_that_is_none_names_its_place(start: Start, encoded: bytes) -> None:
    decoder = start()
    with pytest.raises(MediaError) as caught:
        asyncio.run(decoder.info(encoded, "mp4", PLACE))
    error = caught.value
    assert (error.code, error.param, error.index) == ("media_undecodable", PLACE.param, 3)
    assert "cannot be decoded" in error.message


@LINUX
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("os.abort()", "damaged"),
        ("time.sleep(60)", "within 2 s"),
        ("while True: pass", "within 2 s"),
        ("held = [bytes(1 << 20) for _ in range(4096)]", "damaged"),
    ],
)
def test_a_file_that_breaks_its_process_fails_alone(start: Start, tmp_path: Path, what: str, words: str) -> None:
    encoded = video(4)
    decoder = start(deadline_s=2, command=misbehaving.av_worker(tmp_path, "video", what))
    began_s = time.monotonic()
    with pytest.raises(MediaError, match=words):
        asyncio.run(decoder.info(encoded + b"BAD", "mp4", PLACE))
    assert time.monotonic() - began_s < 30
    assert asyncio.run(decoder.info(encoded, "mp4", PLACE)).num_frames == 4
    assert decoder.room.num_bytes_taken == 0


@LINUX
@pytest.mark.parametrize(
    "what", ["Path('/etc/hostname').read_bytes()", "Path('/etc').iterdir().__next__()", "socket.socket()"]
)
def test_a_process_opens_neither_file_nor_socket(start: Start, tmp_path: Path, what: str) -> None:
    """Were it opened, the answer would be a container's; an `OSError` is a file that cannot be read."""
    told = f"try:\n    {what}\nexcept OSError:\n    raise\nreturn decode(task)"
    program = misbehaving.av_worker(tmp_path, "video", textwrap.dedent(told))
    decoder = start(command=program)
    with pytest.raises(MediaError):
        asyncio.run(decoder.info(video(4) + b"BAD", "mp4", PLACE))
