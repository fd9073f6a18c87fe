"""The bounded queue: a request reserves its part before any work, and gives it back when it is over.

Above the service's limits every request is refused (`overloaded`), above a tenant's share those of the tenant
(`rate_limit_exceeded`), so that no tenant can fill the queue for all. Independent of HTTP and of the engine's order.
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
"""Streams take more only while the queue, and the tenant's part of it, is less full than this: they can wait, and
single requests are never refused because of them."""


MIN_RETRY_S = 1.0
MAX_RETRY_S = 30.0
JITTER = 0.25
"""Spread of `Retry-After`, as a fraction, so that clients that were refused together do not come back together."""

MEMORY_S = 10.0
"""Time constant of the average: what is this old weighs a third (1/e)."""

FIRST_GUESS = 1000.0
"""Tokens per second before anything was measured; weighs as one second of measurements."""


class QueueRate:
    """Tokens per second, as an exponential moving average. Encoding takes time too: the time between forwards counts.

    Args:
        now: a monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._tokens = FIRST_GUESS
        self._busy_s = 1.0
        self._since_s = now()

    def begin(self) -> None:
        """Restart the clock: the queue was empty until now."""
        self._since_s = self._now()

    def finished(self, num_tokens: int) -> None:
        """Count tokens that the engine has finished."""
        now_s = self._now()
        passed_s, self._since_s = max(now_s - self._since_s, 1e-6), now_s
        kept = math.exp(-passed_s / MEMORY_S)
        self._tokens = self._tokens * kept + num_tokens
        self._busy_s = self._busy_s * kept + passed_s

    @property
    def tokens_per_s(self) -> float:
        """Throughput of the engine while there is work."""
        return self._tokens / self._busy_s

    def retry_after_s(self, num_tokens: int) -> float:
        """Seconds until so many tokens are done: 1 to 30, spread at random.

        Args:
            num_tokens: that wait now.
        """
        wait_s = num_tokens / max(self.tokens_per_s, 1e-6) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        spread_s = random.uniform(0, JITTER)  # noqa: S311  # spread also at the bounds
        return min(MAX_RETRY_S - spread_s, max(MIN_RETRY_S + spread_s, wait_s))


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Most work that may be under way at once."""

    max_inputs: int
    max_tokens: int
    max_bytes: int
    """Bytes of request bodies and fetched media in memory, and of features on their way to answers."""

    def part(self, share: float) -> "QueueLimits":
        """A fraction of each limit, at least 1."""
        return QueueLimits(*(max(1, int(most * share)) for most in (self.max_inputs, self.max_tokens, self.max_bytes)))


@dataclass(slots=True)
class Load:
    """An amount of work: of one request, of a tenant, or of all."""

    num_inputs: int = 0
    num_tokens: int = 0
    num_bytes: int = 0

    def add(self, other: "Load", sign: int = 1) -> None:
        """Add another amount, or subtract it with `sign` -1."""
        self.num_inputs += sign * other.num_inputs
        self.num_tokens += sign * other.num_tokens
        self.num_bytes += sign * other.num_bytes

    def has_room(self, more: "Load", limits: QueueLimits) -> bool:
        """Whether `more` still fits; what exceeds a limit by itself fits when there is nothing else of its kind."""
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
        """Whether it is below each limit."""
        return (
            self.num_inputs < limits.max_inputs
            and self.num_tokens < limits.max_tokens
            and self.num_bytes < limits.max_bytes
        )

    def __str__(self) -> str:
        return f"{self.num_inputs} inputs, {self.num_tokens} tokens and {self.num_bytes} bytes"


ONE_MORE = Load(num_inputs=1, num_tokens=1)
"""The least load of a request."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """The part of the load that one request holds, for the length of its `with`.

    Attributes:
        admission: that it counts in.
        tenant: of the request.
        load: reserved so far.
    """

    admission: "Admission"
    tenant: Tenant
    load: Load = field(default_factory=Load)

    def add_tokens(self, num_tokens: int, num_bytes: int = 0) -> None:
        """Add the tokens of an accepted request, now that they are known, and the bytes of a large answer.

        Raises:
            UnavailableError: the queue is full of tokens.
        """
        more = Load(num_tokens=num_tokens, num_bytes=num_bytes)
        self.admission.check(more, self.tenant)
        if not self.admission.load.num_tokens:
            self.admission.rate.begin()
        self.admission.count(self, more)

    def add_bytes(self, num_bytes: int) -> None:
        """Add bytes of a body or of fetched media as they arrive; a request that is alone may add any number.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        more = Load(num_bytes=num_bytes)
        if self.admission.num_bodies > 1:
            self.admission.check(more, self.tenant)
        self.admission.count(self, more)

    def hold(self, num_bytes: int, *, is_checked: bool = False) -> None:
        """Reserve bytes of a stream; a negative number gives them back.

        Args:
            num_bytes: to add.
            is_checked: refuse what exceeds the limits; otherwise the caller has asked `has_bulk_room`.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        more = Load(num_bytes=num_bytes)
        if is_checked:
            self.admission.check(more, self.tenant)
        self.admission.count(self, more)


class Admission:
    """Counts the work under way and refuses what exceeds the limits.

    A request that exceeds a limit by itself is accepted when it is alone, so nothing is refused for ever.

    Attributes:
        load: all work under way.
        rate: at which the engine empties the queue.
        num_bodies: requests whose bodies are held.
    """

    def __init__(
        self, limits: QueueLimits, tenant_share: float = 1.0, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._tenant_limits = limits.part(tenant_share)
        self._bulk_limits = limits.part(BULK_SHARE)
        self._tenant_bulk_limits = self._tenant_limits.part(BULK_SHARE)
        self.load = Load()
        self._by_tenant: dict[str, Load] = {}
        self.rate = QueueRate(now)
        self.num_bodies = 0
        metrics.QUEUE_INPUTS.set_function(lambda: self.load.num_inputs)
        metrics.QUEUE_TOKENS.set_function(lambda: self.load.num_tokens)
        metrics.QUEUE_BYTES.set_function(lambda: self.load.num_bytes)

    @contextmanager
    def body(self, announced_bytes: int, tenant: Tenant = EVERYBODY) -> Iterator[Reservation]:
        """Account for a request's body, from before it is read until the request is answered.

        Refuses before a byte is read if the queue is full or the announced bytes do not fit. Only received bytes are
        reserved (`add_bytes`): a client that announces much and sends little reserves little.

        Raises:
            UnavailableError: the queue is full, or too many bytes are held already.
        """
        self.check(ONE_MORE, tenant)
        self.check(Load(num_bytes=announced_bytes), tenant)
        self.num_bodies += 1
        body = Reservation(self, tenant)
        try:
            yield body
        finally:
            self.num_bodies -= 1
            self.count(body, body.load, -1)

    @contextmanager
    def place(self, num_inputs: int, tenant: Tenant = EVERYBODY) -> Iterator[Reservation]:
        """Reserve space for inputs in the queue for the length of the `with`.

        Raises:
            UnavailableError: the queue is full.
        """
        load = Load(num_inputs=num_inputs)
        self.check(load, tenant)
        place = Reservation(self, tenant)
        self.count(place, load)
        try:
            yield place
        finally:
            self.count(place, place.load, -1)

    def stream(self, tenant: Tenant = EVERYBODY) -> AbstractContextManager[Reservation]:
        """Account for a stream, whose bytes `hold` counts, for the length of the `with`.

        Raises:
            UnavailableError: the queue is full.
        """
        self.check(ONE_MORE, tenant)
        return self.place(0, tenant)

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """Whether a stream may take more: the queue has enough space left for single requests."""
        mine_is_below = not tenant.name or self._mine(tenant).is_below(self._tenant_bulk_limits)
        return mine_is_below and self.load.is_below(self._bulk_limits)

    def check(self, more: Load, tenant: Tenant) -> None:
        """Pass when the queue has space for more of a tenant's load.

        Raises:
            UnavailableError: the queue is full, or the tenant's share of it.
        """
        if not self.load.has_room(more, self._limits):
            raise self._refusal("overloaded", "the queue holds", self.load, self._limits)
        if tenant.name and not self._mine(tenant).has_room(more, self._tenant_limits):
            raise self._refusal("rate_limit_exceeded", "this tenant holds", self._mine(tenant), self._tenant_limits)

    def _refusal(self, code: ErrorCode, who: str, now: Load, limits: QueueLimits) -> UnavailableError:
        most = f"{limits.max_inputs}, {limits.max_tokens} and {limits.max_bytes}"
        wait_s = self.rate.retry_after_s(self.load.num_tokens)
        return UnavailableError(code, f"{who} {now}; the limits are {most}", retry_after_s=wait_s)

    def _mine(self, tenant: Tenant) -> Load:
        return self._by_tenant.get(tenant.name) or Load()

    def count(self, mine: Reservation, load: Load, sign: int = 1) -> None:
        """Add a load to a reservation, its tenant and the whole, or subtract it."""
        self.load.add(load, sign)
        if mine.tenant.name:
            of_tenant = self._by_tenant.setdefault(mine.tenant.name, Load())
            of_tenant.add(load, sign)
            if of_tenant == Load():  # idle tenants take no memory
                del self._by_tenant[mine.tenant.name]
        mine.load.add(load, sign)  # last: it may be `load` itself
