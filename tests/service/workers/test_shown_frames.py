"""Frames of video files are those that a player shows: turned, mirrored, and with square pixels."""

import gc
import io
import itertools
import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageDraw

from service.media.container import sniff_container
from service.media.resize.antialias import resize_antialiased
from service.workers.video_reader import read_frames, read_info
from tests.video_file import decoded

LARGE = 10**6
SHOWN = (96, 160)
"""Height and width of the scene."""
TURNS = [(degrees, mirror) for degrees in (0, 90, 180, 270) for mirror in ("", "h", "v")]
KINDS = [("mp4", "mpeg4"), ("mp4", "libx264"), ("mov", "libx264"), ("webm", "libvpx-vp9")]


def scene(number: int = 0, size: tuple[int, int] = SHOWN) -> np.ndarray:
    """A picture that no turn and no mirror leaves alike."""
    image = Image.new("RGB", (160, 96), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((10, 8, 60, 40), fill=(220, 20, 20))
    draw.ellipse((90 + number, 40, 140 + number, 90), fill=(20, 40, 220))
    return np.asarray(image.resize(size[::-1], Image.Resampling.BICUBIC))


def turned(pixels: np.ndarray, degrees: int, mirror: str) -> np.ndarray:
    """A picture turned counterclockwise and mirrored afterwards."""
    pixels = np.rot90(pixels, degrees // 90)
    return {"": pixels, "h": pixels[:, ::-1], "v": pixels[::-1]}[mirror]


def as_stored(pixels: np.ndarray, degrees: int, mirror: str) -> np.ndarray:
    """The stored frame of which `turned` makes the picture."""
    return np.rot90({"": pixels, "h": pixels[:, ::-1], "v": pixels[::-1]}[mirror], -(degrees // 90))


def film(
    frames: list[np.ndarray],
    kind: str,
    codec: str,
    turn: tuple[int, str] = (0, ""),
    shape: Fraction | None = None,
    sei: list[tuple[int, str]] | None = None,
) -> bytes:
    """A file of frames as they are stored.

    Args:
        turn: of the container.
        shape: width of a pixel over its height, by the codec and the container.
        sei: the display orientation of each frame, by the codec.
    """
    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind) as file:
        stream = file.add_stream(codec, rate=2)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt, stream.bit_rate, stream.gop_size = "yuv420p", 4_000_000, 2
        stream.options = {"bf": "0"} if codec == "libx264" else {}
        if turn != (0, ""):
            stream.set_display_rotation(turn[0], hflip=turn[1] == "h", vflip=turn[1] == "v")
        if shape is not None:
            stream.codec_context.sample_aspect_ratio = shape
        packets = [stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(one), "rgb24")) for one in frames]
        for number, packet in enumerate(itertools.chain(*packets, stream.encode(None))):
            if sei is not None and sei[number] != (0, ""):
                packet = oriented(packet, *sei[number])
                packet.stream = stream
            file.mux(packet)
    return buffer.getvalue()


def oriented(packet: av.Packet, degrees: int, mirror: str) -> av.Packet:
    """A packet of H.264 with a display orientation in front of its picture: mirrors, and then a turn."""
    flips = {"": "00", "h": "10", "v": "01"}[mirror]
    bits = f"0{flips}{degrees * 65536 // 360:016b}010" + "01"  # repeated until the next; no extension; the end
    payload = int(bits.ljust(24, "0"), 2).to_bytes(3, "big")
    stored = bytes(packet)
    picture = next(place for place in re.finditer(rb"\x00\x00\x00?\x01", stored) if stored[place.end()] & 31 in (1, 5))
    unit = b"\0\0\0\1\x06\x2f\x03" + payload + b"\x80"
    found = av.Packet(stored[: picture.start()] + unit + stored[picture.start() :])
    found.pts, found.dts, found.time_base, found.is_keyframe = packet.pts, packet.dts, packet.time_base, True
    return found


def shown(encoded: bytes, frames: list[int], size: tuple[int, int] = SHOWN) -> np.ndarray:
    container = sniff_container(encoded)
    assert container is not None
    info = read_info(encoded, container, max_pixels=LARGE)
    assert (info.height, info.width) == size
    return read_frames(encoded, container, frames, size, max_pixels=LARGE)


def assert_alike(found: np.ndarray, expected: np.ndarray) -> None:
    """A codec changes pixels by a few levels, and another turn a tenth of them by far more."""
    assert np.abs(found.astype(int) - expected).mean() < 6


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(("kind", "codec"), KINDS)
def test_a_turn_that_the_container_states(kind: str, codec: str, turn: tuple[int, str]) -> None:
    upright = [scene(k) for k in range(4)]
    encoded = film([as_stored(one, *turn) for one in upright], kind, codec, turn)
    found = shown(encoded, [1, 3])
    assert_alike(found, np.stack(upright)[[1, 3]])
    stored = decoded(encoded, "webm" if kind == "webm" else "mp4")
    assert np.array_equal(found[1], turned(stored[3], *turn))  # nothing but the turn


def test_a_turn_that_changes_in_the_middle_of_a_stream() -> None:
    """Each frame has its own; a codec's message comes before the container's word."""
    upright = [scene(k, (96, 96)) for k in range(6)]
    turns = [(0, ""), (0, ""), (90, ""), (180, ""), (0, "h"), (270, "")]
    encoded = film(
        [as_stored(one, *turn) for one, turn in zip(upright, turns, strict=True)], "mp4", "libx264", sei=turns
    )
    assert_alike(shown(encoded, list(range(6)), (96, 96)), np.stack(upright))
    assert_alike(shown(encoded, [3, 5], (96, 96)), np.stack(upright)[[3, 5]])


def test_a_frame_of_another_shape_is_scaled_to_the_first() -> None:
    """As the ffmpeg command does it."""
    stored = [scene(k) for k in range(4)]
    encoded = film(stored, "mp4", "libx264", sei=[(0, ""), (0, ""), (90, ""), (90, "")])
    found = shown(encoded, [2])[0]
    assert np.array_equal(found, resize_antialiased(np.rot90(decoded(encoded)[2]).copy(), SHOWN))


@pytest.mark.parametrize("shape", [Fraction(2), Fraction(1, 2), Fraction(32, 27), Fraction(10, 11)])
@pytest.mark.parametrize("turn", [(0, ""), (90, ""), (180, "h")])
@pytest.mark.parametrize(("kind", "codec"), [("mp4", "mpeg4"), ("mov", "libx264")])
def test_pixels_that_are_not_square(kind: str, codec: str, turn: tuple[int, str], shape: Fraction) -> None:
    """The side that is short of pixels is made longer, before the turn."""
    stored = as_stored(scene(), *turn)
    height, width = stored.shape[:2]
    size = (round(height / min(shape, 1)), round(width * max(shape, 1)))
    encoded = film([stored] * 2, kind, codec, turn, shape)
    found = shown(encoded, [1], size[::-1] if turn[0] == 90 else size)[0]
    assert_alike(found, scene(0, found.shape[:2]))


def test_a_display_size_of_webm() -> None:
    encoded = film([scene()] * 2, "webm", "libvpx-vp9", (90, ""))
    projection = encoded.index(b"\x76\x70\x8b")  # 14 bytes
    display = b"\x54\xb0\x82\x01\x40\x54\xba\x81\x60\xec\x83\0\0\0"  # 320 x 96, and nothing
    encoded = encoded[:projection] + display + encoded[projection + len(display) :]
    assert_alike(shown(encoded, [0], (96, 320))[0], scene(0, (96, 320)))


def test_a_file_too_large_is_not_decoded() -> None:
    encoded = film([scene()] * 2, "mp4", "mpeg4", (90, ""))
    info = read_info(encoded, "mp4", max_pixels=96 * 160 - 1)
    assert (info.height, info.width) == (96, 160)  # as stored


def test_frames_are_freed_without_the_garbage_collector() -> None:
    """A frame that refers to itself keeps its pixels and FFmpeg's threads: worker processes ran out of memory."""
    encoded = film([scene()] * 4, "mp4", "libx264", (90, ""))
    before = num_threads()
    gc.disable()
    try:
        for _ in range(3):
            read_frames(encoded, "mp4", [0, 3], (64, 64), max_pixels=LARGE)
        assert num_threads() == before
    finally:
        gc.enable()


def num_threads() -> int:
    return sum(1 for _ in Path("/proc/self/task").iterdir())
