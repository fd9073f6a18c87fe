"""Shared memory for pixels: one inherited file mapping, and a first-fit allocator that only the front uses.

The engine gets the mapping's file descriptor when it is started, maps it for reading only, and reads the slots that
requests name. Waiting for room is also the bound on decoded images in flight. Slots are held while images are
decoded, so a few requests with many large ones could keep every other one out: requests wait in a fair
order, and large reservations leave room for small ones.

A slot has one owner at a time: `PixelLoader` from `reserve` until its pixels are decoded, then the caller of `load`
until `EngineClient.submit`, then the client, which lends it to the engine and releases it when the engine says so or
has gone. Only the owner releases it.
"""

import asyncio
import mmap
import os
import tempfile
from dataclasses import dataclass

from service.fairness.fair_queue import CURRENT_PARTY, Party, TurnQueue
from service.ipc.messages import PixelSlot

ALIGN = 64

KEPT_TIMES = 16
"""A reservation leaves this many times its own bytes free, up to that fraction of all."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotWaiter:
    """A reservation that waits: sizes of its slots, and the bytes that each takes, whole multiples of `ALIGN`.

    Its cost is their sum.
    """

    party: Party
    cost: int
    sizes: list[int]
    lengths: list[int]
    turn: "asyncio.Future[list[PixelSlot]]"


def create_shared_file(num_bytes: int, label: str = "cenote-pixels") -> int:
    """A file descriptor of `num_bytes` of memory that a child process can inherit; it has no name to open.

    Args:
        num_bytes: all 0 at first.
        label: shown in `/proc`.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(label)
    else:  # macOS has none
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, num_bytes)
    return descriptor


class PixelArena:
    """First-fit slots in a shared mapping.

    A request's slots are reserved together and sized before anything is decoded, so two requests can never wait for
    each other's second half.
    """

    def __init__(self, num_bytes: int, descriptor: int | None = None, part: int = 0) -> None:
        """Make a mapping of `num_bytes`; or take the given part of one that has a part for each front."""
        self.num_bytes = num_bytes
        self.descriptor = create_shared_file(num_bytes) if descriptor is None else descriptor
        self.buffer = memoryview(mmap.mmap(self.descriptor, (part + 1) * num_bytes))
        self._free: list[tuple[int, int]] = [(part * num_bytes, num_bytes)]
        self._taken: dict[int, int] = {}
        self.num_bytes_taken = 0
        self._queue: TurnQueue[SlotWaiter] = TurnQueue()

    def fits(self, sizes: list[int]) -> bool:
        """True if slots of these sizes could ever be reserved together."""
        return sum(-(-size // ALIGN) for size in sizes) * ALIGN <= self.num_bytes

    async def reserve(self, sizes: list[int]) -> list[PixelSlot]:
        """Slots of these sizes, all or none; waits for its turn and for room."""
        lengths = [-(-size // ALIGN) * ALIGN for size in sizes]
        party, turn = CURRENT_PARTY.get(), asyncio.get_running_loop().create_future()
        waiting = SlotWaiter(party, sum(lengths), sizes, lengths, turn)
        self._queue.add(party.tenant, party.request, waiting.cost, waiting)
        self._hand_out()
        try:
            return await waiting.turn
        except asyncio.CancelledError:
            if waiting.turn.cancelled():
                self._hand_out()  # it may have blocked others
            else:  # it had its turn already
                for slot in waiting.turn.result():
                    self.release(slot.start)
            raise

    def view(self, slot: PixelSlot) -> memoryview:
        """The bytes of a slot."""
        return self.buffer[slot.start : slot.start + slot.num_bytes]

    def release(self, start: int) -> None:
        """Give a slot back; only its owner may, and once.

        Raises:
            RuntimeError: no such slot is taken. Ignoring that would one day free another request's.
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
        self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting reservations their slots, all or none, as long as there is room for the next.

        Room for small reservations is left, unless no slot is taken.
        """
        while (first := self._queue.peek()) is not None:
            kept = min(first.cost * KEPT_TIMES, self.num_bytes // KEPT_TIMES)
            if self._taken and self.num_bytes_taken + first.cost + kept > self.num_bytes:
                return
            free, slots = list(self._free), list[PixelSlot]()
            for size, length in zip(first.sizes, first.lengths, strict=True):
                place = next((i for i, (_, room) in enumerate(free) if room >= length), None)
                if place is None:
                    return
                start, room = free[place]
                free[place : place + 1] = [(start + length, room - length)] if room > length else []
                slots.append(PixelSlot(start, size))
            self._free = free
            self._taken |= {slot.start: length for slot, length in zip(slots, first.lengths, strict=True)}
            self.num_bytes_taken += first.cost
            self._queue.leave(first, is_served=True)
            first.turn.set_result(slots)
