"""The bounded queue: a request takes a place before anything is done for it, and leaves when everything is over.

Over the service's bounds nobody gets in (`overloaded`); over its own share a tenant does not (`rate_limit_exceeded`),
so that one alone can never fill the queue for all. Knows neither HTTP nor the order in which the engine works.
"""

import math
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from schemas.errors import ErrorCode
from service import metrics
from service.errors import UnavailableError
from service.front.tenant import SERVICE, Tenant

EVERYBODY = SERVICE.tenant
"""The one tenant of a server without keys: it has no share, only the bounds of all."""

BULK_SHARE = 0.5
"""Streams take more only while the queue, and the tenant's part of it, is less full than this: they can wait, and who
asks for one vector is never refused because of them."""


MIN_RETRY_S = 1.0
MAX_RETRY_S = 30.0
JITTER = 0.25
"""Clients refused together are told times this much apart, as a fraction, so that they do not come back together."""

MEMORY_S = 10.0
"""How long ago counts for a third of now."""

FIRST_GUESS = 1000.0
"""Tokens per second before anything was measured; worth one second of measuring."""


class QueueRate:
    """Tokens per second, forgetting slowly.

    Args:
        now: a monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._tokens = FIRST_GUESS
        self._busy_s = 1.0
        self._since_s = now()

    def begin(self) -> None:
        """The queue was empty until now: what passed since is nobody's work."""
        self._since_s = self._now()

    def finished(self, num_tokens: int) -> None:
        """The engine is through with so many tokens."""
        now_s = self._now()
        passed_s, self._since_s = max(now_s - self._since_s, 1e-6), now_s
        kept = math.exp(-passed_s / MEMORY_S)
        self._tokens = self._tokens * kept + num_tokens
        self._busy_s = self._busy_s * kept + passed_s

    @property
    def tokens_per_s(self) -> float:
        """What the engine does while there is work."""
        return self._tokens / self._busy_s

    def retry_after_s(self, num_tokens: int) -> float:
        """When so many tokens will be done: 1 to 30 s, spread at random.

        Args:
            num_tokens: what waits now.

        """
        wait_s = num_tokens / max(self.tokens_per_s, 1e-6) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        spread_s = random.uniform(0, JITTER)  # noqa: S311  # apart also where the wait is cut
        return min(MAX_RETRY_S - spread_s, max(MIN_RETRY_S + spread_s, wait_s))


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What may be under way at once."""

    max_inputs: int
    max_tokens: int
    max_bytes: int
    """Bytes of request bodies that are held, and of features on their way to answers."""

    def part(self, share: float) -> "QueueLimits":
        """A fraction of each, and at least one."""
        return QueueLimits(*(max(1, int(most * share)) for most in (self.max_inputs, self.max_tokens, self.max_bytes)))


@dataclass(slots=True)
class Load:
    """An amount of work: of one request, of a tenant, or of all."""

    num_inputs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0

    def add(self, other: "Load", sign: int = 1) -> None:
        """Count another amount in, or out."""
        self.num_inputs += sign * other.num_inputs
        self.num_tokens += sign * other.num_tokens
        self.num_bytes += sign * other.num_bytes

    def has_room(self, more: "Load", limits: QueueLimits) -> bool:
        """Whether `more` still fits; what is over a limit by itself fits when nobody else has any of its kind."""
        if (
            self.num_inputs + more.num_inputs <= limits.max_inputs
            and self.num_tokens + more.num_tokens <= limits.max_tokens
            and self.num_bytes + more.num_bytes <= limits.max_bytes
        ):
            return True
        if more.num_inputs:
            return self.num_inputs == 0
        if more.num_tokens:
            return self.num_tokens == 0
        return self.num_bytes == 0 or not more.num_bytes

    def is_below(self, limits: QueueLimits) -> bool:
        """Whether it is less than each limit."""
        return (
            self.num_inputs < limits.max_inputs
            and self.num_tokens < limits.max_tokens
            and self.num_bytes < limits.max_bytes
        )

    def __str__(self) -> str:
        return f"{self.num_inputs} inputs, {self.num_tokens} tokens and {self.num_bytes} bytes"


ONE_MORE = Load(num_inputs=1, num_tokens=1)
"""What every request brings at least."""


@dataclass(slots=True)
class Reservation:
    """A request's own part of the load."""

    tenant: Tenant
    load: Load = field(default_factory=Load)


class Admission:
    """Counts what is under way and refuses what is too much.

    A request that is over a limit by itself still gets a place when it is alone, so nothing is refused for ever.
    """

    def __init__(
        self, limits: QueueLimits, tenant_share: float = 1.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._tenant_limits = limits.part(tenant_share)
        self._bulk_limits = limits.part(BULK_SHARE)
        self._tenant_bulk_limits = self._tenant_limits.part(BULK_SHARE)
        self._all = Load()
        self._by_tenant: dict[str, Load] = {}
        self._rate = QueueRate(now)
        self._num_bodies = 0
        metrics.QUEUE_INPUTS.set_function(lambda: self._all.num_inputs)
        metrics.QUEUE_TOKENS.set_function(lambda: self._all.num_tokens)
        metrics.QUEUE_BYTES.set_function(lambda: self._all.num_bytes)

    @property
    def num_tokens(self) -> int:
        """Tokens of everything that is under way."""
        return self._all.num_tokens

    @contextmanager
    def body(self, announced_bytes: int, tenant: Tenant = EVERYBODY) -> Iterator[Reservation]:
        """Room for a request's body, from before it is read until it is answered.

        A queue that is full already refuses here, before a byte is read, and so does one that has no room for what is
        announced. Held are the bytes that have come (`add_bytes`): who announces much and sends little holds little.

        Raises:
            UnavailableError: the queue is full, or too many bytes are held already.
        """
        self._check(ONE_MORE, tenant)
        self._check(Load(num_bytes=announced_bytes), tenant)
        self._num_bodies += 1
        mine = Reservation(tenant)
        try:
            yield mine
        finally:
            self._num_bodies -= 1
            self._count(mine.load, tenant, -1)

    @contextmanager
    def place(self, num_inputs: int, tenant: Tenant = EVERYBODY) -> Iterator[Reservation]:
        """A place in the queue for the length of the `with`.

        Raises:
            UnavailableError: the queue is full.
        """
        load = Load(num_inputs=num_inputs)
        self._check(load, tenant)
        self._count(load, tenant, 1)
        place = Reservation(tenant, load)
        try:
            yield place
        finally:
            self._count(place.load, tenant, -1)

    def stream(self, tenant: Tenant = EVERYBODY) -> AbstractContextManager[Reservation]:
        """Room for what a stream holds, which `hold` counts, for the length of the `with`.

        Raises:
            UnavailableError: the queue is full.
        """
        self._check(ONE_MORE, tenant)
        return self.place(0, tenant)

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """Whether a stream may take more: the queue has room to spare for everybody else."""
        mine_is_below = not tenant.name or self._mine(tenant).is_below(self._tenant_bulk_limits)
        return mine_is_below and self._all.is_below(self._bulk_limits)

    def hold(self, mine: Reservation, num_bytes: int, *, is_checked: bool = False) -> None:
        """Count bytes of a stream that are held; a negative number gives them back.

        Args:
            mine: the stream's.
            num_bytes: how many.
            is_checked: refuse what is too much; without it, `has_bulk_room` was asked before.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        more = Load(num_bytes=num_bytes)
        if is_checked:
            self._check(more, mine.tenant)
        mine.load.add(more)
        self._count(more, mine.tenant, 1)

    def add_tokens(self, mine: Reservation, num_tokens: int, num_bytes: int = 0) -> None:
        """Weigh a request that is in: its tokens are known now, and the bytes of an answer that is worth counting.

        Raises:
            UnavailableError: the queue is full of tokens.
        """
        more = Load(num_tokens=num_tokens, num_bytes=num_bytes)
        self._check(more, mine.tenant)
        if not self._all.num_tokens:
            self._rate.begin()
        mine.load.add(more)
        self._count(more, mine.tenant, 1)

    def add_bytes(self, mine: Reservation, num_bytes: int) -> None:
        """Weigh bytes that a request brings in from elsewhere, as they come; who is alone may bring any number.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        more = Load(num_bytes=num_bytes)
        if self._num_bodies > 1:
            self._check(more, mine.tenant)
        mine.load.add(more)
        self._count(more, mine.tenant, 1)

    def observe(self, num_tokens: int, seconds: float) -> None:
        """Learn from a language step how fast the queue empties.

        Args:
            num_tokens: of the step.
            seconds: of the step; not used: images take time too, so the time between steps counts.
        """
        self._rate.finished(num_tokens)

    def _check(self, more: Load, tenant: Tenant) -> None:
        if not self._all.has_room(more, self._limits):
            raise self._refusal("overloaded", "the queue holds", self._all, self._limits)
        if tenant.name and not self._mine(tenant).has_room(more, self._tenant_limits):
            raise self._refusal("rate_limit_exceeded", "this tenant holds", self._mine(tenant), self._tenant_limits)

    def _refusal(self, code: ErrorCode, who: str, now: Load, limits: QueueLimits) -> UnavailableError:
        most = f"{limits.max_inputs}, {limits.max_tokens} and {limits.max_bytes}"
        wait_s = self._rate.retry_after_s(self._all.num_tokens)
        return UnavailableError(code, f"{who} {now}; the limits are {most}", retry_after_s=wait_s)

    def _mine(self, tenant: Tenant) -> Load:
        return self._by_tenant.get(tenant.name) or Load()

    def _count(self, load: Load, tenant: Tenant, sign: int) -> None:
        self._all.add(load, sign)
        if tenant.name:
            mine = self._by_tenant.setdefault(tenant.name, Load())
            mine.add(load, sign)
            if mine == Load():  # tenants that have left take no memory
                del self._by_tenant[tenant.name]
