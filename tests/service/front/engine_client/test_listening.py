"""What is announced reaches watchdog and client, whichever of pipe and socket is read first."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any, cast

import pytest

from service.engine_series import EngineSeries
from service.front.engine_client.client import EngineClient
from service.front.engine_client.listening import Listening
from service.front.engine_client.watchdog import StepTimes, Watchdog
from service.ipc.announcements import Announcements
from service.ipc.channel import frame
from service.ipc.messages import Pong, StepStarted

FLOOR_S = 10.0


class Client:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def receive(self, message: Any) -> None:
        self.told.append(message)

    def announced(self, step: StepStarted) -> None:
        self.told.append(step.number)


class Line:
    """An engine's end of the pipe, and who listens to it."""

    def __init__(self) -> None:
        self.client, self.times, self.announcements = Client(), StepTimes(), Announcements()
        self.times.learn("forward", 100, 8.0)
        self.watchdog = Watchdog(FLOOR_S, times=self.times)
        self.listening = Listening(
            cast(EngineClient, self.client), self.watchdog, self.announcements, EngineSeries("tiny")
        )

    def announce(self, number: int, began_s: float) -> None:
        step = StepStarted(number=number, kind="forward", num_tokens=100, ids=[], began_s=began_s)
        os.write(self.announcements.theirs, frame(step))

    async def receive(self, message: Pong) -> None:
        self.listening.take(message)
        await asyncio.sleep(0)


@pytest.fixture
def line() -> Iterator[Line]:
    one = Line()
    yield one
    one.announcements.inherited()
    one.announcements.close()


def test_who_waits_for_an_answer_has_it_before_its_step_is_noted_and_the_step_is_over(line: Line) -> None:
    line.announce(1, 100.0)
    done = Pong(after=1, said_s=103.0)
    asyncio.run(line.receive(done))
    assert line.client.told == [done, 1]
    assert line.watchdog.limit_s == FLOOR_S
    assert line.times.expected_s("forward", 100) == 8.0


def test_a_step_is_known_at_a_look_and_what_was_said_before_it_does_not_end_it(line: Line) -> None:
    line.announce(1, 100.0)
    line.announce(2, 101.0)
    line.listening.look()
    assert line.watchdog.limit_s == 5 * 8.0
    asyncio.run(line.receive(Pong(after=1, said_s=101.0)))
    assert line.watchdog.limit_s == 5 * 8.0
    asyncio.run(line.receive(Pong(after=2, said_s=113.0)))  # heard much later, and learned as what it was
    assert line.watchdog.limit_s == FLOOR_S
    assert line.times.expected_s("forward", 100) == 12.0


def test_an_engine_that_announces_nonsense_is_out_of_step_and_its_answers_still_count(
    line: Line, caplog: pytest.LogCaptureFixture
) -> None:
    os.write(line.announcements.theirs, b"\x03\0\0\0abc")
    pong = Pong(after=0)
    asyncio.run(line.receive(pong))
    assert line.client.told == [pong]
    assert line.listening.is_out_of_step
    assert "This is a bug" in caplog.text
