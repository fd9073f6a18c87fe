"""Frames over a real socket pair: both ends, large and many messages, and the end of the stream."""

import asyncio
import socket
import threading

import pytest

from service.ipc.channel import PREFIX, AsyncChannel, BlockingChannel
from service.ipc.messages import CacheReport, EngineMessage, FrontMessage, OutputSpec, Request, StepDone, Submit, Vector


def submit(num_requests: int) -> Submit:
    output = OutputSpec(dimensions=8, kinds=("float32", "int8"))
    return Submit(requests=[Request(id=i, token_ids=list(range(500)), output=output) for i in range(num_requests)])


def test_both_ends_say_what_they_mean() -> None:
    async def story() -> None:
        ours, theirs = socket.socketpair()
        front = await AsyncChannel.over(ours, EngineMessage)
        engine: BlockingChannel[FrontMessage] = BlockingChannel(theirs, FrontMessage)
        received: list[FrontMessage | None] = []
        reader = threading.Thread(target=lambda: received.extend(engine.receive() for _ in range(3)))
        reader.start()
        front.send(submit(1))
        front.send(submit(2000))  # larger than any socket buffer
        vector = Vector(id=1, rows={"float32": b"\0" * 4}, num_hits=1, num_misses=0, queue_ms=0.5, inference_ms=1.0)
        step = StepDone(vectors=[vector], cache=CacheReport(num_entries=1, num_bytes=2, num_evictions=3))
        engine.send(step)
        assert await front.receive() == step
        front.close()
        await asyncio.to_thread(reader.join)
        assert received == [submit(1), submit(2000), None]

    asyncio.run(story())


def test_a_stream_cut_inside_a_message_is_its_end() -> None:
    async def story() -> None:
        ours, theirs = socket.socketpair()
        front = await AsyncChannel.over(ours, EngineMessage)
        theirs.sendall(PREFIX.pack(100) + b"half")
        theirs.close()
        assert await front.receive() is None

    asyncio.run(story())


def test_an_absurd_length_is_a_bug_and_not_an_allocation() -> None:
    ours, theirs = socket.socketpair()
    ours.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(RuntimeError, match="This is a bug"):
        BlockingChannel(theirs, FrontMessage).receive()
