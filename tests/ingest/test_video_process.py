"""Processes that read videos for a run: lost ones are replaced, files are kept, segments lie where they should."""

import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from service.ingest.errors import FileError
from service.ingest.files import video_process
from service.ingest.files.source_file import SourceFile, find
from service.ingest.files.video_process import VideoProcess, VideoProcesses
from service.ingest.files.video_segment import OpenedVideo, VideoSegment, segments
from service.ingest.item import SourceItem
from service.ingest.sources.video import VideoSegments
from service.media.video.video_file import VideoInfo
from service.media.video.video_rule import VideoRule
from service.workers.video_reader import read_frames
from tests.conftest import children_of
from tests.video_file import video

RULE = VideoRule(min_frame_pixels=16_384, max_frame_pixels=16_384)


@pytest.fixture
def process() -> Iterator[VideoProcess]:
    with closing(VideoProcess()) as process:
        yield process


def written(folder: Path, content: bytes, name: str = "a.mp4") -> SourceFile:
    (folder / name).write_bytes(content)
    return find(folder / name, name)


def frames_of(process: VideoProcess, segment: VideoSegment) -> np.ndarray:
    sampled = segment.sample(RULE)
    assert sampled is not None
    return process.frames(segment, sampled)


def test_a_process_that_was_killed_costs_no_segment(process: VideoProcess, tmp_path: Path) -> None:
    encoded = video(100)
    file, others = written(tmp_path, encoded), set(children_of(os.getpid()))
    first, second = segments(process.opened(file), 2)
    before = frames_of(process, first)
    (worker,) = set(children_of(os.getpid())) - others
    os.kill(worker, signal.SIGKILL)
    sampled = second.sample(RULE)
    assert sampled is not None
    expected = read_frames(encoded, "mp4", sampled.numbers, sampled.size, max_pixels=10**6)
    assert np.array_equal(process.frames(second, sampled), expected)
    assert np.array_equal(frames_of(process, first), before)


def test_a_file_is_opened_once_for_all_of_its_segments(
    process: VideoProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other, opened = written(tmp_path, video(100)), written(tmp_path, video(50), "b.mp4"), []
    open_regular = video_process.open_regular
    monkeypatch.setattr(video_process, "open_regular", lambda path: opened.append(path.name) or open_regular(path))
    for segment in segments(process.opened(file), 1):
        frames_of(process, segment)
    assert process.opened(other).info.num_frames == 50
    assert process.opened(file).info.num_frames == 100
    assert opened == ["a.mp4", "b.mp4", "a.mp4"]


def test_a_file_that_changes_during_the_run_is_refused(process: VideoProcess, tmp_path: Path) -> None:
    file = written(tmp_path, video(50))
    written(tmp_path, video(60))
    with pytest.raises(FileError, match="changed during the run"):
        process.opened(file)


def test_a_file_without_end_is_late_and_the_next_is_read(
    process: VideoProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, video(50))
    monkeypatch.setattr(video_process, "OPEN_S", 0.0)
    with pytest.raises(FileError, match=r"a\.mp4: The video cannot be read within 0 s"):
        process.opened(file)
    monkeypatch.setattr(video_process, "OPEN_S", 60.0)
    assert process.opened(file).info.num_frames == 50


REFUSED = {
    "gone": (None, "unreadable_file", "No such file"),
    "empty": (b"", "media_undecodable", "MP4, WebM"),
    "with too many frames": (video(60), "media_too_large", "more than 50 frames"),
    "too large": (video(2, size=(128, 160)), "media_too_large", "160 x 128 pixels"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_has_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    content, code, words = REFUSED[name]
    monkeypatch.setattr("service.media.video.video_file.MAX_INDEXED_FRAMES", 50)
    monkeypatch.setattr(video_process, "LIMITS", video_process.VideoLimits(max_pixels=20_000))
    if content is not None:
        (tmp_path / "a.mp4").write_bytes(content)
    with closing(VideoProcesses()) as processes:
        (bad,) = VideoSegments(processes, 0).items(tmp_path / "a.mp4", "a.mp4")
    assert not isinstance(bad, SourceItem)
    assert (bad.id, bad.reason.code) == ("a.mp4", code)
    assert "a.mp4" in bad.reason.message
    assert words in bad.reason.message


def test_a_segment_between_two_frames_is_a_dead_letter_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(video(4, fps=1))
    with closing(VideoProcesses()) as processes:
        found = list(VideoSegments(processes, 0.5).items(tmp_path / "a.mp4", "a.mp4"))
    assert len(found) == 7
    assert not any(isinstance(one, SourceItem) for one in found)
    assert found[1].id == "a.mp4#t=0.5,1"
    assert "hold 1 of the video's frames" in found[1].reason.message  # type: ignore[union-attr]


def made(num_frames: int, fps: float) -> OpenedVideo:
    file = SourceFile(Path("a.mp4"), "a.mp4", b"", 0)
    return OpenedVideo(file, "mp4", VideoInfo(width=64, height=64, num_frames=num_frames, fps=fps))


@pytest.mark.parametrize(
    ("num_frames", "fps", "segment_s", "names"),
    [
        (250, 10.0, 10.0, ["0,10", "10,20", "20,25"]),
        (200, 10.0, 10.0, ["0,10", "10,20"]),
        (209, 10.0, 10.0, ["0,10", "10,20.9"]),  # the rest is less than a tenth
        (211, 10.0, 10.0, ["0,10", "10,20", "20,21.1"]),
        (30, 10.0, 10.0, ["0,3"]),
        (21, 1.0, 10.0, ["0,10", "10,21"]),  # it would be one frame
        (11, 10.0, 0.1, [f"{i / 10:g},{(i + 1) / 10:g}" for i in range(10)]),
        (90, 30000 / 1001, 1.5, ["0,1.5", "1.5,3.003"]),
    ],
)
def test_segments_follow_each_other_to_the_end(num_frames: int, fps: float, segment_s: float, names: list[str]) -> None:
    found = list(segments(made(num_frames, fps), segment_s))
    if names[-1] == "0.9,1":
        names = [*names[:-1], "0.9,1.1"]
    assert [one.name for one in found] == [f"a.mp4#t={times}" for times in names]
    assert [(one.number, one.num_segments) for one in found] == [(i + 1, len(names)) for i in range(len(names))]
    assert (found[0].frames[0], found[-1].frames[-1]) == (0, num_frames - 1)
    covered = {number for one in found for number in one.frames}
    assert covered == set(range(num_frames))


def test_segments_are_counted_and_beyond_a_size_estimated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [written(tmp_path, video(75), f"{i}.mp4").path for i in range(4)]
    bad = written(tmp_path, b"PK", "bad.mp4").path
    with closing(VideoProcesses()) as processes:
        videos = VideoSegments(processes, 1)
        assert videos.count([*paths, bad, tmp_path / "gone.mp4"]) == 14
        assert VideoSegments(processes, 0).count(paths) == 4
        monkeypatch.setattr("service.ingest.sources.video.VideoSegments.counted_bytes", 2 * paths[0].stat().st_size)
        assert videos.count(paths) == 12
