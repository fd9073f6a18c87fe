"""Single frames of video files are those that decoding from the first to the last gives, wherever they lie."""

import itertools

import av
import numpy as np
import pytest

from service.media.resize.antialias import resize_antialiased
from service.media.video.video_file import Container
from service.workers.video_reader import UnreadableFileError, read_frames, read_info
from tests.video_file import decoded, drawn, soundtrack, video

LARGE = 10**6
SIZE = (96, 128)
KINDS: list[tuple[str, Container]] = [
    ("libx264", "mp4"),  # frames that refer to later ones
    ("mpeg4", "mp4"),
    ("libvpx", "webm"),  # packets that show nothing
    ("libvpx-vp9", "webm"),
]
UNREADABLE = (UnreadableFileError, av.FFmpegError)


@pytest.mark.parametrize(("codec", "container"), KINDS)
def test_any_frames_are_those_of_decoding_all(codec: str, container: Container) -> None:
    encoded = video(codec=codec, container=container)
    whole = decoded(encoded, container)
    for frames in ([0, 1, 2, 3], [0, 49], [11, 12, 13, 24, 30], list(range(50)), [49]):
        found = read_frames(encoded, container, frames, SIZE, max_pixels=LARGE)
        assert np.array_equal(found, np.stack([whole[i] for i in frames]))


@pytest.mark.parametrize(("codec", "container"), KINDS)
def test_the_container_says_how_many_how_large_how_fast(codec: str, container: Container) -> None:
    info = read_info(video(30, codec=codec, container=container, fps=10, size=(64, 160)), container, max_pixels=LARGE)
    assert (info.width, info.height, info.num_frames, info.fps, info.duration_s) == (160, 64, 30, 10.0, 3.0)


def test_frames_are_resized_once() -> None:
    encoded = video(4)
    found = read_frames(encoded, "mp4", [2], (320, 416), max_pixels=LARGE)
    assert np.array_equal(found[0], resize_antialiased(decoded(encoded)[2], (320, 416)))


def test_a_frames_color_is_its_number() -> None:
    found = read_frames(video(), "mp4", [3, 20, 33], SIZE, max_pixels=LARGE)
    for number, frame in zip([3, 20, 33], found, strict=True):
        assert np.abs(frame[:, -8:].astype(int) - drawn(number)[:, -8:]).max() < 12


@pytest.mark.parametrize("flags", ["faststart", "frag_keyframe+empty_moov"])
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_an_error(tmp_path, flags: str, part: float) -> None:
    """Its index comes first: whoever read only that would not notice."""
    path = tmp_path / "video.mp4"
    with av.open(str(path), "w", format="mp4", options={"movflags": flags}) as file:
        stream = file.add_stream("mpeg4", rate=25)
        stream.height, stream.width, stream.pix_fmt = 96, 128, "yuv420p"
        for seed in range(30):
            noise = np.random.default_rng(seed).integers(0, 256, (96, 128, 3), dtype=np.uint8)
            file.mux(stream.encode(av.VideoFrame.from_ndarray(noise, format="rgb24")))
        file.mux(stream.encode(None))
    encoded = path.read_bytes()
    assert read_info(encoded, "mp4", max_pixels=LARGE).num_frames == 30
    with pytest.raises(UNREADABLE):
        read_info(encoded[: int(len(encoded) * part)], "mp4", max_pixels=LARGE)


def test_audio_alone_is_no_video() -> None:
    with pytest.raises(UnreadableFileError):
        read_info(soundtrack(), "mp4", max_pixels=LARGE)


def test_a_frame_beyond_the_end_and_a_frame_too_large_are_errors() -> None:
    encoded = video(10)
    with pytest.raises(UnreadableFileError):
        read_frames(encoded, "mp4", [3, 10], SIZE, max_pixels=LARGE)
    with pytest.raises(UnreadableFileError):
        read_frames(encoded, "mp4", [3], SIZE, max_pixels=96 * 128 - 1)


def test_no_damage_is_more_than_an_error() -> None:
    """Whatever comes is frames or an exception that the worker catches: no crash, no endless loop."""
    encoded, random = bytearray(video(20, codec="mpeg4")), np.random.default_rng(5)
    num_read = 0
    for _ in range(60):
        damaged = encoded.copy()
        for place in random.integers(0, len(damaged), 8):
            damaged[place] = random.integers(0, 256)
        try:
            info = read_info(bytes(damaged), "mp4", max_pixels=LARGE)
            read_frames(bytes(damaged), "mp4", [0, info.num_frames - 1], (32, 32), max_pixels=LARGE)
            num_read += 1
        except Exception:  # noqa: BLE001  # as the worker does
            continue
    assert 0 < num_read < 60


def test_times_that_go_backwards_are_put_in_order() -> None:
    frames = list(itertools.chain(range(10)))
    found = read_frames(video(10), "mp4", frames, SIZE, max_pixels=LARGE)
    levels = found[:, :, -8:].mean(axis=(1, 2, 3))
    assert (np.diff(levels) > 0).all()
