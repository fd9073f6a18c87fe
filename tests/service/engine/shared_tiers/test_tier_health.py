"""Each shared tier says whether it is up, when it last did what it should, and how much in it was broken."""

import logging
import shutil
import socket
import time
from pathlib import Path

import pytest

from service.engine.shared_tiers.disk import FOLDER, DiskTier
from service.engine.shared_tiers.valkey import ValkeyTier
from tests.service.engine.shared_tiers.redis_server import RedisServer

CAP = 100_000
NAME, OTHER = "0" * 64, "1" * 64


def test_a_folder_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path / "cache", CAP)
    tier.put(NAME, b"one" * 100)
    shutil.rmtree(tmp_path / "cache")
    assert tier.get(NAME) is None
    tier.put(OTHER, b"two" * 10)
    assert tier.get(OTHER) == b"two" * 10
    report = tier.report()
    assert (report.num_bytes, report.num_entries, report.num_rejected, report.is_up) == (30, 1, 0, True)
    assert (tmp_path / "cache" / FOLDER).stat().st_mode & 0o777 == 0o700


def test_something_else_in_the_folders_place_is_not_written_to(tmp_path: Path) -> None:
    tier = DiskTier(tmp_path / "cache", CAP)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / FOLDER).symlink_to(tmp_path / "gone")
    tier.put(NAME, b"one")
    assert (tier.report().num_rejected, tier.report().is_up) == (1, False)
    assert not (tmp_path / "gone").exists()


def test_a_disk_reports_its_last_success_and_what_was_broken(tmp_path: Path) -> None:
    before_s = time.time()
    tier = DiskTier(tmp_path, CAP)
    assert tier.report().last_success_s == 0
    tier.put(NAME, b"broken")
    assert before_s <= tier.report().last_success_s <= time.time()
    tier.get(NAME)
    tier.refuse(NAME)
    report = tier.report()
    assert (report.num_corrupt, report.num_misses, report.num_hits) == (1, 1, 0)


def test_a_wrong_address_is_said_at_start_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with caplog.at_level(logging.WARNING, "cenote.engine"):
            tier = ValkeyTier(f"valkey://user:secret-word@127.0.0.1:{port}/0")
            deadline_s = time.monotonic() + 20
            while not caplog.messages and time.monotonic() < deadline_s:  # the last thing that greeting does
                time.sleep(0.01)
    assert f"127.0.0.1:{port}" in caplog.text
    assert "secret" not in caplog.text
    assert (tier.report().is_up, tier.report().last_success_s) == (False, 0)


def test_a_server_that_answers_is_up(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    server = RedisServer(tmp_path)
    try:
        tier = ValkeyTier(server.url)
        tier.put(NAME, b"broken")
        assert tier.get(NAME) == b"broken"
        tier.refuse(NAME)
        report = tier.report()
        assert (report.is_up, report.num_corrupt) == (True, 1)
        assert report.last_success_s > 0
    finally:
        server.stop()
