"""Frames of a stream, on the event loop: a large one is read into the memory that it is decoded from, never copied.

A stream reader would hold an image's features three times, and the loop for 20 ms while it copies them. Knows no
message.
"""

import asyncio
import struct
from collections import deque
from collections.abc import Callable

PREFIX = struct.Struct("<I")
MAX_FRAME_BYTES = 1 << 30
"""Both ends are ours; a longer frame means that the stream is out of step."""

SMALL_BYTES = 1 << 16
"""Frames up to this length are read together."""

COPIED_BYTES = 20 << 10
"""A frame up to here is copied out, a vector of 4096 numbers for one, so that the next is read where it was."""


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
        self._error: Exception | None = None
        self._transport: asyncio.BaseTransport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._take: Callable[[memoryview], None] | None = None

    async def each(self, take: Callable[[memoryview], None]) -> None:
        """Hand over each frame in the turn of the loop that reads it, until the stream ends.

        Args:
            take: is called with a frame without its prefix. What it raises ends the stream.

        Raises:
            RuntimeError: the stream is out of step.
            Exception: what `take` raised.
        """
        self._take = take
        try:
            self._hand_over()
            while not (self._error or self._has_ended):
                await self._woken()
        finally:
            self._take = None
        if self._error is not None:
            raise self._error

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
            await self._woken()
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
        """Take bytes that were read."""
        self._num_filled += nbytes
        try:
            self._cut()
        except RuntimeError as error:
            self._break(error)
        if self._take is not None:
            self._hand_over()
        elif self._ready or self._error:
            self._wake()

    def _hand_over(self) -> None:
        """Give ready frames to `take`; what it raises is raised by `each`."""
        try:
            while self._ready and self._take is not None:
                self._take(self._ready.popleft())
        except Exception as error:  # noqa: BLE001  # `each` raises it
            self._break(error)

    def _break(self, error: Exception) -> None:
        self._error = error
        assert self._transport is not None  # else nothing had come
        self._transport.close()
        self._wake()

    def _cut(self) -> None:
        """Take whole frames; what is left of the next one goes to memory that has room for all of it."""
        start, num_needed, is_lent = 0, PREFIX.size, False
        while self._num_filled - start >= PREFIX.size:
            num_needed = PREFIX.size + body_length(self._buffer[start : start + PREFIX.size])
            if self._num_filled - start < num_needed:
                break
            body = self._buffer[start + PREFIX.size : start + num_needed]
            is_copied = len(body) <= COPIED_BYTES
            self._ready.append(memoryview(bytes(body)) if is_copied else body)
            is_lent |= not is_copied
            start, num_needed = start + num_needed, PREFIX.size
        if not start and num_needed <= len(self._buffer):
            return
        left = self._buffer[start : self._num_filled]
        if is_lent or num_needed > len(self._buffer):
            self._buffer = memoryview(bytearray(max(SMALL_BYTES, num_needed)))
        self._buffer[: len(left)] = left
        self._num_filled = len(left)

    async def _woken(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
