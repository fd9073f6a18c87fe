"""Sampling, sizes and times of frames, against the reference's formulas."""

from dataclasses import replace
from itertools import pairwise

import pytest

from service.media.video.video_rule import VideoRule, frames_between, item_times

RULE = VideoRule()


@pytest.mark.parametrize("num_frames", [1, 2, 5, 63, 64])
def test_a_list_that_fits_is_seen_whole(num_frames: int) -> None:
    assert RULE.sample_list(num_frames) == list(range(num_frames))


@pytest.mark.parametrize("num_frames", [65, 66, 100, 127, 128, 1000, 1024])
def test_a_longer_list_is_sampled_from_end_to_end_and_cut_to_int(num_frames: int) -> None:
    taken = RULE.sample_list(num_frames)
    assert taken == [i * (num_frames - 1) // 63 for i in range(64)]
    assert (taken[0], taken[-1], len(set(taken))) == (0, num_frames - 1, 64)


@pytest.mark.parametrize(
    ("num_frames", "file_fps", "fps", "max_frames", "num_taken"),
    [
        (300, 30.0, None, None, 10),  # ten seconds, one a second
        (300, 30.0, 2.0, None, 20),
        (330, 30.0, None, None, 10),  # eleven becomes even
        (30, 30.0, None, None, 4),  # one second: never fewer than four
        (3, 30.0, None, None, 2),  # but not more than there are
        (2, 30.0, None, None, 2),
        (30_000, 30.0, None, None, 64),
        (30_000, 30.0, 1000.0, None, 64),
        (30_000, 30.0, None, 16, 16),
        (30_000, 30.0, None, 17, 16),
        (300, 30.0, None, 2, 2),
    ],
)
def test_frames_of_a_file(
    num_frames: int, file_fps: float, fps: float | None, max_frames: int | None, num_taken: int
) -> None:
    taken = RULE.sample_file(range(num_frames), file_fps, fps, max_frames)
    assert len(taken) == num_taken
    assert taken == sorted(taken)
    assert (taken[0], taken[-1]) == (0, num_frames - 1)
    steps = [b - a for a, b in pairwise(taken)]
    assert max(steps) - min(steps) <= 1


@pytest.mark.parametrize(
    ("num_frames", "fps", "start_s", "end_s", "first", "last"),
    [
        (300, 30.0, None, None, 0, 299),
        (300, 30.0, 2.0, 4.0, 60, 120),  # both ends belong to it
        (300, 30.0, 2.01, 4.01, 61, 120),  # the frames between, none before or after
        (300, 30.0, 2.0, None, 60, 299),
        (300, 30.0, None, 4.0, 0, 120),
        (300, 30.0, 9.0, 1000.0, 270, 299),
        (300, 29.97, 1.0, 2.0, 30, 59),
        (300, 30.0, 9.96, 20.0, 299, 299),  # one frame: the caller refuses it, as the reference does
    ],
)
def test_frames_between_two_times(
    num_frames: int, fps: float, start_s: float | None, end_s: float | None, first: int, last: int
) -> None:
    found = frames_between(num_frames, fps, start_s, end_s)
    assert (found[0], found[-1]) == (first, last)


@pytest.mark.parametrize(("start_s", "end_s"), [(10.0, 11.0), (11.0, 12.0), (3.01, 3.02), (5.0, 4.0)])
def test_no_frames_lie_beyond_the_end_or_between_two_frames(start_s: float, end_s: float) -> None:
    assert not frames_between(300, 30.0, start_s, end_s)


def test_a_part_is_sampled_as_a_file_of_its_length_at_its_own_place() -> None:
    part = frames_between(30_000, 30.0, 100.0, 110.0)
    taken = RULE.sample_file(part, 30.0)
    assert len(taken) == 10  # of 301 frames
    assert (taken[0], taken[-1]) == (3000, 3300)
    assert [i - 3000 for i in taken] == RULE.sample_file(range(301), 30.0)


@pytest.mark.parametrize(
    ("stored", "num_frames", "seen"),
    [
        ((512, 640), 2, (512, 640)),  # within both bounds
        ((512, 640), 64, (416, 544)),  # 245,760 pixels each
        ((512, 640), 1024, (320, 384)),  # a share of 1.05 · 131,072 at least, then floored as the reference floors
        ((64, 64), 4, (384, 384)),  # enlarged to 131,072 at least
        ((1088, 1920), 4, (640, 1152)),  # 786,432
    ],
)
def test_sizes_share_the_videos_pixels(stored: tuple[int, int], num_frames: int, seen: tuple[int, int]) -> None:
    height, width = RULE.frame_size(*stored, num_frames)
    assert (height, width) == seen
    share = max(min(786_432, 7_864_320 / num_frames * 2), 137_625)
    assert height * width <= share


def test_a_full_video_fits_the_models_length() -> None:
    height, width = RULE.frame_size(512, 512, 64)
    assert 32 * height * width // 1024 <= 7_680


def test_a_checkpoint_of_small_images_sees_small_frames() -> None:
    rule = replace(RULE, min_frame_pixels=16_384, max_frame_pixels=16_384)
    assert rule.frame_size(512, 512, 4) == (128, 128)


def test_a_pair_is_seen_between_its_frames() -> None:
    assert item_times([0, 1, 2, 3], 2.0) == (0.25, 1.25)
    assert item_times([0, 10, 20, 30], 10.0) == (0.5, 2.5)
    assert [f"{t:.1f}" for t in item_times(range(6), 2.0)] == ["0.2", "1.2", "2.2"]
