"""A part of a recording is another recording: cut files are refused, and streams that have no length are read."""

import io
from collections.abc import Callable

import av
import numpy as np
import pytest

from service.media.container import Container
from service.workers import audio_reader, video_reader
from service.workers.container_reader import UnreadableFileError, ends_inside
from tests.models.audio.audios import tone

PARTS = (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
CLUSTER = b"\x1f\x43\xb6\x75"
UNKNOWN = b"\x01" + b"\xff" * 7
UNREADABLE = (UnreadableFileError, av.FFmpegError)


class Pipe(io.RawIOBase):
    """A writer that cannot go back to write lengths."""

    def __init__(self) -> None:
        self.written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.written += data
        return len(data)


def film(container: str, codec: str, is_piped: bool, **options: str) -> bytes:
    """50 frames of noise."""
    out = Pipe() if is_piped else io.BytesIO()
    with av.open(out, "w", format=container, options=options) as file:
        stream = file.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt, stream.gop_size = 48, 64, "yuv420p", 12
        for seed in range(50):
            noise = np.random.default_rng(seed).integers(0, 256, (48, 64, 3), dtype=np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(noise, format="rgb24")))
        file.mux(stream.encode(None))
    return bytes(out.written) if isinstance(out, Pipe) else out.getvalue()


def recording(container: str, codec: str, is_piped: bool, rate_hz: int, **options: str) -> bytes:
    """3 s of a tone."""
    out = Pipe() if is_piped else io.BytesIO()
    with av.open(out, "w", format=container, options=options) as file:
        stream = file.add_stream(codec, rate=rate_hz, layout="mono")
        samples = np.round(tone(3.0, rate_hz=rate_hz) * 32768).astype(np.int16)
        frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
        frame.sample_rate = rate_hz
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return bytes(out.written) if isinstance(out, Pipe) else out.getvalue()


def as_a_browser_records(encoded: bytes) -> bytes:
    """The same stream with clusters whose length is not known."""
    head, *clusters = encoded.split(CLUSTER)
    starts = [9 - cluster[0].bit_length() for cluster in clusters]
    return head + b"".join(CLUSTER + UNKNOWN + one[start:] for one, start in zip(clusters, starts, strict=True))


FILMS: dict[str, Callable[[], bytes]] = {
    "webm": lambda: film("webm", "libvpx-vp9", False),
    "webm stream": lambda: film("webm", "libvpx-vp9", True),
    "webm live": lambda: film("webm", "libvpx", True, live="1"),
    "webm recorder": lambda: as_a_browser_records(film("webm", "libvpx", True)),
    "mp4": lambda: film("mp4", "libx264", False),
    "mp4 fragments": lambda: film("mp4", "libx264", True, movflags="frag_keyframe+empty_moov"),
}
AUDIOS: dict[str, Callable[[], bytes]] = {
    "webm": lambda: recording("webm", "libopus", False, 48_000),
    "webm stream": lambda: recording("webm", "libopus", True, 48_000),
    "webm recorder": lambda: as_a_browser_records(recording("webm", "libopus", True, 48_000)),
    "mp4": lambda: recording("mp4", "aac", False, 16_000),
    "mp4 fragments": lambda: recording("mp4", "aac", True, 16_000, movflags="empty_moov", frag_duration="500000"),
}


def container_of(name: str) -> Container:
    return "webm" if name.startswith("webm") else "mp4"


@pytest.mark.parametrize("name", FILMS)
def test_a_video_is_read_whole_and_refused_when_it_is_cut(name: str) -> None:
    encoded, container = FILMS[name](), container_of(name)
    assert video_reader.read_info(encoded, container, max_pixels=10**6).num_frames == 50
    for part in PARTS:
        with pytest.raises(UNREADABLE):
            video_reader.read_info(encoded[: int(len(encoded) * part)], container, max_pixels=10**6)


@pytest.mark.parametrize("name", AUDIOS)
def test_an_audio_is_read_whole_and_refused_when_it_is_cut(name: str) -> None:
    encoded, kind = AUDIOS[name](), container_of(name)
    assert audio_reader.read_info(encoded, kind, 60).duration_s == pytest.approx(3.0, abs=0.1)
    for part in PARTS:
        with pytest.raises(UNREADABLE):
            audio_reader.read_info(encoded[: int(len(encoded) * part)], kind, 60)


def test_a_stream_that_stops_between_two_blocks_is_taken_as_whole() -> None:
    """As a browser's recorder leaves it; nothing in it says that there was more."""
    encoded = FILMS["webm recorder"]()
    stop = encoded.rindex(CLUSTER)
    assert 0 < video_reader.read_info(encoded[:stop], "webm", max_pixels=10**6).num_frames < 50


def test_what_stands_behind_a_whole_file_does_not_matter() -> None:
    for name in ("webm", "mp4"):
        encoded = FILMS[name]() + b"\0" * 100 + b"more"
        assert not ends_inside(encoded, container_of(name))


def test_no_bytes_are_more_than_an_answer() -> None:
    encoded = FILMS["webm recorder"]()
    dice = np.random.default_rng(0)
    for _ in range(500):
        broken = bytearray(encoded[: dice.integers(1, len(encoded))])
        for place in dice.integers(0, len(broken), 4):
            broken[place] = dice.integers(0, 256)
        assert ends_inside(bytes(broken), "webm") in (True, False)
        assert ends_inside(bytes(broken), "mp4") in (True, False)
