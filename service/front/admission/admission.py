"""The bounded queue: a request reserves its part before any work, and gives it back when it is over.

Above the service's limits every request is refused (`overloaded`), above a tenant's share those of the tenant
(`rate_limit_exceeded`), so that no tenant can fill the queue for all. Independent of HTTP and of the engine's order.
"""

import time
from collections.abc import Callable
from typing import Self

import msgspec

from schemas.errors import ErrorCode
from service import metrics
from service.errors import UnavailableError
from service.front.admission.load import ONE_MORE, Load, QueueLimits
from service.front.admission.queue_rate import QueueRate
from service.front.admission.shared_load import SharedLoad
from service.front.admission.shared_table import BODIES, QUEUE, SharedTable
from service.front.tenant import SERVICE, Tenant

EVERYBODY = SERVICE.tenant
"""The one tenant of a server without keys: it has no share, only the bounds of all."""

BULK_SHARE = 0.5
"""Streams take more only while the queue, and the tenant's part of it, is less full than this: they can wait, and
single requests are never refused because of them."""


class Reservation(msgspec.Struct, frozen=True, eq=False):
    """The part of the load that one request holds, until `close` or for the length of a `with`.

    Attributes:
        admission: that it counts in.
        tenant: of the request.
        load: reserved so far.
    """

    admission: "Admission"
    tenant: Tenant
    load: Load = msgspec.field(default_factory=Load)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give it back."""
        self.admission.count(self, self.load, -1)

    def add_tokens(self, num_tokens: int, num_bytes: int = 0, *, is_checked: bool = True) -> None:
        """Add the tokens of an accepted request, now that they are known, and the bytes of a large answer.

        Args:
            is_checked: refuse what exceeds the limits; not of a request of which some has run.

        Raises:
            UnavailableError: the queue is full of tokens.
        """
        more = Load(num_tokens=num_tokens, num_bytes=num_bytes)
        if is_checked:
            self.admission.check(self.tenant, more)
        self.admission.count(self, more)

    def add_bytes(self, num_bytes: int) -> None:
        """Add bytes of a body or of fetched media as they arrive; a request that is alone may add any number.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        more = Load(num_bytes=num_bytes)
        if self.admission.has_other_bodies():
            self.admission.check(self.tenant, more)
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
            self.admission.check(self.tenant, more)
        self.admission.count(self, more)


class HeldBody(Reservation, frozen=True, eq=False):
    """The same of a request whose body is held."""

    def close(self) -> None:
        """Give it back, once."""
        self.admission.count_body(-1)
        super().close()


class Admission:
    """Counts the work under way and refuses what exceeds the limits, which are those of all fronts together.

    A request that exceeds a limit by itself is accepted when it is alone, so nothing is refused for ever.

    Args:
        table: of all fronts.
        tenant_share: of each limit, that one tenant may hold.
        whole: the service's, where this is the queue of one of several models.
        prefix: of the names in the table.

    Attributes:
        load: all work under way at this front.
        rate: at which the engine empties the queue.
        num_bodies: requests whose bodies this front holds.
    """

    def __init__(
        self,
        limits: QueueLimits,
        table: SharedTable,
        tenant_share: float = 1.0,
        now: Callable[[], float] = time.monotonic,
        whole: "Admission | None" = None,
        prefix: str = "",
    ) -> None:
        self._table = table
        self._name = prefix + QUEUE
        self._limits = limits
        self._tenant_limits = limits.part(tenant_share)
        self._bulk_limits = limits.part(BULK_SHARE)
        self._tenant_bulk_limits = self._tenant_limits.part(BULK_SHARE)
        self.load = SharedLoad(table, self._name)
        self._by_tenant: dict[str, SharedLoad] = {}
        self.rate: QueueRate = QueueRate(table, now, None if whole is None else whole.rate, prefix)
        self.num_bodies = 0
        if whole is None:
            metrics.QUEUE_INPUTS.set_function(lambda: self.load.num_inputs)
            metrics.QUEUE_TOKENS.set_function(lambda: self.load.num_tokens)
            metrics.QUEUE_BYTES.set_function(lambda: self.load.num_bytes)

    def body(self, announced_bytes: int, tenant: Tenant = EVERYBODY) -> HeldBody:
        """Account for a request's body, from before it is read until the request is answered.

        Refuses before a byte is read if the queue is full or the announced bytes do not fit. Only received bytes are
        reserved (`add_bytes`): a client that announces much and sends little reserves little.

        Raises:
            UnavailableError: the queue is full, or too many bytes are held already.
        """
        self.check(tenant, ONE_MORE, Load(num_bytes=announced_bytes))
        self.count_body(1)
        return HeldBody(self, tenant)

    def count_body(self, sign: int) -> None:
        """Count a request whose body is held, or that it is no more."""
        self.num_bodies += sign
        self._table.publish(BODIES, self.num_bodies)

    def place(self, num_inputs: int, tenant: Tenant = EVERYBODY) -> Reservation:
        """Reserve space for inputs in the queue.

        Raises:
            UnavailableError: the queue is full.
        """
        load = Load(num_inputs=num_inputs)
        self.check(tenant, load)
        place = Reservation(self, tenant)
        self.count(place, load)
        return place

    def stream(self, tenant: Tenant = EVERYBODY) -> Reservation:
        """Account for a stream, whose bytes `hold` counts.

        Raises:
            UnavailableError: the queue is full.
        """
        self.check(tenant, ONE_MORE)
        return self.place(0, tenant)

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """Whether a stream may take more: the queue has enough space left for single requests."""
        mine_is_below = not tenant.name or self._mine(tenant).is_below(self._tenant_bulk_limits)
        return mine_is_below and self.load.whole().is_below(self._bulk_limits)

    def has_other_bodies(self) -> bool:
        """Whether more bodies are held than one, by any front."""
        return self.num_bodies + self._table.others(BODIES).first > 1

    def check(self, tenant: Tenant, *more: Load) -> None:
        """Pass when the queue has space for each of these loads of a tenant by itself.

        Raises:
            UnavailableError: the queue is full, or the tenant's share of it.
        """
        held, mine = self.load.whole(), self._mine(tenant) if tenant.name else None
        for one in more:
            if not held.has_room(one, self._limits):
                raise self._refusal("overloaded", "the queue holds", held, self._limits)
            if mine is not None and not mine.has_room(one, self._tenant_limits):
                raise self._refusal("rate_limit_exceeded", "this tenant holds", mine, self._tenant_limits)

    def _refusal(self, code: ErrorCode, who: str, now: Load, limits: QueueLimits) -> UnavailableError:
        most = f"{limits.max_inputs}, {limits.max_tokens} and {limits.max_bytes}"
        wait_s = self.rate.retry_after_s(self.load.whole().num_tokens)
        return UnavailableError(code, f"{who} {now}; the limits are {most}", retry_after_s=wait_s)

    def _mine(self, tenant: Tenant) -> Load:
        """What all fronts hold of a tenant."""
        return (self._by_tenant.get(tenant.name) or self._load_of(tenant)).whole()

    def count(self, mine: Reservation, load: Load, sign: int = 1) -> None:
        """Add a load to a reservation, its tenant and the whole, or subtract it."""
        num_before = self.load.num_tokens
        self.load.add(load, sign)
        if load.num_tokens:
            self._watch_rate(num_before)
        if name := mine.tenant.name:
            of_tenant = self._by_tenant.get(name)
            if of_tenant is None:
                of_tenant = self._by_tenant[name] = self._load_of(mine.tenant)
            of_tenant.add(load, sign)
            if of_tenant.is_nothing():  # idle tenants take no memory
                del self._by_tenant[name]
        mine.load.add(load, sign)  # last: it may be `load` itself

    def _watch_rate(self, num_before: int) -> None:
        """Measure the rate while there are tokens."""
        if not num_before:
            self.rate.begin()
        elif not self.load.num_tokens:
            self.rate.end()

    def _load_of(self, tenant: Tenant) -> SharedLoad:
        return SharedLoad(self._table, f"{self._name}/{tenant.name}")
