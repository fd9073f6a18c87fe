"""Waiting: what a server may say, how senders share it, and the end of patience."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from service.ingest import pause as pause_module
from service.ingest.errors import IngestError
from service.ingest.pause import Pause, retry_after_s
from service.ingest.sending.batching import ByteWindow


def test_seconds_milliseconds_and_dates_are_understood_and_nonsense_is_not() -> None:
    assert retry_after_s({"retry-after": "7"}) == 7
    assert retry_after_s({"retry-after": "7", "retry-after-ms": "250"}) == 0.25
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 55 < (retry_after_s({"retry-after": date}) or 0) <= 60
    assert retry_after_s({"retry-after": "-1"}) is None
    assert retry_after_s({"retry-after": "soon"}) is None
    assert retry_after_s({"retry-after-ms": "nan"}) == 0
    assert retry_after_s({"retry-after": "9" * 30}) == 600
    assert retry_after_s({}) is None


def test_one_retry_after_holds_up_all_senders() -> None:
    async def ask(pause: Pause) -> None:
        async with pause.turn():
            pass

    async def run() -> list[float]:
        pause, start_s = Pause(10, 8), time.monotonic()
        pause.failed(0.3, "full")
        pause.failed(0.1, "full")  # a shorter one does not shorten it
        await asyncio.gather(*(ask(pause) for _ in range(3)))
        assert 0.25 < pause.waited_s <= 0.31
        return [time.monotonic() - start_s]

    assert min(asyncio.run(run())) >= 0.29


def test_after_a_pause_half_as_many_ask_at_once_and_slowly_more_again() -> None:
    async def most_at_once(pause: Pause) -> int:
        most = now = 0

        async def ask() -> None:
            nonlocal most, now
            async with pause.turn():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0.001)
                now -= 1

        await asyncio.gather(*(ask() for _ in range(40)))
        return most

    async def run() -> None:
        pause = Pause(10, 8)
        assert await most_at_once(pause) == 8
        pause.failed(0.02, "full")
        pause.failed(0.02, "full")
        assert await most_at_once(pause) == 4
        for _ in range(100):
            pause.succeeded()
        assert pause.limit == 8

    asyncio.run(run())


def test_patience_ends_only_when_nothing_succeeds() -> None:
    pause = Pause(0.2, 8)
    for _ in range(3):
        pause.failed(0.0, "503 overloaded")
        time.sleep(0.15)
        pause.succeeded()
    pause.failed(0.0, "503 overloaded")
    time.sleep(0.25)
    with pytest.raises(IngestError, match=r"nothing for 0\.2 s .*503 overloaded"):
        pause.failed(0.0, "503 overloaded")


def test_the_window_counts_bytes_and_lets_one_that_is_larger_than_all_go_alone() -> None:
    async def run() -> None:
        window = ByteWindow(100)
        await window.enter(60)
        large = asyncio.create_task(window.enter(500))
        small = asyncio.create_task(window.enter(50))
        await asyncio.sleep(0.01)
        assert not large.done()
        assert not small.done()
        await window.leave(60)
        await asyncio.sleep(0.01)
        assert large.done()
        assert not small.done()
        await window.leave(500)
        await small
        assert window.num_bytes == 50

    asyncio.run(run())


def test_a_server_that_does_not_answer_is_told_once_until_it_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause_module, "TELL_AFTER_S", 0.0)
    pause = Pause(300, 1)
    for _ in range(2):
        pause.failed(0, "--server http://h: ConnectError")
    told = "cenote ingest: --server http://h: ConnectError; waiting for the server, at most 300 s (--give-up-s)\n"
    assert capsys.readouterr().err == told
    pause.succeeded()
    pause.failed(0, "--server http://h: ConnectError")
    assert capsys.readouterr().err == told
