"""Files that a decoder's process reads through its socket: the same frames, few bytes, and nothing else of the disk."""

import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from service.media.container import Container
from service.workers import worker_process
from service.workers.messages import DecodeEnd, VideoTask
from service.workers.programs import VIDEOS
from service.workers.video_reader import OpenVideoFile, read_frames, read_info
from service.workers.worker_process import WorkerLostError, WorkerSlot
from tests.video_file import video

SIZE, LARGE = (96, 128), 10**6


@pytest.fixture
def slot() -> Iterator[WorkerSlot]:
    with closing(WorkerSlot(VIDEOS, max_memory_bytes=1 << 30, deadline_s=20)) as slot:
        yield slot


def task(file: BinaryIO | None = None, *frames: int, container: Container = "mp4", keeps: bool = True) -> VideoTask:
    num_bytes = os.fstat(file.fileno()).st_size if file else 0
    return VideoTask(
        encoded=b"", num_lent_bytes=num_bytes, keeps=keeps, container=container, frames=frames, size=SIZE,
        max_pixels=LARGE,
    )  # fmt: skip


def ask(slot: WorkerSlot, file: BinaryIO | None, one: VideoTask) -> tuple[DecodeEnd, np.ndarray]:
    num_bytes = len(one.frames) * SIZE[0] * SIZE[1] * 3
    end, pixels = slot.run(lambda worker: worker.exchange(one, num_bytes, 20, lent=file))
    return end, pixels.reshape(-1, *SIZE, 3)


def long_video() -> bytes:
    """Frames of noise, so that each has thousands of bytes."""
    return video(600, codec="mpeg4", size=(256, 256))


@pytest.mark.parametrize(("codec", "container"), [("libx264", "mp4"), ("libvpx-vp9", "webm")])
def test_a_lent_file_that_is_kept_gives_the_frames_of_the_whole(
    slot: WorkerSlot, tmp_path: Path, codec: str, container: Container
) -> None:
    encoded = video(codec=codec, container=container)
    (tmp_path / "video").write_bytes(encoded)
    with (tmp_path / "video").open("rb") as file:
        end, _ = ask(slot, file, task(file, container=container))
        assert end.video == read_info(encoded, container, max_pixels=10**6)
        for frames in ([3, 20, 33], [49], [0, 1], [48, 49], [10]):  # to the end, and back
            _, pixels = ask(slot, file, task(None, *frames, container=container))
            whole = read_frames(encoded, container, frames, SIZE, max_pixels=LARGE)
            assert np.array_equal(pixels, whole)


def test_a_part_in_the_middle_reads_its_own_bytes_alone() -> None:
    """So that of a long file neither what comes before is decoded nor its packets counted again."""
    encoded = long_video()
    content = Counted(encoded)
    with closing(OpenVideoFile(content, "mp4")) as file:
        assert content.num_read >= len(encoded)
        content.num_read = 0
        found = file.frames([300, 310, 320], SIZE, max_pixels=LARGE)
        assert 0 < content.num_read < len(encoded) / 5
    whole = read_frames(encoded, "mp4", [300, 310, 320], SIZE, max_pixels=LARGE)
    assert np.array_equal(found, whole)


class Counted:
    """A lent file in memory that counts the bytes asked for."""

    def __init__(self, content: bytes) -> None:
        self.content, self.num_read = content, 0

    def __len__(self) -> int:
        return len(self.content)

    def __getitem__(self, part: slice) -> bytes:
        return self.content[part]

    def stream(self) -> BinaryIO:
        owner = self

        class Stream(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                found = super().read(size)
                owner.num_read += len(found)
                return found

        return Stream(self.content)


def test_a_file_that_became_shorter_is_damaged_and_the_process_goes_on(slot: WorkerSlot, tmp_path: Path) -> None:
    encoded, path = video(), tmp_path / "video"
    path.write_bytes(encoded)
    with path.open("rb") as file:
        one = task(file)
        os.truncate(path, len(encoded) // 2)
        end, _ = ask(slot, file, one)
        assert end.video is None
        os.truncate(path, 0)
        path.write_bytes(encoded)
        end, _ = ask(slot, file, one)
        assert end.video is not None


def test_a_file_that_cannot_be_read_is_an_error_of_the_disk_and_the_next_is_read(
    slot: WorkerSlot, tmp_path: Path
) -> None:
    path = tmp_path / "video"
    path.write_bytes(video())
    with path.open("rb") as file:
        one = task(file)
        with path.open("ab") as unreadable, pytest.raises(OSError, match="Bad file descriptor"):
            ask(slot, unreadable, one)
        end, _ = ask(slot, file, one)
        assert end.video is not None


@pytest.mark.parametrize(
    ("wants", "is_lent"), [("(0, 1 << 30)", True), ("(-1, 8)", True), ("(0, -1)", True), ("(0, 8)", False)]
)
def test_what_no_file_was_lent_for_is_not_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wants: str, is_lent: bool
) -> None:
    """A process that was taken over asks for what it likes."""
    monkeypatch.setattr(worker_process, "NUM_TRIES", 1)
    program = tmp_path / "worker.py"
    program.write_text(
        "from service.workers import av_worker\nfrom service.workers.messages import DecodeEnd\n"
        f"av_worker.Files.decode = lambda self, task, _: (DecodeEnd(num_bytes=0, wants={wants}), memoryview(b''))\n"
        "av_worker.load_video_codecs = int\nav_worker.main()\n"
    )
    command = (VIDEOS[0], str(program), "video")
    with closing(WorkerSlot(command, max_memory_bytes=1 << 30, deadline_s=20)) as slot:
        (tmp_path / "file").write_bytes(bytes(100))
        with (tmp_path / "file").open("rb") as file, pytest.raises(WorkerLostError):
            ask(slot, file if is_lent else None, task(file))


def test_a_process_that_asks_without_end_is_late(
    slot: WorkerSlot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "video").write_bytes(long_video())
    with (tmp_path / "video").open("rb") as file:
        ask(slot, file, task(file))
        monkeypatch.setattr(worker_process.time, "monotonic", iter(range(0, 10**6, 3)).__next__)
        with pytest.raises(TimeoutError):
            ask(slot, file, task(file))
