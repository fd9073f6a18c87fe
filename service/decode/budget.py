"""The bound on what is decoded at once: bytes, and how many pictures. First come, first served."""

import asyncio
from collections import deque


class DecodeBudget:
    """Hands out room for decodes in the order of asking; all methods belong to the event loop.

    A picture that is over the budget by itself still gets room when it is alone, so nobody waits for ever.
    """

    def __init__(self, max_bytes: int, max_decodes: int) -> None:
        self._max_bytes = max_bytes
        self._max_decodes = max_decodes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._num_decodes = 0
        self.num_bytes_taken = 0

    async def take(self, num_bytes: int) -> None:
        """Wait for room.

        Args:
            num_bytes: what a decode takes at its peak; the same number goes to `give`.
        """
        if not self._waiting and self._has_room(num_bytes):
            self._add(num_bytes)
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((num_bytes, turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.remove((num_bytes, turn))
                self._wake()
            else:  # it had its turn already
                self.give(num_bytes)
            raise

    def give(self, num_bytes: int) -> None:
        """Room is free again."""
        self._num_decodes -= 1
        self.num_bytes_taken -= num_bytes
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self._has_room(self._waiting[0][0]):
            num_bytes, turn = self._waiting.popleft()
            if turn.cancelled():
                self._waiting.appendleft((num_bytes, turn))  # whoever waited takes it out
                return
            self._add(num_bytes)
            turn.set_result(None)

    def _has_room(self, num_bytes: int) -> bool:
        is_within = self.num_bytes_taken + num_bytes <= self._max_bytes and self._num_decodes < self._max_decodes
        return is_within or self._num_decodes == 0

    def _add(self, num_bytes: int) -> None:
        self._num_decodes += 1
        self.num_bytes_taken += num_bytes
