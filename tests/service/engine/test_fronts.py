"""An engine that several fronts use: each hears of its own requests, and of one that has gone nothing is left."""

import queue
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from service.engine.front_line import SocketLine
from service.engine.fronts import Fronts, Joined, Left
from service.engine.loop import EngineLoop
from service.ipc.announcements import Announcements, open_pipe
from service.ipc.channel import BlockingChannel
from service.ipc.messages import (
    Abandon,
    AreKept,
    AskKept,
    EngineMessage,
    FrontMessage,
    Ping,
    Pixels,
    PixelSlot,
    Pong,
    StepDone,
    StepReport,
    StepStarted,
    Submit,
    WantPixels,
)
from tests.service.engine.loop_rig import READY, LoopRig, image, make_scheduler, request, vectors_of

PART = 1000
"""Bytes of each front's part of the arena; the first front's slots start below it."""


@dataclass(eq=False)
class Line:
    """A front that keeps what it hears."""

    sent: list[Any] = field(default_factory=list)
    steps: list[StepStarted] = field(default_factory=list)
    is_closed: bool = False

    def send(self, message: msgspec.Struct) -> None:
        self.sent.append(message)

    def announce(self, step: StepStarted) -> None:
        self.steps.append(step)

    def close(self) -> None:
        self.is_closed = True

    @property
    def answered(self) -> list[int]:
        return [vector.id for step in self.sent if isinstance(step, StepDone) for vector in vectors_of(step)]

    @property
    def released(self) -> list[int]:
        return [start for step in self.sent if isinstance(step, StepDone) for start in step.released]


class Inbox(queue.Queue[Any]):
    """An inbox that never keeps the loop waiting: where there is nothing, the main process asks for a sign of life."""

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        return Ping() if self.empty() else super().get()


class TwoFronts(LoopRig):
    """A loop that two fronts have joined; even ids are the first one's."""

    def __init__(self, result_bytes: int = 0) -> None:
        super().__init__(make_scheduler(result_bytes), inbox=Inbox())
        self.main = Announcements()
        self.control: list[Any] = []
        fronts = Fronts(self.control.append, self.main.theirs, READY, num_fronts=2, part_bytes=PART)
        self.loop = EngineLoop(fronts, self.inbox, self.scheduler, self.runner)
        self.lines = [Line(), Line()]
        for index, line in enumerate(self.lines):
            self.inbox.put(Joined(index, line))

    @property
    def entered(self) -> list[StepStarted | StepReport]:
        return self.main.read()


@pytest.fixture
def two() -> Iterator[TwoFronts]:
    rig = TwoFronts()
    yield rig
    rig.main.inherited()
    rig.main.close()


def test_each_front_has_its_own_answers_and_the_main_process_the_report(two: TwoFronts) -> None:
    two.submit(request(2, 5), request(3, 6), request(4, 7))
    two.turn()
    first, second = two.lines
    assert (first.sent[0], second.sent[0]) == (READY, READY)
    assert (first.answered, second.answered) == ([2, 4], [3])
    assert [step.ids for step in first.steps] == [[2, 4]]
    assert [step.ids for step in second.steps] == [[3]]
    started, report = two.entered
    assert isinstance(started, StepStarted)
    assert (started.number, started.num_tokens) == (1, 3)
    assert isinstance(report, StepReport)
    assert (report.num_requests, report.num_tokens) == (3, 3)


def test_who_asks_what_is_kept_is_told(two: TwoFronts) -> None:
    two.inbox.put(AskKept(id=3, digests=[b"a"]))
    two.submit(request(2, 5))
    two.turn()
    assert [one.id for one in two.lines[1].sent if isinstance(one, AreKept)] == [3]
    assert not any(isinstance(one, AreKept) for one in (*two.control, *two.lines[0].sent))


def test_a_sign_of_life_goes_to_the_main_process(two: TwoFronts) -> None:
    two.inbox.put(Ping())
    two.submit(request(2, 5))
    two.turn()
    assert [type(one) for one in two.control] == [Pong]
    assert two.lines[0].answered == [2]


def test_a_front_without_requests_in_a_step_hears_that_earlier_ones_are_over(two: TwoFronts) -> None:
    two.submit(request(2, 5))
    two.turn()
    two.submit(request(3, 5))
    two.turn()
    assert [(step.number, step.ids) for step in two.lines[0].steps] == [(1, [2]), (2, [])]


def test_equal_prompts_of_two_fronts_run_once_and_both_are_answered(two: TwoFronts) -> None:
    two.submit(request(2, 5), request(3, 5))
    two.turn()
    assert two.runner.num_batches == 1
    assert (two.lines[0].answered, two.lines[1].answered) == ([2], [3])


def test_a_slot_goes_back_to_the_front_in_whose_part_it_lies(two: TwoFronts) -> None:
    two.submit(request(2, 5, image(b"a", 64)), request(3, 6, image(b"a", PART + 64)), request(5, 6, image(b"b", PART)))
    two.turn(2)
    assert sorted(two.lines[0].released) == [64]
    assert sorted(two.lines[1].released) == [PART, PART + 64]


def test_pixels_are_asked_of_a_front_that_waits_for_them(two: TwoFronts) -> None:
    two.submit(request(3, 6, image(b"a", None)), request(2, 5, image(b"b", None)))
    two.turn()
    assert [one.keys for one in two.lines[0].sent if isinstance(one, WantPixels)] == [[b"b"]]
    assert [one.keys for one in two.lines[1].sent if isinstance(one, WantPixels)] == [[b"a"]]


def test_of_a_front_that_has_gone_nothing_runs_and_nothing_comes_back(two: TwoFronts) -> None:
    two.submit(request(2, 5), request(4, 6, image(b"a", 64)), request(3, 7), request(5, 5))  # the last joined the first
    two.inbox.put(Left(0, two.lines[0]))
    two.turn(3)
    assert two.lines[0].is_closed
    assert two.lines[0].sent == [READY]
    assert sorted(two.lines[1].answered) == [3, 5]
    assert [sorted(step.ids) for step in two.lines[1].steps] == [[3, 5]]


def test_pixels_in_the_part_of_a_front_that_has_gone_are_asked_of_who_still_waits(two: TwoFronts) -> None:
    """Its part may be written by the front that takes its place: what lies there is no image any more."""
    two.submit(request(2, 5, image(b"a", 64)), request(3, 6, image(b"a", PART + 64)))
    two.inbox.put(Left(0, two.lines[0]))
    two.turn()
    assert [one.keys for one in two.lines[1].sent if isinstance(one, WantPixels)] == [[b"a"]]
    assert two.lines[1].released == [PART + 64]  # was not needed when it came
    assert two.lines[1].answered == []
    two.inbox.put(Pixels(key=b"a", slot=PixelSlot(PART + 128, 8)))
    two.turn(2)
    assert two.lines[1].answered == [3]


def test_a_front_that_was_asked_for_pixels_and_went_is_not_waited_for(two: TwoFronts) -> None:
    two.submit(request(2, 5, image(b"a", None)), request(3, 6, image(b"a", None)))
    two.submit(request(5, 7))
    two.turn()
    assert [one.keys for one in two.lines[0].sent if isinstance(one, WantPixels)] == [[b"a"]]
    two.inbox.put(Left(0, two.lines[0]))
    two.submit(request(7, 7))
    two.turn()
    assert [one.keys for one in two.lines[1].sent if isinstance(one, WantPixels)] == [[b"a"]]


def test_the_next_front_joins_when_the_last_messages_of_the_one_before_are_in(two: TwoFronts) -> None:
    after = Line()
    two.inbox.put(Joined(0, after))
    two.submit(request(2, 5, image(b"a", 64)), request(3, 6))  # the first was under way when its front died
    two.turn()
    assert after.sent == []
    two.inbox.put(Left(0, two.lines[0]))
    two.submit(request(5, 6))
    two.turn(2)
    assert after.sent == [READY]
    two.submit(request(1 << 20, 9))
    two.turn()
    assert after.answered == [1 << 20]
    assert after.released == []


def test_a_kept_vector_of_a_front_that_has_gone_reaches_nobody() -> None:
    two = TwoFronts(result_bytes=1 << 20)
    two.submit(request(2, 5))
    two.turn()
    two.submit(request(4, 5), request(3, 5))
    two.inbox.put(Left(0, two.lines[0]))
    two.submit(request(5, 6))
    two.turn()
    assert two.lines[0].answered == [2]
    assert two.lines[1].answered == [3, 5]
    two.main.inherited()
    two.main.close()


def test_an_abandoned_request_of_one_front_leaves_the_others(two: TwoFronts) -> None:
    two.submit(request(2, 5), request(3, 6))
    two.inbox.put(Abandon(ids=[2]))
    two.turn()
    assert (two.lines[0].answered, two.lines[1].answered) == ([], [3])


class RealLine:
    """A line over a socket and a pipe, and its front's ends."""

    def __init__(self) -> None:
        self.sock, theirs = socket.socketpair()
        reading, writing = open_pipe()
        self.pipe = Announcements(reading)
        self.line = SocketLine(theirs, writing)
        self.inbox: queue.Queue[FrontMessage | Joined | Left] = queue.Queue()
        self.front: BlockingChannel[EngineMessage] = BlockingChannel(self.sock, EngineMessage)  # type: ignore[arg-type]
        threading.Thread(target=self.line.read_forever, args=(1, self.inbox), daemon=True).start()

    def close(self) -> None:
        self.sock.close()
        self.pipe.close()


@pytest.fixture
def real() -> Iterator[RealLine]:
    one = RealLine()
    yield one
    one.close()


def test_a_front_that_does_not_read_holds_nobody_up_and_misses_nothing(real: RealLine) -> None:
    sent = [
        StepDone(released=list(range(i, i + 30_000)), said_s=0.0) for i in range(60)
    ]  # far more than a socket holds
    began_s = time.monotonic()
    for message in sent:
        real.line.send(message)
    assert time.monotonic() - began_s < 5.0
    assert [real.front.receive() for _ in sent] == sent
    small = StepDone(released=[1], said_s=0.0)
    real.line.send(small)
    assert real.front.receive() == small


def test_announcements_that_nobody_reads_hold_nobody_up(real: RealLine) -> None:
    def step(number: int) -> StepStarted:
        return StepStarted(number=number, kind="forward", num_tokens=1, ids=list(range(1000)), began_s=0.0)

    for number in range(2000):
        real.line.announce(step(number))
    read: list[Any] = []
    for number in range(2000, 2100):  # each time there is room again
        read += real.pipe.read()
        real.line.announce(step(number))
    assert [one.number for one in read] == list(range(len(read)))
    assert len(read) >= 2000


def test_a_line_says_when_its_front_joins_and_leaves(real: RealLine) -> None:
    assert real.inbox.get(timeout=5) == Joined(1, real.line)
    BlockingChannel(real.sock, EngineMessage).send(Submit(requests=[]))  # type: ignore[arg-type]
    assert real.inbox.get(timeout=5) == Submit(requests=[])
    real.sock.close()
    assert real.inbox.get(timeout=5) == Left(1, real.line)
    real.line.send(Pong())  # nobody is there
    real.line.close()
    real.line.close()
