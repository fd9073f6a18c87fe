"""Single frames of video files are those that decoding from the first to the last gives, wherever they lie."""

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


def test_audio_alone_a_frame_beyond_the_end_and_a_frame_too_large_are_errors() -> None:
    with pytest.raises(UnreadableFileError):
        read_info(soundtrack(), "mp4", max_pixels=LARGE)
    for frames, max_pixels in (([3, 10], LARGE), ([3], 96 * 128 - 1)):
        with pytest.raises(UnreadableFileError):
            read_frames(video(10), "mp4", frames, SIZE, max_pixels=max_pixels)
