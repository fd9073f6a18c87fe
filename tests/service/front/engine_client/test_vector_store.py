"""The server of finished vectors has the health series of a shared tier, and a wrong address is logged at start."""

import asyncio
import logging
import time
from pathlib import Path

import pytest

from service import metrics
from service.engine_series import ClientSeries
from service.front.engine_client import vector_store
from service.front.engine_client.vector_store import VectorStore
from tests.conftest import free_ports
from tests.service.engine.shared_tiers.redis_server import RedisServer, RefusingServer

NAME = b"n" * 32


def health() -> tuple[float, float, float]:
    """Up, last success and damaged values, as /metrics shows them."""
    labels = {"model": "tiny", "tier": "vectors"}
    names = ("up", "last_success_timestamp_seconds", "corrupt_total")
    values = [metrics.REGISTRY.get_sample_value(f"cenote_encoder_cache_tier_{name}", labels) for name in names]
    return values[0] or 0.0, values[1] or 0.0, values[2] or 0.0


async def all_done(store: VectorStore) -> None:
    await asyncio.gather(*store._tasks)


async def test_a_wrong_address_is_logged_at_start_without_the_password(caplog: pytest.LogCaptureFixture) -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    (port,) = free_ports()
    store = VectorStore(f"valkey://user:secret-word@127.0.0.1:{port}/0", ClientSeries("tiny"))
    with caplog.at_level(logging.WARNING, "cenote.front"):
        store.greet()
        await all_done(store)
    assert f"127.0.0.1:{port}" in caplog.text
    assert "secret" not in caplog.text
    assert health()[0] == 0


async def test_a_server_that_refuses_the_password_is_not_up_and_the_log_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytest.importorskip("redis", reason="needs the extra `valkey`")
    with RefusingServer() as server, caplog.at_level(logging.WARNING, "cenote.front"):
        store = VectorStore(server.url, ClientSeries("tiny"))
        store.greet()
        await all_done(store)
        server.shutdown()
    assert "fails with AuthenticationError; vectors are kept without it" in caplog.text
    assert health()[0] == 0


async def test_a_server_that_answers_is_up_and_damaged_values_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_store, "TIMEOUT_S", 5.0)
    server = RedisServer(tmp_path)
    try:
        before_s, (_, _, num_corrupt) = time.time(), health()
        store = VectorStore(server.url, ClientSeries("tiny"))
        store.greet()
        await all_done(store)
        assert health()[0] == 1
        assert health()[1] >= before_s
        store.keep({NAME: {"float": b"1234"}})
        await all_done(store)
        assert await store.find({0: NAME, 1: b"other"}) == {0: {"float": b"1234"}}
        await store._client.set(vector_store.PREFIX + NAME, b"broken")
        assert await store.find({0: NAME}) == {}
        assert health()[2] - num_corrupt == 1
        server.stop()
        assert await store.find({0: NAME}) == {}
        assert health()[0] == 0
        await store._client.aclose()
    finally:
        server.stop()
