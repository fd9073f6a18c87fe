"""Frames out of a stream, on the event loop: each is read into the memory that it is decoded from, and never copied.

A stream reader would hold a picture's features three times, and the loop for 20 ms while it copies them. Knows no
message.
"""

import asyncio
import struct
from collections import deque

PREFIX = struct.Struct("<I")
MAX_FRAME_BYTES = 1 << 30
"""Both ends are ours; a longer frame means that the stream is out of step."""

SMALL_BYTES = 1 << 16
"""Frames up to this length are read together."""


def body_length(prefix: bytes | memoryview) -> int:
    """The length that a frame's prefix announces."""
    (length,) = PREFIX.unpack(prefix)
    if length > MAX_FRAME_BYTES:
        raise RuntimeError(f"a frame of {length} bytes was announced. This is a bug.")
    return int(length)


class Frames(asyncio.BufferedProtocol):
    """The receiving side of a connection."""

    def __init__(self) -> None:
        self._buffer = memoryview(bytearray(SMALL_BYTES))
        self._num_filled = 0
        self._ready: deque[memoryview] = deque()
        self._has_ended = False
        self._error: RuntimeError | None = None
        self._transport: asyncio.BaseTransport | None = None
        self._waiter: asyncio.Future[None] | None = None

    async def next(self) -> memoryview | None:
        """The next frame without its prefix, or None when the stream has ended.

        Raises:
            RuntimeError: the stream is out of step.
        """
        while not self._ready:
            if self._error is not None:
                raise self._error
            if self._has_ended:
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._ready.popleft()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The stream begins."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """The stream has ended, maybe inside of a frame."""
        self._has_ended = True
        self._wake()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go."""
        return self._buffer[self._num_filled :]

    def buffer_updated(self, nbytes: int) -> None:
        """So many have come."""
        self._num_filled += nbytes
        try:
            self._cut()
        except RuntimeError as error:
            self._error = error
            assert self._transport is not None  # else nothing had come
            self._transport.close()
        if self._ready or self._error:
            self._wake()

    def _cut(self) -> None:
        """Take whole frames; what is left of the next one goes to memory that has room for all of it."""
        start, num_needed = 0, PREFIX.size
        while self._num_filled - start >= PREFIX.size:
            num_needed = PREFIX.size + body_length(self._buffer[start : start + PREFIX.size])
            if self._num_filled - start < num_needed:
                break
            self._ready.append(self._buffer[start + PREFIX.size : start + num_needed])
            start, num_needed = start + num_needed, PREFIX.size
        if start or num_needed > len(self._buffer):
            left = self._buffer[start : self._num_filled]
            self._buffer = memoryview(bytearray(max(SMALL_BYTES, num_needed)))
            self._buffer[: len(left)] = left
            self._num_filled = len(left)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
