"""Weighted fair queueing of work that cannot be interrupted: over tenants, and within each over its requests.

A new piece of work gets a finish tag: its cost, added to the cost that each party has been served so far, or to the
last tag of its own request if that is higher. The lowest tag is next. So parties that had little pass parties that had
much, small pieces pass large ones, and none starves, since later tags rise with every piece taken. Work that turns out
to cost more is charged afterwards, and its tenant owes that until others have had as much. Uses no clock and no event
loop.

Source: A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989.
"""

import heapq
from asyncio import Future
from collections.abc import Container
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from service.fairness.party import Party


class Waiter(Protocol):
    """A piece of work that waits for its turn; once that is cancelled, nobody waits for it any more."""

    @property
    def turn(self) -> Future[Any]:
        """Set when it is its turn."""
        ...


T = TypeVar("T", bound=Waiter)

MAX_OWED = 1024
"""Tenants after whom those are forgotten that owe nothing any more."""


@dataclass(slots=True)
class Queued(Generic[T]):
    """A waiting piece of work.

    Attributes:
        tag: its order among its tenant's entries; `number` decides between equal tags.
        number: how many came before it.
        cost: in any unit.
        party: the request and tenant it belongs to.
        thing: the work.
    """

    tag: float
    number: int
    cost: int
    party: Party
    thing: T

    def __lt__(self, other: "Queued[T]") -> bool:
        return (self.tag, self.number) < (other.tag, other.number)


@dataclass(slots=True)
class TenantLine(Generic[T]):
    """The waiting work of one tenant.

    Attributes:
        tag: the tenant's tag among all tenants, as of the last piece taken.
        given: the cost that each of its requests has been served.
        last: the last tag of each of its requests with waiting work.
        waiting: a heap.
        owed: what was charged afterwards.
    """

    tag: float
    given: float = 0.0
    last: dict[int, float] = field(default_factory=dict)
    waiting: list[Queued[T]] = field(default_factory=list)
    owed: float = 0.0


class FairOrder(Generic[T]):
    """Waiting work of many parties."""

    def __init__(self) -> None:
        self._lines: dict[str, TenantLine[T]] = {}
        self._given = 0.0
        self._owed: dict[str, float] = {}  # by tenants without waiting work, as a tag
        self._numbers = count()

    def __bool__(self) -> bool:
        return bool(self._lines)

    def add(self, party: Party, cost: int, thing: T) -> None:
        """Add a piece of work."""
        line = self._lines.get(party.tenant)
        if line is None:
            start = max(self._given, self._owed.pop(party.tenant, 0.0))
            line = self._lines[party.tenant] = TenantLine(start, owed=start - self._given)
        tag = max(line.given, line.last.get(party.request, 0.0)) + cost
        line.last[party.request] = tag
        heapq.heappush(line.waiting, Queued(tag, next(self._numbers), cost, party, thing))

    def peek(self, without: Container[str] = ()) -> Queued[T] | None:
        """The next entry that somebody waits for, of tenants that are not in `without`; None when there is none."""
        for line in list(self._lines.values()):
            while line.waiting and (first := line.waiting[0]).thing.turn.cancelled():
                self.drop(first)  # nobody is served, so nobody is charged
        lines = [(line.tag + line.waiting[0].cost, line) for name, line in self._lines.items() if name not in without]
        return min(lines, key=lambda pair: pair[0])[1].waiting[0] if lines else None

    def take(self, entry: Queued[T]) -> T:
        """Remove a tenant's first entry, which `peek` has just returned, and charge its cost."""
        line = self._lines[entry.party.tenant]
        line.tag += entry.cost
        line.given += entry.cost / len(line.last)
        self._given += entry.cost / len(self._lines)
        return self.drop(entry)

    def drop(self, entry: Queued[T]) -> T:
        """Remove a tenant's first entry without a charge."""
        tenant, request = entry.party.tenant, entry.party.request
        line = self._lines[tenant]
        heapq.heappop(line.waiting)
        if line.last[request] <= entry.tag:
            del line.last[request]
        if not line.waiting:  # an idle tenant keeps no credit, and of its debt only what was charged afterwards
            del self._lines[tenant]
            self._owe(tenant, min(line.tag, self._given + line.owed))
        return entry.thing

    def charge(self, party: Party, cost: float) -> None:
        """Charge a party for what it had beyond the cost that was known, or below 0 for what it had less."""
        if not self._lines and not self._owed:  # nobody to compare with
            self._given += cost
            return
        line = self._lines.get(party.tenant)
        owed = max(self._given, self._owed.get(party.tenant, 0.0)) + cost
        self._given += cost / (len(self._lines) + (line is None))
        if line is None:
            self._owe(party.tenant, owed)
            return
        line.tag += cost
        line.owed += cost
        line.given += cost / len(line.last)
        if party.request in line.last:  # or a newcomer, who starts at `given`, would wait for all that it has waiting
            line.last[party.request] += cost
            for queued in line.waiting:
                if queued.party.request == party.request:
                    queued.tag += cost
            heapq.heapify(line.waiting)

    def _owe(self, tenant: str, tag: float) -> None:
        if tag > self._given:
            self._owed[tenant] = tag
        if len(self._owed) > MAX_OWED:
            self._owed = {name: owed for name, owed in self._owed.items() if owed > self._given}
