"""Bounds the memory of large answers, reserved before their work and released as their clients receive them.

A client may read as slowly as the minimum rate, while its vectors wait: a thousand such clients would hold gigabytes.
The size of an answer is known before anything is computed for it, so refusals cost no work. The bound is separate from
the queue's, so that slow readers never block small answers.
"""

import asyncio
from collections import deque

from schemas.errors import ErrorCode
from service import metrics
from service.errors import UnavailableError
from service.front.admission.shared_table import ANSWERS, SharedTable
from service.front.tenant import Tenant

SMALL_BYTES = 1 << 17
"""Answers up to this size are not counted: a connection has one at a time, and connections are bounded."""

RETRY_S = 2.0

COUNT_DROPPED_EVERY_S = 1.0


class AnswerRoom:
    """Counts the bytes of answers.

    Args:
        max_bytes: of the answers of all fronts. A larger one is accepted when it is alone, so nothing is refused for
            ever.
        tenant_share: part of it that one tenant may hold, where there are keys.
        table: of all fronts.
    """

    def __init__(self, max_bytes: int, tenant_share: float, table: SharedTable) -> None:
        self._table = table
        self._max_bytes = max_bytes
        self._tenant_max_bytes = max(1, int(max_bytes * tenant_share))
        self._num_bytes = 0
        self._by_tenant: dict[str, int] = {}
        self._dropped: deque[tuple[int, Tenant]] = deque()
        metrics.ANSWER_BYTES.set_function(lambda: self._num_bytes - sum(num for num, _ in tuple(self._dropped)))

    def hold(self, num_bytes: int, tenant: Tenant) -> "Hold | None":
        """Reserve bytes for an answer; None for a small one.

        Args:
            num_bytes: of the answer.
            tenant: whose it is.

        Raises:
            UnavailableError: answers hold too many bytes already, or those of this tenant do.
        """
        if num_bytes <= SMALL_BYTES:
            return None
        self._count_dropped()
        self._check(num_bytes, tenant)
        hold = Hold(self, tenant)
        hold.keep(num_bytes)
        return hold

    def _check(self, num_bytes: int, tenant: Tenant) -> None:
        held = self._num_bytes + self._table.others(ANSWERS).first
        if held and held + num_bytes > self._max_bytes:
            raise _refusal("overloaded", "answers hold", held, num_bytes, self._max_bytes)
        if not tenant.name:
            return
        mine = self._by_tenant.get(tenant.name, 0) + self._table.others(_answers_of(tenant)).first
        if mine and mine + num_bytes > self._tenant_max_bytes:
            raise _refusal("rate_limit_exceeded", "this tenant's answers hold", mine, num_bytes, self._tenant_max_bytes)

    def settle(self, hold: "Hold | None", num_bytes: int, tenant: Tenant) -> "Hold | None":
        """Count an answer that is there by its own bytes, in place of what was reserved for it; refuses nothing."""
        if hold is None and num_bytes <= SMALL_BYTES:
            return None
        hold = Hold(self, tenant) if hold is None else hold
        hold.keep(num_bytes)
        return hold

    def count(self, num_bytes: int, tenant: Tenant) -> None:
        """Add bytes; a negative number gives them back."""
        self._num_bytes += num_bytes
        self._table.publish(ANSWERS, self._num_bytes)
        if tenant.name:
            mine = self._by_tenant.pop(tenant.name, 0) + num_bytes
            if mine:
                self._by_tenant[tenant.name] = mine
            self._table.publish(_answers_of(tenant), mine)

    def drop(self, num_bytes: int, tenant: Tenant) -> None:
        """Give back bytes, from any thread or a finalizer; counted at the next `hold`, or by `watch`."""
        self._dropped.append((num_bytes, tenant))

    async def watch(self) -> None:
        """Count what was dropped, every second, until cancelled: other fronts need the room though this one is idle."""
        while True:
            await asyncio.sleep(COUNT_DROPPED_EVERY_S)
            self._count_dropped()

    def _count_dropped(self) -> None:
        while self._dropped:
            num_bytes, tenant = self._dropped.popleft()
            self.count(-num_bytes, tenant)


class Hold:
    """The reservation of one answer; it ends with `close`, and at the latest with the object.

    Args:
        room: where the bytes are counted.
        tenant: whose answer it is.
    """

    def __init__(self, room: AnswerRoom, tenant: Tenant) -> None:
        self._room = room
        self._tenant = tenant
        self.num_bytes = 0

    def keep(self, num_bytes: int) -> None:
        """Change the reservation to so many bytes."""
        self._room.count(num_bytes - self.num_bytes, self._tenant)
        self.num_bytes = num_bytes

    def close(self) -> None:
        """Give back the rest."""
        self.keep(0)

    def __del__(self) -> None:
        """Give back the rest when the answer was dropped without `close`."""
        if self.num_bytes:  # in any thread, or inside a garbage collection
            self._room.drop(self.num_bytes, self._tenant)


def _answers_of(tenant: Tenant) -> str:
    return f"{ANSWERS}/{tenant.name}"


def _refusal(code: ErrorCode, who: str, held: int, more: int, most: int) -> UnavailableError:
    message = f"{who} {held} bytes until they are taken, and this one would hold {more} more; the limit is {most}"
    return UnavailableError(code, message, retry_after_s=RETRY_S)
