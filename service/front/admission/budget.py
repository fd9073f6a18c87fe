"""Budgets of what may be under way, and leases: a request takes its part before any work, and gives it back.

Above the service's limits every request is refused (`overloaded`), above a tenant's share those of the tenant
(`rate_limit_exceeded`), so that no tenant can take all. The limits are those of all fronts together. What exceeds a
limit by itself is accepted when it is alone, so nothing is refused indefinitely. Independent of HTTP and of the
engine's order.
"""

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from schemas.errors import ErrorCode
from service.errors import DeadlineError, UnavailableError
from service.front.admission.load import NOTHING, Load
from service.front.admission.shared_table import Published, Row, SharedTable
from service.front.tenant import SERVICE, Caller, Tenant

EVERYBODY = SERVICE.tenant
"""The one tenant of a server without keys: it has no share, only the bounds of all."""

BULK_SHARE = 0.5
"""Streams take more only while the queue, and the tenant's part of it, is less full than this: they can wait, and
single requests are never refused because of them."""

SMALL_BYTES = 1 << 17
"""Answers up to this size are not counted: a connection has one at a time, and connections are bounded."""

COUNT_DROPPED_EVERY_S = 1.0

RATE = "rate"
"""Its name in the table of all fronts."""

MIN_RETRY_S = 1.0
MAX_RETRY_S = 30.0
JITTER = 0.25
"""Spread of `Retry-After`, as a fraction, so that clients that were refused together do not come back together."""

MEMORY_S = 10.0
"""Time constant of the average: what is this old weighs a third (1/e)."""

FIRST_GUESS = 1000.0
"""Tokens per second before anything was measured; weighs as one second of measurements."""


class Kind(NamedTuple):
    """The kind of a budget.

    Attributes:
        name: in the table of all fronts.
        full: what is refused is told this, by what all hold, what came and the limits.
        share_is_full: the same of one tenant's.
        retry_s: when to come back; 0: when the tokens that wait are done.
    """

    name: str
    full: str
    share_is_full: str
    retry_s: float = 0.0


_HOLDS = "{held}; the limits are {most.num_inputs}, {most.num_tokens} and {most.num_bytes}"
_ANSWERS_HOLD = (
    "{held.num_bytes} bytes until they are taken, and this one would hold {more.num_bytes} more; the limit is "
    "{most.num_bytes}"
)

QUEUE = Kind("queue", f"the queue holds {_HOLDS}", f"this tenant holds {_HOLDS}")
"""Inputs and tokens until they are done, bytes of bodies and fetched media."""

ANSWERS = Kind("answers", f"answers hold {_ANSWERS_HOLD}", f"this tenant's answers hold {_ANSWERS_HOLD}", 2.0)
"""Bytes of large answers until their clients have received them. A client may read as slowly as the minimum rate, while
its vectors wait: a thousand such clients would hold gigabytes. Apart from the queue, so that slow readers never block
small answers."""


class DrainRate:
    """Tokens per second, as an exponential moving average. Encoding takes time too: the time between forwards counts.

    Measured only while the queue holds tokens: the health probes of an idle hour would make
    an engine look a hundred times slower than it is.

    Of several fronts each measures the whole service, for as long as its own queue holds tokens: it counts what the
    others have finished in that time, too.

    Args:
        now: a monotonic clock, in seconds.
        whole: the rate of all models, which is told what this one's engine finishes; None where this is it.
    """

    def __init__(
        self,
        table: SharedTable,
        now: Callable[[], float] = time.monotonic,
        whole: "DrainRate | None" = None,
        prefix: str = "",
    ) -> None:
        self._whole = whole
        self._now = now
        self._table = table
        self._name = prefix + RATE
        self._num_finished = 0
        self._num_theirs = 0  # finished by the others, when last looked
        self._measured_ns = 0
        self._tokens = FIRST_GUESS
        self._busy_s = 1.0
        self._is_running = False  # the queue holds tokens
        self._since_s = 0.0  # of the last measurement

    def clock(self, *, is_running: bool) -> None:
        """Start the clock when the queue gets tokens, or stop it when it has none left."""
        self._is_running, self._since_s = is_running, self._now()
        self._num_theirs = sum(one.first for one in self._table.others(self._name))

    def finished(self, num_tokens: int) -> None:
        """Count tokens that the engine has finished for this front."""
        if self._whole is not None:
            self._whole.finished(num_tokens)
        self._num_finished += num_tokens
        if self._is_running:
            now_s = self._now()
            passed_s, self._since_s = max(now_s - self._since_s, 1e-6), now_s
            kept = math.exp(-passed_s / MEMORY_S)
            num_before, self._num_theirs = self._num_theirs, sum(one.first for one in self._table.others(self._name))
            gained = max(0, self._num_theirs - num_before)  # below 0 where another front has died
            self._tokens = self._tokens * kept + num_tokens + gained
            self._busy_s = self._busy_s * kept + passed_s
            self._measured_ns = int(now_s * 1e9)
        per_s = self._tokens / self._busy_s
        self._table.publish(self._name, self._num_finished, round(per_s * 1e3), until_ns=self._measured_ns)

    @property
    def tokens_per_s(self) -> float:
        """Throughput of the engine while there is work, as the front has it that measured last."""
        latest = max(self._table.others(self._name), key=lambda one: one.until_ns, default=Published())
        return latest.second / 1e3 if latest.until_ns > self._measured_ns else self._tokens / self._busy_s

    def retry_after_s(self, num_tokens: int) -> float:
        """Seconds until so many tokens are done: 1 to 30, spread at random.

        Args:
            num_tokens: that wait now.
        """
        wait_s = num_tokens / max(self.tokens_per_s, 1e-6) * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
        spread_s = random.uniform(0, JITTER)  # noqa: S311  # spread also at the bounds
        return min(MAX_RETRY_S - spread_s, max(MIN_RETRY_S + spread_s, wait_s))


class Budget:
    """Counts what is under way, and refuses what exceeds the limits.

    Args:
        limits: of all fronts together.
        tenant_share: of each limit, that one tenant may hold, where there are keys.
        within: the service's, where this is of one of several models: what counts here counts there, too.

    Attributes:
        row: of all requests.
        outermost: the service's.
        rate: at which the engine empties it.
    """

    def __init__(
        self,
        kind: Kind,
        limits: Load,
        table: SharedTable,
        tenant_share: float = 1.0,
        now: Callable[[], float] = time.monotonic,
        within: "Budget | None" = None,
        prefix: str = "",
    ) -> None:
        self._kind = kind
        self._limits = limits
        self._tenant_limits = limits.part(tenant_share)
        self._table = table
        self._name = prefix + kind.name
        self.row = Row(table, self._name)
        self._rows = dict[str, Row]()  # of tenants that hold something
        self._within = within
        self.outermost: Budget = within or self
        self._dropped: deque[tuple[Tenant, Load]] = deque()
        self.rate: DrainRate = DrainRate(table, now, None if within is None else within.rate, prefix)

    @property
    def held(self) -> Load:
        """Load of this front, without what was dropped."""
        held = Load()
        held.add(self.row.held)
        for _, load in tuple(self._dropped):
            held.add(load, -1)
        return held

    def take(self, tenant: Tenant = EVERYBODY, more: Load = NOTHING, *also: Load) -> "Lease":
        """A lease of an amount.

        Args:
            more: to be counted.
            also: each has to fit by itself, and is not counted.

        Raises:
            UnavailableError: there is no room.
        """
        lease = Lease(self, tenant)
        lease.grow(more, *also)
        return lease

    def take_answer(self, num_bytes: int, tenant: Tenant, *, is_checked: bool = True) -> "Lease":
        """A lease of the bytes of an answer, which ends at the latest with its object; of none if it is small.

        Args:
            is_checked: refuse what exceeds the limits; not an answer that is there.

        Raises:
            UnavailableError: there is no room.
        """
        if num_bytes <= SMALL_BYTES:
            return Lease(self, tenant)
        self._count_dropped()
        lease = AnswerLease(self, tenant)
        lease.grow(Load(num_bytes=num_bytes), is_checked=is_checked)
        return lease

    def count(self, tenant: Tenant, more: Load, sign: int = 1, checked: Sequence[Load] = ()) -> None:
        """Add an amount to what all hold and what a tenant holds, or subtract it.

        Args:
            checked: for each of these there has to be room by itself.

        Raises:
            UnavailableError: there is none, or none in the tenant's share; then nothing is counted.
        """
        rows: list[tuple[Row, Load, ErrorCode, str]] = [(self.row, self._limits, "overloaded", self._kind.full)]
        if tenant.name:
            rows.append((self._row_of(tenant), self._tenant_limits, "rate_limit_exceeded", self._kind.share_is_full))
        for one in checked:
            for row, limits, code, words in rows:
                if not (held := row.whole()).has_room(one, limits):
                    retry_s = self._kind.retry_s or self.rate.retry_after_s(self.row.whole().num_tokens)
                    message = words.format(held=held, more=one, most=limits)
                    raise UnavailableError(code, message, retry_after_s=retry_s)
        if self._within is not None:
            self._within.count(tenant, more, sign, checked)
        num_before = self.row.held.num_tokens
        for row, *_ in rows:
            held = row.held
            held.add(more, sign)
            self._table.publish(row.name, held.num_inputs, held.num_tokens, held.num_bytes, held.num_bodies)
        if (num_before > 0) is not (self.row.held.num_tokens > 0):
            self.rate.clock(is_running=not num_before)
        if tenant.name:
            self._rows[tenant.name] = row_of_tenant = rows[1][0]
            if row_of_tenant.held.is_nothing():  # idle tenants take no memory
                del self._rows[tenant.name]

    def has_inputs(self) -> bool:
        """True if anybody's inputs are under way."""
        return (self._within or self).row.whole().num_inputs > 0

    def has_bulk_room(self, tenant: Tenant) -> bool:
        """True if a stream may take more: there is enough space left for single requests."""
        if tenant.name and not self._row_of(tenant).whole().is_below(self._tenant_limits.part(BULK_SHARE)):
            return False
        has_room = self.row.whole().is_below(self._limits.part(BULK_SHARE))
        return has_room and (self._within is None or self._within.has_bulk_room(tenant))

    def drop(self, tenant: Tenant, load: Load) -> None:
        """Give back what a lease held, from any thread or a finalizer; counted at the next answer, or by `watch`."""
        self._dropped.append((tenant, load))

    async def watch(self) -> None:
        """Count what was dropped, every second, until cancelled: other fronts need the room though this one is idle."""
        while True:
            await asyncio.sleep(COUNT_DROPPED_EVERY_S)
            self._count_dropped()

    def _count_dropped(self) -> None:
        while self._dropped:
            self.count(*self._dropped.popleft(), -1)

    def _row_of(self, tenant: Tenant) -> Row:
        return self._rows.get(tenant.name) or Row(self._table, f"{self._name}/{tenant.name}")


@dataclass(eq=False)
class Lease:
    """The part of a budget that one request holds, until `close` or the end of a `with`.

    Attributes:
        held: so far.
    """

    budget: Budget
    tenant: Tenant
    held: Load = field(default_factory=Load, init=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()

    def grow(self, more: Load, *also: Load, is_checked: bool = True) -> None:
        """Add an amount that is known now.

        Args:
            also: each has to fit by itself, and is not counted.
            is_checked: refuse what exceeds the limits; not of a request of which some has run.

        Raises:
            UnavailableError: there is no room.
        """
        self.budget.count(self.tenant, more, checked=(more, *also) if is_checked else ())
        self.held.add(more)

    def add_bytes(self, num_bytes: int) -> None:
        """Add bytes of a body or of fetched media as they arrive; a request that is alone may add any number.

        Raises:
            UnavailableError: too many bytes are held already.
        """
        is_alone = self.budget.outermost.row.whole().num_bodies < 2
        self.grow(Load(num_bytes=num_bytes), is_checked=not is_alone)

    def keep(self, num_bytes: int) -> None:
        """Hold so many bytes of an answer from now on, fewer than before."""
        counted = num_bytes if num_bytes > SMALL_BYTES else 0
        self.grow(Load(num_bytes=counted - self.held.num_bytes), is_checked=False)

    def close(self) -> None:
        """Give it back."""
        given, self.held = self.held, Load()
        self.budget.count(self.tenant, given, -1)


class AnswerLease(Lease):
    """A lease of the bytes of a large answer, which ends at the latest with its object."""

    def __del__(self) -> None:
        """Give back the rest of what was dropped without `close`."""
        if self.held.num_bytes:  # in any thread, or inside a garbage collection
            self.budget.drop(self.tenant, self.held)


@dataclass(eq=False)
class TimedLease(Lease):
    """A lease that ends by the caller's deadline at the latest, by a `DeadlineError`; for a `with`.

    `asyncio.timeout` with a generator around it costs a short request twice as much; cancellation is counted as there.

    Attributes:
        caller: whose it is, and until when.
        timeout_s: the service's own limit.
    """

    caller: Caller
    timeout_s: float

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        assert task is not None  # of a request
        self._is_over = False
        self._task, self._num_cancelling = task, task.cancelling()
        seconds = min(self.timeout_s, self.caller.deadline_s - time.monotonic())
        self._timer = task.get_loop().call_later(max(0.0, seconds), self._end)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Give it back.

        Raises:
            DeadlineError: the `with` was left because time is up.
        """
        self._timer.cancel()
        self.close()
        if self._is_over and self._task.uncancel() <= self._num_cancelling and kind is asyncio.CancelledError:
            patience_s = self.caller.patience_s
            message = f"no answer within {min(self.timeout_s, patience_s):g} s"
            raise DeadlineError(message, is_final=patience_s < self.timeout_s) from None

    def _end(self) -> None:
        """Time is up."""
        self._is_over = True
        self._task.cancel()
