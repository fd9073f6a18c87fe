"""Audio and video files are decoded in processes that can be killed: they are replaced, and only that file fails."""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from service.decode.av_decoder import AudioDecoder, VideoDecoder
from service.errors import MediaError
from service.media.audio.audio_file import AudioInfo, OpenAudio
from service.media.audio.samples import Audio, samples_of
from service.media.error_location import ErrorLocation
from service.media.item import QWEN3_VL, AudioRule
from service.media.video.video_file import OpenVideo, VideoFile, VideoInfo
from service.workers import audio_reader, video_reader
from tests.models.audio.audios import encode, tone
from tests.models.audio.checkpoints import RATE_HZ
from tests.service.decode import misbehaving
from tests.service.decode.starter import starter
from tests.video_file import video

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="these limits are Linux's")
PLACE = ErrorLocation("inputs[3].content[0].media", 3)


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one decoder.

    Attributes:
        limits: what this decoder alone is started with.
        short: makes a file that can be read.
        info: what its container says, read in this process.
        broken: files that cannot be read.
    """

    decoder: type[AudioDecoder | VideoDecoder]
    limits: dict[str, float]
    container: str
    short: Callable[[], bytes]
    info: Callable[[bytes], AudioInfo | VideoInfo]
    broken: tuple[bytes, ...]


AUDIO = Files(
    AudioDecoder,
    {"max_duration_s": 60},
    "wav",
    lambda: encode(tone(0.2)),
    lambda encoded: audio_reader.read_info(encoded, "wav", 60),
    (b"", b"RIFF\x20\0\0\0WAVE", b"RIFF" + bytes(4) + b"WAVEfmt " + bytes(200)),
)
VIDEO = Files(
    VideoDecoder,
    {"max_pixels": 10**6},
    "mp4",
    lambda: video(4),
    lambda encoded: video_reader.read_info(encoded, "mp4", max_pixels=10**6),
    (b"", b"\0\0\0\x20ftypisom" + bytes(64), b"\x1aE\xdf\xa3webm"),
)


@pytest.fixture(params=[AUDIO, VIDEO], ids=lambda files: files.decoder.what)
def files(request: pytest.FixtureRequest) -> Files:
    return request.param


@pytest.fixture
def start(files: Files, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    limits = {"num_workers": 1, "max_bytes": 128 << 20, "deadline_s": 20} | files.limits
    with starter(files.decoder, monkeypatch, **limits) as start:
        yield start


@pytest.mark.parametrize("files", [AUDIO], ids=["audio"])
async def test_an_audio_process_gives_what_the_reader_does(start: Callable[..., AudioDecoder]) -> None:
    encoded, decoder, rule = encode(tone(0.9), "flac", "flac"), start(), AudioRule(rate_hz=RATE_HZ)
    info = await decoder.info(encoded, "flac", PLACE)
    assert info == audio_reader.read_info(encoded, "flac", 60)
    slot = await decoder.slot(Audio.of(OpenAudio(encoded, "flac", info, b""), rule))
    assert np.array_equal(samples_of(slot.data), tone(0.9)[0])


@pytest.mark.parametrize("files", [VIDEO], ids=["video"])
async def test_a_video_process_gives_what_the_reader_does(start: Callable[..., VideoDecoder]) -> None:
    encoded, decoder, size = video(), start(), (96, 128)
    info = await decoder.info(encoded, "mp4", PLACE)
    assert info == VideoInfo(width=128, height=96, num_frames=50, fps=25.0)
    clip = VideoFile(OpenVideo(encoded, "mp4", info, b""), size, QWEN3_VL)
    frames = await decoder.frames(clip, [3, 17], PLACE)
    assert np.array_equal(frames, video_reader.read_frames(encoded, "mp4", [3, 17], size, max_pixels=10**6))


async def test_files_that_cannot_be_read_name_their_place(start: Callable[..., Any], files: Files) -> None:
    decoder = start()
    for encoded in files.broken:
        with pytest.raises(MediaError) as caught:
            await decoder.info(encoded, files.container, PLACE)
        error = caught.value
        assert (error.code, error.param, error.index) == ("media_undecodable", PLACE.param, 3)
        assert "cannot be decoded" in error.message


@LINUX
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("os.abort()", "damaged"),
        ("while True: pass", "within 2 s"),
        ("held = [bytes(1 << 20) for _ in range(4096)]", "damaged"),
        ("return (Path('/etc/hostname').read_bytes(), decode(task))[1]", "damaged"),
        ("return (next(Path('/etc').iterdir()), decode(task))[1]", "damaged"),
        ("return (socket.socket(), decode(task))[1]", "damaged"),
    ],
)
async def test_a_file_that_breaks_its_process_fails_alone(
    start: Callable[..., Any], files: Files, tmp_path: Path, what: str, words: str
) -> None:
    """Also one that would have it open a file, list a folder or open a socket."""
    encoded = files.short()
    want = files.info(encoded + b"BAD")  # which is readable by itself
    decoder = start(deadline_s=2, command=misbehaving.av_worker(tmp_path, files.decoder.what, what))
    began_s = time.monotonic()
    with pytest.raises(MediaError, match=words):
        await decoder.info(encoded + b"BAD", files.container, PLACE)
    assert time.monotonic() - began_s < 30
    assert await decoder.info(encoded, files.container, PLACE) == want
    assert decoder.room.num_bytes_taken == 0
