"""So many fetches at once for each key, in fair order, and never all for one holder. Used on the event loop only."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from service.errors import UnavailableError
from service.fairness.fair_queue import Party, TurnQueue

RETRY_S = 5.0


@dataclass(slots=True, eq=False)
class _Waiting:
    party: Party
    turn: asyncio.Future[None]
    cost: int = 1


class Gate:
    """The slots of one key, for holders by the name of their tenant: the last quarter for those that have none.

    Attributes:
        users: fetches of each holder that have a slot or wait for one.
    """

    def __init__(self, max_each: int) -> None:
        self.users: Counter[str] = Counter()
        self._num_free = max_each
        self._num_kept = (max_each + 2) // 4
        self._held: Counter[str] = Counter()
        self._queue: TurnQueue[_Waiting] = TurnQueue()

    async def take(self, party: Party) -> None:
        """Wait for a slot."""
        waiting = _Waiting(party, asyncio.get_running_loop().create_future())
        self._queue.add(party.tenant, party.request, waiting.cost, waiting)
        self._wake()
        try:
            await waiting.turn
        except asyncio.CancelledError:
            if not waiting.turn.cancelled():  # it had its slot already
                self.give(party)
            raise

    def give(self, party: Party) -> None:
        """Free the slot of a holder."""
        self._num_free += 1
        self._held -= Counter({party.tenant: 1})
        self._wake()

    def _wake(self) -> None:
        while self._num_free:
            first = self._queue.peek(without=self._held if self._num_free <= self._num_kept else ())
            if first is None:
                return
            self._num_free -= 1
            self._held[first.party.tenant] += 1
            self._queue.leave(first, is_served=True)
            first.turn.set_result(None)


class Slots:
    """At most `max_each` fetches of each key at once; a quarter of them is kept for holders that have none.

    So nobody has to wait until another's slow hosts are done, and who has to wait is refused in the end.
    """

    def __init__(self, max_each: int, max_wait_s: float) -> None:
        """Refuse who has waited for `max_wait_s`, and as long again for each fetch of its own before it."""
        self._max_each = max_each
        self._max_wait_s = max_wait_s
        self._gates: dict[Hashable, Gate] = {}

    def __len__(self) -> int:
        return len(self._gates)

    @asynccontextmanager
    async def hold(self, key: Hashable, party: Party) -> AsyncIterator[None]:
        """A slot for the length of the `with`.

        Args:
            party: its tenant is the holder.

        Raises:
            UnavailableError: all slots were taken for too long.
        """
        gate = self._gates.setdefault(key, Gate(self._max_each))
        gate.users[party.tenant] += 1
        try:
            try:
                async with asyncio.timeout(self._max_wait_s * gate.users[party.tenant]):
                    await gate.take(party)
            except TimeoutError:
                message = "media of this request waited too long for other fetches from their host; send it again"
                raise UnavailableError("overloaded", message, retry_after_s=RETRY_S) from None
            try:
                yield
            finally:
                gate.give(party)
        finally:
            gate.users -= Counter({party.tenant: 1})
            if not gate.users:
                del self._gates[key]
