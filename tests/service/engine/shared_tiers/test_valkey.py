"""The shared tier on a server, on a real one: also when it is full, wrong, slow, gone and back."""

import logging
import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.engine.shared_tiers import health, valkey
from service.engine.shared_tiers.valkey import PREFIX, TIMEOUT_S, ValkeyTier
from tests.conftest import free_ports, until
from tests.service.engine.shared_tiers.redis_server import PASSWORD, RedisServer, RefusingServer


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for a moment turns no hit into a miss."""
    monkeypatch.setattr(valkey, "TIMEOUT_S", 10.0)


@pytest.fixture
def haste(patience: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The product's own deadline, for servers that never answer: a plain one never answers TLS."""
    monkeypatch.setattr(valkey, "TIMEOUT_S", TIMEOUT_S)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    one = RedisServer(tmp_path)
    yield one
    one.stop()


def client(server: RedisServer) -> Any:
    from redis import Redis

    return Redis(port=server.port, password=PASSWORD)


def counts(tier: ValkeyTier) -> tuple[int, int, int]:
    report = tier.report()
    return report.num_hits, report.num_misses, report.num_rejected


def test_what_one_process_stores_another_finds(server: RedisServer) -> None:
    one, other = ValkeyTier(server.url), ValkeyTier(server.url.replace("valkey:", "redis:"))
    blob = os.urandom(5 << 20)
    one.put("name", blob)
    assert other.get("name") == blob
    other.accept()
    assert other.get("another") is None
    assert (counts(one), counts(other)) == ((0, 0, 0), (1, 1, 0))
    assert client(server).keys() == [f"{PREFIX}name".encode()]
    assert 0 < client(server).ttl(f"{PREFIX}name") <= 7 * 24 * 3600


def test_a_server_that_refuses_the_password_is_never_up(caplog: pytest.LogCaptureFixture) -> None:
    """Nor is one that has not answered yet: an engine's first report may come before."""
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    with RefusingServer() as server, caplog.at_level(logging.WARNING, "cenote.engine"):
        tier = ValkeyTier(server.url)
        assert not tier.report().is_up
        assert tier.get("name") is None
        assert not tier.report().is_up
        until(lambda: "fails with AuthenticationError" in caplog.text, "the warning", 10)
        server.shutdown()
    assert "fails with AuthenticationError; features are kept without it" in caplog.text
    assert PASSWORD not in caplog.text


def test_what_is_there_already_is_no_rejection_and_what_is_refused_is_removed(server: RedisServer) -> None:
    tier = ValkeyTier(server.url)
    for _ in range(2):
        tier.put("name", b"blob")
    assert tier.get("name") == b"blob"
    tier.refuse("name")
    assert tier.get("name") is None
    assert counts(tier) == (0, 2, 0)  # refused, and gone
    client(server).lpush(f"{PREFIX}name", "a list")
    assert tier.get("name") is None
    report = tier.report()
    assert (report.is_up, report.num_corrupt) == (True, 1)
    assert report.last_success_s > 0


def test_a_wrong_address_is_said_at_start_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with caplog.at_level(logging.WARNING, "cenote.engine"):
            tier = ValkeyTier(f"valkey://user:secret-word@127.0.0.1:{port}/0")
            until(lambda: caplog.messages, "the last thing that greeting does", 20)
    assert f"127.0.0.1:{port}" in caplog.text
    assert "secret" not in caplog.text
    assert (tier.report().is_up, tier.report().last_success_s) == (False, 0)


def test_a_server_that_is_full_takes_no_more_and_is_read_from_all_the_same(tmp_path: Path) -> None:
    server = RedisServer(tmp_path, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
    try:
        tier = ValkeyTier(server.url)
        tier.put("first", b"blob")
        for number in range(20):
            tier.put(str(number), bytes(2 << 20))
        assert tier.report().num_rejected > 10
        assert tier.get("first") == b"blob"
    finally:
        server.stop()


def test_a_server_that_is_gone_costs_misses_and_no_time_and_is_found_again(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tier = ValkeyTier(server.url)
    tier.put("name", b"blob")
    server.stop()
    began_s = time.monotonic()
    assert [tier.get("name") for _ in range(5000)] == [None] * 5000
    assert time.monotonic() - began_s < 5000 * 0.25 / 10  # far from a deadline each
    assert counts(tier) == (0, 5000, 0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]  # said once
    server.start()
    deadline_s = time.monotonic() + 4 * health.FIRST_REST_S + 10
    while tier.get("name") is None and time.monotonic() < deadline_s:
        tier.put("name", b"blob")
        time.sleep(0.05)
    assert tier.get("name") == b"blob"


@pytest.mark.usefixtures("haste")
def test_a_server_that_hangs_is_given_up_after_a_quarter_of_a_second_and_then_left_alone(server: RedisServer) -> None:
    tier = ValkeyTier(server.url)
    tier.put("name", b"blob")
    server.process.send_signal(signal.SIGSTOP)
    try:
        began_s = time.monotonic()
        assert [tier.get("name") for _ in range(100)] == [None] * 100
        assert 0.5 < time.monotonic() - began_s < 10
    finally:
        server.process.send_signal(signal.SIGCONT)


@pytest.mark.usefixtures("haste")
def test_a_server_that_talks_another_language_is_a_miss() -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    with socket.create_server(("127.0.0.1", 0)) as other:
        tier = ValkeyTier(f"redis://127.0.0.1:{other.getsockname()[1]}")
        assert [tier.get("name") for _ in range(5)] == [None] * 5


@pytest.mark.usefixtures("haste")
@pytest.mark.parametrize("scheme", ["valkey", "valkeys", "redis", "rediss"])
def test_no_password_is_ever_logged(scheme: str, server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    secret = "another-secret"
    for port in (server.port, *free_ports()):
        tier = ValkeyTier(f"{scheme}://user:{secret}@127.0.0.1:{port}")
        for _ in range(5):
            assert tier.get("name") is None
            tier.put("name", b"blob")
        assert secret not in repr(tier)
    assert "left alone" in caplog.text
    assert secret not in caplog.text
