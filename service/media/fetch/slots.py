"""At most so many at once for each name: a lock with several keys, kept only while somebody holds or waits."""

import asyncio
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Gate:
    semaphore: asyncio.Semaphore
    num_users: int = 0


class Slots:
    """So many places for each key; who comes later waits in line."""

    def __init__(self, max_each: int) -> None:
        self._max_each = max_each
        self._gates: dict[Hashable, _Gate] = {}

    def __len__(self) -> int:
        return len(self._gates)

    @asynccontextmanager
    async def hold(self, key: Hashable) -> AsyncIterator[None]:
        """A place for the length of the `with`."""
        gate = self._gates.setdefault(key, _Gate(asyncio.Semaphore(self._max_each)))
        gate.num_users += 1
        try:
            async with gate.semaphore:
                yield
        finally:
            gate.num_users -= 1
            if gate.num_users == 0:
                del self._gates[key]
