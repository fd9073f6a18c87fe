"""Announcements: read late, in order, and after the engine's end; what was cut off never began."""

import os
import threading
import time

import msgspec
import pytest

from service.engine.fronts import Fronts
from service.ipc import announcements
from service.ipc.announcements import PIPE_BYTES, Announcements
from service.ipc.channel import frame
from service.ipc.messages import StepStarted
from tests.service.engine.loop_rig import READY


def step(number: int, num_ids: int = 1) -> StepStarted:
    return StepStarted(number=number, kind="forward", num_tokens=7, ids=list(range(num_ids)), began_s=1.5)


def read(front: Announcements) -> list[StepStarted]:
    """Announcements of just now, at a time that compares."""
    steps = front.read()
    assert all(abs(time.monotonic() - one.began_s) < 60 for one in steps)
    return [msgspec.structs.replace(one, began_s=1.5) for one in steps]


def test_what_was_announced_is_read_once_in_order_and_reading_never_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcements, "READ_BYTES", 1000)
    front = Announcements()
    engine = Fronts([].append, front.theirs, READY, num_fronts=1, part_bytes=1)
    assert front.read() == []
    for _ in range(2):
        engine.begin("forward", 7, [])
    assert read(front) == [step(1, 0), step(2, 0)]
    assert front.read() == []
    engine.tell_keeper(step(3, num_ids=5_000))  # more than is read at once
    assert front.read() == [step(3, num_ids=5_000)]
    front.inherited()
    front.close()


def test_the_last_word_of_an_engine_that_has_gone_can_be_read_and_half_a_word_is_none() -> None:
    front = Announcements()
    whole = bytes(frame(step(1)))
    os.write(front.theirs, whole + whole[:3])
    assert front.read() == [step(1)]
    os.write(front.theirs, whole[3:-1])
    front.inherited()  # the only one that could write
    assert front.read() == []
    assert front.read() == []
    front.close()
    assert front.read() == []  # a look that comes late finds nothing, and no descriptor of somebody else's


def test_an_engine_that_nobody_listens_to_waits_and_goes_on() -> None:
    front = Announcements()
    engine = Fronts([].append, front.theirs, READY, num_fronts=1, part_bytes=1)
    num_steps = 2 * PIPE_BYTES // len(frame(step(1, 1000)))

    def announce() -> None:
        for number in range(1, num_steps + 1):
            engine.tell_keeper(step(number, 1000))

    thread = threading.Thread(target=announce, daemon=True)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    read: list[StepStarted] = []
    deadline_s = time.monotonic() + 60
    while len(read) < num_steps:
        assert time.monotonic() < deadline_s
        read += front.read()
    thread.join(60)
    assert [one.number for one in read] == list(range(1, num_steps + 1))
    front.inherited()
    front.close()
