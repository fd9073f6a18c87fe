"""Length-prefixed msgpack frames over a socket pair: blocking on the engine's side, asyncio on the front's."""

import asyncio
import socket  # noqa: TID251  # a socket pair
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from service.ipc.frames import PREFIX, Frames, body_length

T = TypeVar("T")

SENT_BYTES = 1 << 20
"""That the kernel may hold of what was sent and is not read yet, where it allows so much: the vectors of a forward. The
engine begins the next forward and does not wait for the front to read."""

encoder = msgspec.msgpack.Encoder()


def frame(message: msgspec.Struct) -> bytearray:
    """A message as it goes over the wire: four bytes of length, then msgpack."""
    whole = bytearray(PREFIX.size)
    encoder.encode_into(message, whole, PREFIX.size)
    PREFIX.pack_into(whole, 0, len(whole) - PREFIX.size)
    return whole


class BlockingChannel(Generic[T]):
    """The engine's end. `receive` and `send` may run in two threads, one in each."""

    def __init__(self, sock: socket.socket, incoming: type[T]) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_BYTES)
        self._sock = sock
        self._decoder = msgspec.msgpack.Decoder(incoming)

    def receive(self) -> T | None:
        """The next message, or None when the other end has closed."""
        prefix = self.read(PREFIX.size)
        body = self.read(body_length(prefix)) if prefix else None
        return None if body is None else self._decoder.decode(body)

    def send(self, message: msgspec.Struct) -> None:
        """Hand a message to the other end; raises OSError when it has gone."""
        self._sock.sendall(frame(message))

    def read(self, length: int) -> bytes | None:
        """So many bytes without a frame, or None when the other end has closed."""
        buffer = bytearray(length)
        view = memoryview(buffer)
        while view:
            count = self._sock.recv_into(view)
            if count == 0:
                return None
            view = view[count:]
        return bytes(buffer)


class AsyncChannel(Generic[T]):
    """The front's end."""

    def __init__(self, frames: Frames, transport: asyncio.WriteTransport, incoming: type[T]) -> None:
        self._frames = frames
        self._transport = transport
        self._decoder = msgspec.msgpack.Decoder(incoming)

    @classmethod
    async def over(cls, sock: socket.socket, incoming: type[T]) -> "AsyncChannel[T]":
        """A channel over one end of a socket pair."""
        transport, frames = await asyncio.get_running_loop().create_unix_connection(Frames, sock=sock)
        return cls(frames, transport, incoming)

    async def receive(self) -> T | None:
        """The next message, or None when the other end has closed."""
        body = await self._frames.next()
        return None if body is None else self._decoder.decode(body)

    async def each(self, take: Callable[[T], None]) -> None:
        """Hand over each message in the turn of the loop that reads it, until the other end has closed.

        A task that waited for the next one would have it a turn later, and a query's vector is one of them.
        """
        decode = self._decoder.decode
        await self._frames.each(lambda body: take(decode(body)))

    def send(self, message: msgspec.Struct) -> None:
        """Hand a message to the other end; never waits. What is under way is bounded by admission.

        Nothing is sent to an end that has closed: who reads the stream hears of that in a later turn of the loop.
        """
        if not self._transport.is_closing():  # uvloop's would raise
            self._transport.write(frame(message))

    def close(self) -> None:
        """Close this end; the other sees the end of the stream."""
        self._transport.close()
