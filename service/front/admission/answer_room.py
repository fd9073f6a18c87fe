"""What large answers may hold at once, from before their work is begun until their clients have taken them.

A client may take its answer as slowly as the least rate says, and the vectors wait for it: a thousand of them would be
gigabytes. In: how many bytes an answer will hold, known before anything is computed for it. Out: a hold on so many, or
a refusal. A bound of its own, beside the queue's: whoever fills it has no part in whether a small answer is given.
"""

from collections import deque

from schemas.errors import ErrorCode
from service import metrics
from service.errors import UnavailableError
from service.front.tenant import Tenant

SMALL_BYTES = 1 << 17
"""What is smaller is not counted: a connection has one, and connections are bounded."""

RETRY_S = 2.0


class AnswerRoom:
    """Counts what answers hold.

    Args:
        max_bytes: of all. What is more by itself is answered when it is alone, so nothing is refused for ever.
        tenant_share: part of it that one tenant may hold, where there are keys.
    """

    def __init__(self, max_bytes: int, tenant_share: float) -> None:
        self._max_bytes = max_bytes
        self._tenant_max_bytes = max(1, int(max_bytes * tenant_share))
        self._num_bytes = 0
        self._by_tenant: dict[str, int] = {}
        self._dropped: deque[tuple[int, Tenant]] = deque()
        metrics.ANSWER_BYTES.set_function(lambda: self._num_bytes - sum(num for num, _ in tuple(self._dropped)))

    def hold(self, num_bytes: int, tenant: Tenant) -> "Hold | None":
        """A hold on so many bytes, unless they are few.

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
        if self._num_bytes and self._num_bytes + num_bytes > self._max_bytes:
            raise _refusal("overloaded", "answers hold", self._num_bytes, num_bytes, self._max_bytes)
        mine = self._by_tenant.get(tenant.name, 0)
        if mine and mine + num_bytes > self._tenant_max_bytes:
            raise _refusal("rate_limit_exceeded", "this tenant's answers hold", mine, num_bytes, self._tenant_max_bytes)

    def count(self, num_bytes: int, tenant: Tenant) -> None:
        """Count bytes in, or out where the number is negative."""
        self._num_bytes += num_bytes
        if tenant.name:
            mine = self._by_tenant.pop(tenant.name, 0) + num_bytes
            if mine:
                self._by_tenant[tenant.name] = mine

    def drop(self, num_bytes: int, tenant: Tenant) -> None:
        """Count bytes out, from any thread and in the middle of anything: at the next hold."""
        self._dropped.append((num_bytes, tenant))

    def _count_dropped(self) -> None:
        while self._dropped:
            num_bytes, tenant = self._dropped.popleft()
            self.count(-num_bytes, tenant)


class Hold:
    """What one answer holds; it ends with `close`, and at the latest with the object.

    Args:
        room: of the service.
        tenant: whose answer it is.
    """

    def __init__(self, room: AnswerRoom, tenant: Tenant) -> None:
        self._room = room
        self._tenant = tenant
        self.num_bytes = 0

    def keep(self, num_bytes: int) -> None:
        """Hold exactly so many from now on."""
        self._room.count(num_bytes - self.num_bytes, self._tenant)
        self.num_bytes = num_bytes

    def close(self) -> None:
        """Give back what is left."""
        self.keep(0)

    def __del__(self) -> None:
        """Whatever became of the answer: what it held has gone with it."""
        if self.num_bytes:  # in whichever thread let go of it last, or inside a collection
            self._room.drop(self.num_bytes, self._tenant)


def _refusal(code: ErrorCode, who: str, held: int, more: int, most: int) -> UnavailableError:
    message = f"{who} {held} bytes until they are taken, and this one would hold {more} more; the limit is {most}"
    return UnavailableError(code, message, retry_after_s=RETRY_S)
