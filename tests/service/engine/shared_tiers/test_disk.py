"""The shared tier on a disk, on a real one, with several real processes."""

import fcntl
import multiprocessing
import os
import random
import shutil
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from service.engine.shared_tiers.disk import FOLDER, DiskTier
from service.engine.shared_tiers.disk_folder import DiskFolder

CAP = 100_000


def name_of(number: int) -> str:
    return f"{number:064x}"


def folder_of(path: Path) -> Path:
    return path / FOLDER


def taken(path: Path) -> int:
    return sum(file.stat().st_size for file in folder_of(path).iterdir() if file.name != "lock")


def test_what_was_put_is_there_also_after_a_restart(tmp_path: Path) -> None:
    DiskTier(tmp_path, CAP).put(name_of(1), b"one" * 100)
    again = DiskTier(tmp_path, CAP)
    assert again.get(name_of(1)) == b"one" * 100
    again.counts.add("num_hits")
    assert again.get(name_of(2)) is None
    report = again.report()
    assert (report.num_hits, report.num_misses, report.num_bytes, report.num_entries) == (1, 1, 300, 1)


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        DiskTier(tmp_path, CAP).put(name_of(1), b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE(folder_of(tmp_path).stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder_of(tmp_path).iterdir()} == {0o600}


def test_a_folder_that_others_may_enter_is_not_used_and_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    folder_of(tmp_path).mkdir()
    folder_of(tmp_path).chmod(0o755)
    with pytest.raises(PermissionError, match="0700"):
        DiskTier(tmp_path, CAP)
    folder_of(tmp_path).rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder_of(tmp_path).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="must be a directory"):
        DiskTier(tmp_path, CAP)


def test_the_least_recently_used_go_first_and_the_cap_holds_after_every_write(tmp_path: Path) -> None:
    tier, draw = DiskTier(tmp_path, CAP), random.Random(1)
    tier.put(name_of(0), bytes(1000))
    for number in range(1, 500):
        tier.put(name_of(number), draw.randbytes(draw.choice((100, 1000, 9000))))
        assert taken(tmp_path) <= CAP
        assert tier.get(name_of(0)) == bytes(1000)  # used all the time, so it stays
        os.utime(folder_of(tmp_path) / f"{name_of(0)}.safetensors", ns=(2**62, 2**62))  # clocks of files are coarse
    report = tier.report()
    assert report.num_bytes == taken(tmp_path) > 0.8 * CAP
    assert report.num_evictions > 100
    assert tier.get(name_of(1)) is None
    assert tier.get(name_of(499)) is not None


def test_what_is_larger_than_the_cap_is_not_written_and_a_smaller_one_than_last_time_holds_at_once(
    tmp_path: Path,
) -> None:
    tier = DiskTier(tmp_path, CAP)
    tier.put(name_of(1), bytes(CAP + 1))
    assert (tier.report().num_rejected, taken(tmp_path)) == (1, 0)
    for number in range(50):
        tier.put(name_of(number), bytes(1900))
    DiskTier(tmp_path, 10_000)
    assert 0 < taken(tmp_path) <= 10_000


def test_a_file_that_is_refused_is_removed_and_counts_as_a_miss_and_the_last_success_is_told(tmp_path: Path) -> None:
    before_s = time.time()
    tier = DiskTier(tmp_path, CAP)
    assert tier.report().last_success_s == 0
    tier.put(name_of(1), b"broken")
    assert before_s <= tier.report().last_success_s <= time.time()
    assert tier.get(name_of(1)) == b"broken"
    tier.refuse(name_of(1))
    assert tier.get(name_of(1)) is None
    report = tier.report()
    assert (report.num_hits, report.num_misses, report.num_corrupt) == (0, 2, 1)
    assert (report.num_bytes, report.num_entries) == (0, 0)


def test_a_folder_that_was_deleted_is_made_again_and_something_else_in_its_place_is_not_written_to(
    tmp_path: Path,
) -> None:
    tier = DiskTier(tmp_path / "cache", CAP)
    tier.put(name_of(1), b"one" * 100)
    shutil.rmtree(tmp_path / "cache")
    assert tier.get(name_of(1)) is None
    tier.put(name_of(2), b"two" * 10)
    assert tier.get(name_of(2)) == b"two" * 10
    report = tier.report()
    assert (report.num_bytes, report.num_entries, report.num_rejected, report.is_up) == (30, 1, 0, True)
    assert folder_of(tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    shutil.rmtree(folder_of(tmp_path / "cache"))
    folder_of(tmp_path / "cache").symlink_to(tmp_path / "gone")
    tier.put(name_of(1), b"one")
    assert (tier.report().num_rejected, tier.report().is_up) == (1, False)
    assert not (tmp_path / "gone").exists()


def test_a_link_a_pipe_a_socket_and_a_file_too_large_are_misses_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path has to be short
    tier = DiskTier(tmp_path, CAP)
    tier.put(name_of(9), bytes(1000))
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    link, pipe, large, sock = (folder_of(tmp_path) / f"{name_of(number)}.safetensors" for number in range(4))
    link.symlink_to(secret)
    os.mkfifo(pipe)
    large.write_bytes(bytes(CAP + 1))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        Path("socket").rename(sock)
        assert [tier.get(name_of(number)) for number in (2, 0, 1, 3)] == [None] * 4
    assert not [path for path in (link, pipe, large, sock) if path.is_symlink() or path.exists()]
    assert secret.read_bytes() == b"secret"
    assert (tier.report().num_bytes, tier.report().num_entries) == (1000, 1)  # they were never counted


def test_what_a_killed_process_left_half_written_is_removed_and_never_read(tmp_path: Path) -> None:
    DiskTier(tmp_path, CAP)
    part = folder_of(tmp_path) / f"{name_of(1)}.part"
    part.write_bytes(bytes(5000))
    tier = DiskTier(tmp_path, CAP)
    assert tier.get(name_of(1)) is None
    assert not part.exists()


@pytest.mark.parametrize("noted", [b"", b"nonsense", b"1 2 3 4", b"\xff" * 64])
def test_a_lock_file_that_says_nothing_is_counted_anew(tmp_path: Path, noted: bytes) -> None:
    tier = DiskTier(tmp_path, CAP)
    tier.put(name_of(1), bytes(500))
    (folder_of(tmp_path) / "lock").write_bytes(noted)
    tier.put(name_of(2), bytes(700))
    assert (tier.report().num_bytes, tier.report().num_entries) == (1200, 2)


def test_a_disk_that_fails_is_a_miss_and_is_left_alone_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tier = DiskTier(tmp_path, CAP)

    def full(self: DiskFolder, name: str, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DiskFolder, "write", full)
    for number in range(10):
        tier.put(name_of(number), b"x")
    monkeypatch.undo()
    tier.put(name_of(10), b"x")
    assert tier.report().num_rejected == 11
    assert [record.getMessage() for record in caplog.records if "ENOSPC" in record.getMessage()] != []
    assert len(caplog.records) == 1


def _write_many(path: Path, seed: int, over: "multiprocessing.sharedctypes.Synchronized[int]") -> None:
    tier, draw = DiskTier(path, CAP), random.Random(seed)
    for _ in range(150):
        number = draw.randrange(400)
        found = tier.get(name_of(number))
        if found is None:
            tier.put(name_of(number), number.to_bytes(4, "little") * draw.choice((50, 500, 2000)))
        elif {found[i : i + 4] for i in range(0, len(found), 4)} != {number.to_bytes(4, "little")}:
            over.value += 1000
        with (folder_of(path) / "lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # or files come and go while they are counted
            over.value += taken(path) > CAP


def test_processes_that_share_the_folder_never_pass_the_cap_together_nor_read_half_a_file(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    over = context.Value("i", 0)
    writers = [context.Process(target=_write_many, args=(tmp_path, seed, over)) for seed in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 4
    assert over.value == 0
    tier = DiskTier(tmp_path, CAP)
    assert 0 < tier.report().num_bytes == taken(tmp_path) <= CAP


def test_a_lock_that_another_process_keeps_costs_writes_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    DiskTier(tmp_path, CAP).put(name_of(1), b"one")
    lock = os.open(folder_of(tmp_path) / "lock", os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        with ThreadPoolExecutor(1) as thread:
            tier = thread.submit(DiskTier, tmp_path, CAP, lock_s=0.05).result(30)
            assert "held by another process" in caplog.text
            assert tier.get(name_of(1)) == b"one"
            thread.submit(tier.put, name_of(2), b"two").result(30)
            thread.submit(tier.refuse, name_of(1)).result(30)
            assert tier.report().num_rejected == 1
    finally:
        os.close(lock)
    tier.put(name_of(3), b"three")
    report = tier.report()
    assert (report.num_entries, report.num_bytes) == (2, len(b"one") + len(b"three"))
