"""Work after answers: when it is done, in which order, and what one failure leaves of the rest."""

import asyncio
import io
import logging
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from service import metrics
from service.accounting import DEFERRED, DELAY_S, MAX_AT_ONCE, MAX_DUE, DeferredAccounting
from service.logs import LineHandler


class Stream(io.StringIO):
    """A stream that keeps each write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return len(text)


@pytest.fixture
def written() -> Iterator[list[str]]:
    """Writes of the root logger's handler, each by itself."""
    stream, root = Stream(), logging.getLogger()
    handler = LineHandler(stream)
    root.addHandler(handler)
    yield stream.writes
    root.removeHandler(handler)


def test_work_is_done_a_moment_later_in_order_and_never_much_at_once() -> None:
    done: list[int] = []
    turns: list[int] = []

    async def run() -> None:
        afterwards, loop = DeferredAccounting(), asyncio.get_running_loop()
        began_s = loop.time()  # the time runs from the first that is added, however long the others take
        for number in range(3 * MAX_AT_ONCE):
            afterwards.add(partial(done.append, number))
        assert not done
        while len(done) < 3 * MAX_AT_ONCE:
            await asyncio.sleep(0)
            if done and (not turns or turns[-1] != len(done)):
                turns.append(len(done))
        assert loop.time() - began_s >= DELAY_S / 2

    asyncio.run(run())
    assert done == list(range(3 * MAX_AT_ONCE))
    assert turns == [MAX_AT_ONCE, 2 * MAX_AT_ONCE, 3 * MAX_AT_ONCE]


def test_a_burst_is_not_kept_without_end() -> None:
    done: list[int] = []

    async def run() -> None:
        afterwards = DeferredAccounting()
        for number in range(MAX_DUE + 10):
            afterwards.add(partial(done.append, number))
        assert done == list(range(10))
        afterwards.finish()

    asyncio.run(run())
    assert done == list(range(MAX_DUE + 10))


def test_another_loop_does_what_an_ended_one_has_left() -> None:
    done: list[int] = []
    afterwards = DeferredAccounting()

    async def add(number: int, wait_s: float) -> None:
        afterwards.add(partial(done.append, number))
        await asyncio.sleep(wait_s)

    asyncio.run(add(1, 0))
    asyncio.run(add(2, 4 * DELAY_S))
    assert done == [1, 2]


def test_work_that_fails_is_logged_and_leaves_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    done: list[int] = []

    async def run() -> None:
        afterwards = DeferredAccounting()
        afterwards.add(lambda: 1 // 0)  # type: ignore[arg-type, return-value]
        afterwards.add(partial(done.append, 1))
        afterwards.finish()

    asyncio.run(run())
    assert done == [1]
    assert "could not be counted" in caplog.text


def test_who_looks_at_the_metrics_sees_what_is_due() -> None:
    async def run() -> bytes:
        DEFERRED.add(metrics.TRUNCATED.inc)
        return metrics.render(0)

    def truncated(text: bytes) -> float:
        name = b'cenote_truncated_inputs_total{front="0"} '
        return next(float(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))

    before = truncated(metrics.render(0))
    assert truncated(asyncio.run(run())) == before + 1


def done_together(*works: Callable[[], None]) -> None:
    """Each of these is due, and then all are done."""

    async def run() -> None:
        afterwards = DeferredAccounting()
        for work in works:
            afterwards.add(work)
        afterwards.finish()

    asyncio.run(run())


def test_lines_that_are_logged_together_are_one_write(written: list[str]) -> None:
    error = logging.getLogger("cenote.test").error
    done_together(partial(error, "one"), partial(error, "two"))
    assert written == ["one\ntwo\n"]
    error("three")
    assert written[1:] == ["three\n"]
    done_together()
    assert len(written) == 2


class Broken(io.StringIO):
    """A stream that nobody reads any more, for a while."""

    is_broken = True

    def write(self, text: str) -> int:
        if self.is_broken:
            raise BrokenPipeError
        return super().write(text)


def test_a_stream_that_cannot_be_written_to_fails_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)  # as in production: nothing on stderr about stderr
    done: list[int] = []
    root, stream = logging.getLogger(), Broken()
    handler = LineHandler(stream)

    def log_and_count(number: int) -> None:
        logging.getLogger("cenote.test").error("line %d", number)
        done.append(number)

    async def run() -> None:
        afterwards = DeferredAccounting()
        for number in range(3):
            afterwards.add(partial(log_and_count, number))
        await asyncio.sleep(4 * DELAY_S)
        stream.is_broken = False
        afterwards.add(partial(log_and_count, 3))
        await asyncio.sleep(4 * DELAY_S)

    root.addHandler(handler)
    try:
        asyncio.run(run())
    finally:
        root.removeHandler(handler)
    assert done == [0, 1, 2, 3], "the loop is asked to come back"
    assert stream.getvalue() == "line 3\n"


def test_a_malformed_call_raises_nothing_while_lines_are_held(
    written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging, "raiseExceptions", False)
    error = logging.getLogger("cenote.test").error
    done_together(partial(error, "%d", "no number"), partial(error, "two"))
    assert written == ["two\n"]


def test_the_backlog_of_an_ended_loop_is_done_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[int] = []
    afterwards = DeferredAccounting()

    async def add(num: int, wait_s: float) -> None:
        for number in range(num):
            afterwards.add(partial(done.append, number))
        await asyncio.sleep(wait_s)

    monkeypatch.setattr("service.accounting.DELAY_S", 3600)  # this loop ends before, however slow the machine
    asyncio.run(add(MAX_DUE, 0))
    assert not done
    monkeypatch.undo()
    asyncio.run(add(1, 60 * DELAY_S))
    assert len(done) == MAX_DUE + 1


def test_lines_are_written_though_one_that_nobody_catches_ends_them(written: list[str]) -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        done_together(partial(logging.getLogger("cenote.test").error, "one"), stop)
    assert written == ["one\n"]
