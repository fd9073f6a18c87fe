"""Shared memory for pixels: one inherited file mapping, and a first-fit allocator that only the front uses.

The engine gets the mapping's file descriptor when it is started, maps it for reading only, and reads the slots that
requests name. Waiting for room is also the bound on decoded pictures in flight.

A slot has one owner at a time: `PixelLoader` from `reserve` until its pixels are decoded, then whoever called `load`
until `EngineClient.submit`, then the client, which lends it to the engine and releases it when the engine says so or
has gone. Only the owner releases it.
"""

import asyncio
import mmap
import os
import tempfile
from collections import deque

from service.ipc.messages import PixelSlot

ALIGN = 64


def create_shared_file(num_bytes: int) -> int:
    """A file descriptor of `num_bytes` of memory that a child process can inherit; it has no name to open."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("cenote-pixels")
    else:  # macOS has none
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, num_bytes)
    return descriptor


class PixelArena:
    """First-fit slots in a shared mapping, handed out in the order of asking.

    A request's slots are reserved together and sized before anything is decoded, so two requests can never wait for
    each other's second half.
    """

    def __init__(self, num_bytes: int) -> None:
        self.num_bytes = num_bytes
        self.descriptor = create_shared_file(num_bytes)
        self.buffer = memoryview(mmap.mmap(self.descriptor, num_bytes))
        self._free: list[tuple[int, int]] = [(0, num_bytes)]
        self._taken: dict[int, int] = {}
        self.num_bytes_taken = 0
        self._queue: deque[asyncio.Event] = deque()
        self._changed = asyncio.Event()

    def fits(self, sizes: list[int]) -> bool:
        """Whether slots of these sizes could ever be reserved together."""
        return sum(map(_aligned, sizes)) <= self.num_bytes

    async def reserve(self, sizes: list[int]) -> list[PixelSlot]:
        """Slots of these sizes, all or none; waits for its turn and for room."""
        turn = asyncio.Event()
        self._queue.append(turn)
        try:
            while True:
                if self._queue[0] is turn and (slots := self._try(sizes)) is not None:
                    return slots
                self._changed.clear()
                await self._changed.wait()
        finally:
            self._queue.remove(turn)
            self._changed.set()

    def view(self, slot: PixelSlot) -> memoryview:
        """The bytes of a slot."""
        return self.buffer[slot.start : slot.start + slot.num_bytes]

    def release(self, start: int) -> None:
        """Give a slot back; only its owner may, and once.

        Raises:
            RuntimeError: nobody has such a slot. Passing over it would one day free somebody else's.
        """
        length = self._taken.pop(start, None)
        if length is None:
            raise RuntimeError(f"a pixel slot at {start} was released that nobody holds. This is a bug.")
        self.num_bytes_taken -= length
        merged: list[tuple[int, int]] = []
        for begin, size in sorted([*self._free, (start, length)]):
            if merged and merged[-1][0] + merged[-1][1] == begin:
                merged[-1] = (merged[-1][0], merged[-1][1] + size)
            else:
                merged.append((begin, size))
        self._free = merged
        self._changed.set()

    def _try(self, sizes: list[int]) -> list[PixelSlot] | None:
        slots: list[PixelSlot] = []
        for size in sizes:
            length = _aligned(size)
            place = next((i for i, (_, room) in enumerate(self._free) if room >= length), None)
            if place is None:
                for slot in slots:
                    self.release(slot.start)
                return None
            start, room = self._free[place]
            self._free[place : place + 1] = [(start + length, room - length)] if room > length else []
            self._taken[start] = length
            self.num_bytes_taken += length
            slots.append(PixelSlot(start, size))
        return slots


def _aligned(size: int) -> int:
    return -(-size // ALIGN) * ALIGN
