"""How many bytes of items may be under way at once: what keeps memory flat however long the source is."""

import asyncio


class Window:
    """A semaphore that counts bytes. One item larger than all of it goes alone.

    Attributes:
        max_bytes: how many may be under way.
        num_bytes: how many are.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.num_bytes = 0
        self._changed = asyncio.Condition()

    async def enter(self, num_bytes: int) -> None:
        """Wait until there is room, and take it."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self.num_bytes or self.num_bytes + num_bytes <= self.max_bytes)
            self.num_bytes += num_bytes

    async def leave(self, num_bytes: int) -> None:
        """Give back what was taken."""
        async with self._changed:
            self.num_bytes -= num_bytes
            self._changed.notify_all()
