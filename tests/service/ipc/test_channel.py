"""Frames over a real socket pair: both ends, large and many messages, and the end of the stream."""

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest
import uvloop

from service.ipc.channel import AsyncChannel, BlockingChannel, frame
from service.ipc.frames import COPIED_BYTES, PREFIX, SMALL_BYTES
from service.ipc.messages import EngineMessage, FrontMessage, Pong, Request, StepDone, Submit
from service.outputs.block import Vector, blocks_of
from service.outputs.dense import DenseAsk
from service.outputs.plan import TokenPlan


def submit(num_requests: int) -> Submit:
    output = DenseAsk(dimensions=8, output_dtypes=("float32", "int8"))
    return Submit(
        requests=[Request(id=i, plan=TokenPlan(list(range(500))), asks=(output,)) for i in range(num_requests)]
    )


def step(i: int, num_bytes: int) -> StepDone:
    row = bytes([i]) * num_bytes
    vector = Vector(id=i, rows={"int8": row}, num_hits=0, num_misses=0, queue_ms=0, inference_ms=0)
    return StepDone(blocks=blocks_of([vector]), released=[i, num_bytes], said_s=1)


async def test_both_ends_say_what_they_mean() -> None:
    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    engine: BlockingChannel[FrontMessage] = BlockingChannel(theirs, FrontMessage)
    received: list[FrontMessage | None] = []
    reader = threading.Thread(target=lambda: received.extend(engine.receive() for _ in range(3)))
    reader.start()
    front.send(submit(1))
    front.send(submit(2000))  # larger than any socket buffer
    vector = Vector(id=1, rows={"float32": b"\0" * 4}, num_hits=1, num_misses=0, queue_ms=0.5, inference_ms=1.0)
    step = StepDone(blocks=blocks_of([vector]), released=[1, 2, 3])
    engine.send(step)
    assert await front.receive() == step
    front.close()
    await asyncio.to_thread(reader.join)
    assert received == [submit(1), submit(2000), None]


async def test_a_stream_cut_inside_a_message_is_its_end() -> None:
    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    theirs.sendall(PREFIX.pack(100) + b"half")
    theirs.close()
    assert await front.receive() is None


def test_an_absurd_length_is_a_bug_and_not_an_allocation() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(RuntimeError, match="This is a bug"):
        BlockingChannel(theirs, FrontMessage).receive()


@pytest.mark.parametrize("by_hand", [False, True], ids=["one by one", "handed over"])
async def test_frames_of_every_length_come_whole_and_in_order_however_the_stream_is_cut(by_hand: bool) -> None:
    lengths = [0, 1, 60_000, SMALL_BYTES - 100, SMALL_BYTES, SMALL_BYTES + 1, 3_000_000, 5, 1 << 20, 7]
    steps = [step(i, n) for i, n in enumerate(lengths * 3)]

    def send(sock: socket.socket) -> None:
        stream = b"".join(map(frame, steps))
        sizes = [1, 3, 4, 5, 1000, 65_536, 70_000, 1 << 22]
        start = turn = 0
        while start < len(stream):
            start += sock.send(stream[start : start + sizes[turn % len(sizes)]])
            turn += 1
        sock.close()

    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    sender = threading.Thread(target=send, args=(theirs,), daemon=True)
    sender.start()
    if by_hand:
        heard: list[EngineMessage] = []
        await front.each(heard.append)
        assert heard == steps
    else:
        assert [await front.receive() for _ in steps] == steps
        assert await front.receive() is None
    sender.join()


async def test_a_large_row_that_came_with_a_small_one_outlives_what_comes_behind_both() -> None:
    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    heard: list[EngineMessage] = []
    hearing = asyncio.create_task(front.each(heard.append))
    for steps in ([step(1, COPIED_BYTES + 1000), step(2, 3)], [step(3, SMALL_BYTES // 2)]):
        theirs.sendall(b"".join(map(frame, steps)))
        await asyncio.sleep(0.05)
    theirs.close()
    await hearing
    assert heard == [step(1, COPIED_BYTES + 1000), step(2, 3), step(3, SMALL_BYTES // 2)]


@pytest.mark.parametrize("by_hand", [False, True], ids=["one by one", "handed over"])
async def test_a_stream_out_of_step_is_a_bug_for_the_front_too(by_hand: bool) -> None:
    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    theirs.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(RuntimeError, match="This is a bug"):
        await (front.each(print) if by_hand else front.receive())
    theirs.close()


async def test_what_came_before_is_handed_over_first_and_a_failure_is_heard_where_it_is_waited_for() -> None:
    ours, theirs = socket.socketpair()
    front = await AsyncChannel.over(ours, EngineMessage)
    engine: BlockingChannel[FrontMessage] = BlockingChannel(theirs, FrontMessage)
    heard: list[EngineMessage] = []
    at_first: list[int] = []

    def take(message: EngineMessage) -> None:
        heard.append(message)
        if len(heard) == 3:
            raise LookupError("a bug of whoever takes")

    for _ in range(2):
        engine.send(Pong())
    await asyncio.sleep(0.05)  # read, and nobody has asked for them
    asyncio.get_running_loop().call_later(0.02, lambda: at_first.append(len(heard)))
    asyncio.get_running_loop().call_later(0.05, engine.send, Pong())
    with pytest.raises(LookupError, match="whoever takes"):
        await front.each(take)
    assert (at_first, len(heard)) == ([2], 3)
    await asyncio.sleep(0)
    theirs.settimeout(10)
    assert theirs.recv(1) == b""  # closed: a front that failed hears no more of it


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_what_is_sent_to_an_end_that_has_just_gone_is_lost_without_an_error(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The end is heard of a turn of the loop later; until then requests are submitted, and held for the next engine."""

    async def story() -> None:
        ours, theirs = socket.socketpair()
        front: AsyncChannel[EngineMessage] = await AsyncChannel.over(ours, EngineMessage)  # type: ignore[arg-type]
        theirs.close()
        for _ in range(20):
            front.send(submit(1))
            await asyncio.sleep(0)
        assert await front.receive() is None
        front.send(submit(1))
        front.close()
        await asyncio.sleep(0.01)
        front.send(submit(1))

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(story())
