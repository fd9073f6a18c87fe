"""Queues that tenants share fairly, and within each tenant its requests: for steps of the engine, and turns before it.

Over tenants: each has a tag, the cost that it was served, and the lowest after its next thing is next. Who comes back
starts at what each was served on average. So a tenant with little passes one with much, small things pass large ones,
and none starves, since tags rise with everything that is taken. What turns out to cost more is charged afterwards, and
its tenant owes that until others have had as much.

Within a tenant: what came together goes together, in the order in which it would end if all requests were served at
once, each at the same rate. So a small request passes a large one, equal ones keep their order. Has no clock.

Source: A. Demers, S. Keshav, S. Shenker, "Analysis and simulation of a fair queueing algorithm", SIGCOMM 1989;
E. Friedman, S. Henderson, "Fairness and efficiency in web server protocols", SIGMETRICS 2003.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Container, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from secrets import randbits
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec

T = TypeVar("T")


class Party(msgspec.Struct, frozen=True):
    """A request and its tenant.

    Attributes:
        tenant: name of the tenant, whose requests have one share together.
        request: a number of its own for each request; requests of a tenant share evenly.
    """

    tenant: str
    request: int


NOBODY = Party("", 0)
"""The service itself."""

CURRENT_PARTY: ContextVar[Party] = ContextVar("party", default=NOBODY)
"""The party that this task works for."""

_NUMBERS = count(1 + randbits(48))
"""Several fronts share an engine: their numbers should differ."""


def open_party(tenant: str) -> None:
    """Begin a new request of a tenant in this task."""
    CURRENT_PARTY.set(Party(tenant, next(_NUMBERS)))


MAX_OWED = 1024
"""Tenants after whom those are forgotten that owe nothing any more."""


@dataclass(slots=True)
class RequestShare(Generic[T]):
    """A request with things that wait.

    Attributes:
        tag: of its last bundle: what each request will have been served when that ends, were they served evenly.
        bundle: the number of that bundle.
        unserved: part of its bundles' cost that was not served, and may never be: some need no step after all.
        things: those of its last bundle that wait, each with its cost.
    """

    tag: float
    bundle: int
    unserved: int = 0
    things: deque[tuple[int, T]] = field(default_factory=deque)
    num_waiting: int = 0


class QueuedBundle(NamedTuple, Generic[T]):
    """The things of a bundle that wait. Heaps compare it as the tuple that it is, which Python does by itself.

    Attributes:
        tag: its order among its tenant's; `number` decides between equal tags.
        number: how many came before it, so no two have the same.
        things: one at least, each with its cost.
    """

    tag: float
    number: int
    request: int
    things: deque[tuple[int, T]]


@dataclass(slots=True)
class TenantQueue(Generic[T]):
    """One tenant's part of the queue.

    Attributes:
        tag: its tag among tenants.
        owed: what it began with above the average, and was charged afterwards.
        given: what each of its requests was served, were they served evenly.
        tags: of those that have none, but still would, were they served evenly: they go on from there if more comes.
        ended: a heap of these tags, each with its request; one that has come back may stand there still.
        waiting: a heap.
    """

    name: str
    tag: float
    owed: float
    given: float = 0.0
    requests: dict[int, RequestShare[T]] = field(default_factory=dict)
    tags: dict[int, float] = field(default_factory=dict)
    ended: list[tuple[float, int]] = field(default_factory=list)
    waiting: list[QueuedBundle[T]] = field(default_factory=list)

    def give(self, cost: float) -> None:
        """Count what was served, or charged."""
        self.tag += cost
        self.given += cost / (len(self.requests) + len(self.tags))
        while self.ended and self.ended[0][0] <= self.given:
            tag, number = heapq.heappop(self.ended)
            if self.tags.get(number) == tag:
                del self.tags[number]

    def delay(self, request: int, cost: float) -> None:
        """Raise the tags of a request: or a newcomer, who starts at `given`, would wait for all that it has waiting."""
        if (share := self.requests.get(request)) is not None:
            share.tag += cost
            self.waiting = [one._replace(tag=one.tag + cost * (one.request == request)) for one in self.waiting]
            heapq.heapify(self.waiting)


class FairQueue(Generic[T]):
    """Things of many tenants, whose costs are known.

    A tenant's part is shared also with requests that have ended before they would have, were all served evenly. So
    small requests pass however many large ones wait.
    """

    _counts_ended = True

    def __init__(self) -> None:
        self._tenants: dict[str, TenantQueue[T]] = {}
        self._given = 0.0  # what each tenant was served on average
        self._owed: dict[str, float] = {}  # by tenants without waiting things, as a tag
        self._numbers = count()
        self._num_waiting = 0

    def __len__(self) -> int:
        return self._num_waiting

    def __iter__(self) -> Iterator[T]:
        tenants = self._tenants.values()
        return (thing for tenant in tenants for bundle in tenant.waiting for _, thing in bundle.things)

    def add(self, tenant: str, request: int, cost: int, thing: T, bundle: int = 0, bundle_cost: int = 0) -> None:
        """Queue a thing.

        Args:
            tenant: whose share it takes.
            request: the number of the request that it is of.
            cost: of the thing, in any unit.
            bundle: the number of what came together with it, which nothing else has; 0 if nothing did.
            bundle_cost: of all of that.
        """
        queue = self._tenants.get(tenant)
        if queue is None:
            start = max(self._given, self._owed.pop(tenant, 0.0))
            queue = self._tenants[tenant] = TenantQueue(tenant, start, start - self._given)
        share = queue.requests.get(request)
        if share is None:
            share = queue.requests[request] = RequestShare(queue.tags.pop(request, 0.0), -1)
        if share.bundle != bundle or not bundle:
            bundle_cost = bundle_cost or cost
            share.tag, share.bundle, share.things = max(queue.given, share.tag) + bundle_cost, bundle, deque()
            share.unserved += bundle_cost
        if not share.things:
            heapq.heappush(queue.waiting, QueuedBundle(share.tag, next(self._numbers), request, share.things))
        share.things.append((cost, thing))
        share.num_waiting += 1
        self._num_waiting += 1

    def take(self) -> T:
        """Remove the next thing, and charge its cost. The queue must not be empty."""
        queue = self._next()
        assert queue is not None
        return self._remove(queue, queue.waiting[0])

    def take_while(self, fits: Callable[[int, T], bool]) -> list[T]:
        """Remove the next things until one does not fit, by its cost and itself, and charge their costs."""
        taken: list[T] = []
        while (queue := self._next()) is not None and fits(*queue.waiting[0].things[0]):
            taken.append(self._remove(queue, queue.waiting[0]))
        return taken

    def keep(self, is_kept: Callable[[T], bool]) -> None:
        """Forget everything else."""
        for queue in list(self._tenants.values()):
            for bundle in list(queue.waiting):
                gone = [one for one in bundle.things if not is_kept(one[1])]
                kept = [one for one in bundle.things if is_kept(one[1])] if gone else []
                if gone:
                    bundle.things.clear()
                    bundle.things.extend((*gone, *kept))
                for _ in gone:
                    self._remove(queue, bundle, is_served=False)

    def _next(self, without: Container[str] = ()) -> TenantQueue[T] | None:
        """The tenant whose first thing is next."""
        tenants: Collection[TenantQueue[T]] = self._tenants.values()
        if without:
            tenants = [queue for queue in tenants if queue.name not in without]
        if len(tenants) < 2:
            return next(iter(tenants), None)
        return min(tenants, key=lambda queue: queue.tag + queue.waiting[0].things[0][0], default=None)

    def _remove(self, queue: TenantQueue[T], bundle: QueuedBundle[T], *, is_served: bool = True) -> T:
        """Remove the first thing of a bundle."""
        cost, thing = bundle.things.popleft()
        share = queue.requests[bundle.request]
        if is_served:
            self._given += cost / len(self._tenants)
            queue.give(cost)
            share.unserved -= cost
        if not bundle.things:
            if queue.waiting[0] is bundle:
                heapq.heappop(queue.waiting)
            else:
                queue.waiting.remove(bundle)
                heapq.heapify(queue.waiting)
        self._num_waiting -= 1
        share.num_waiting -= 1
        if not share.num_waiting:
            del queue.requests[bundle.request]
            if self._counts_ended and (tag := share.tag - max(0, share.unserved)) > queue.given:
                queue.tags[bundle.request] = tag
                heapq.heappush(queue.ended, (tag, bundle.request))
        if not queue.requests:  # an idle tenant keeps no credit, and of its debt only what was charged afterwards
            del self._tenants[queue.name]
            if (owed := min(queue.tag, self._given + queue.owed)) > self._given:
                self._owe(queue.name, owed)
        return thing

    def _owe(self, tenant: str, tag: float) -> None:
        self._owed[tenant] = tag
        if len(self._owed) > MAX_OWED:
            self._owed = {name: owed for name, owed in self._owed.items() if owed > self._given}


class Cancellable(Protocol):
    """A future. Not asyncio's by name: the engine's scheduler imports this module."""

    def cancelled(self) -> bool:
        """True if nobody waits for it any more."""
        ...


class Waiter(Protocol):
    """Work that waits for its turn."""

    @property
    def party(self) -> Party:
        """The request and tenant it belongs to."""
        ...

    @property
    def cost(self) -> int:
        """In any unit."""
        ...

    @property
    def turn(self) -> Cancellable:
        """Set when it is its turn."""
        ...


W = TypeVar("W", bound=Waiter)


class TurnQueue(FairQueue[W]):
    """Work that has turns one by one, and costs that may turn out to be others.

    A tenant's part is shared by the requests that wait. So no load of small ones keeps a large one for long.
    """

    _counts_ended = False

    def peek(self, without: Container[str] = ()) -> W | None:
        """The next that somebody waits for, of tenants that are not in `without`; None when there is none."""
        for queue in list(self._tenants.values()):
            while queue.waiting and queue.waiting[0].things[0][1].turn.cancelled():
                self._remove(queue, queue.waiting[0], is_served=False)
        found = self._next(without)
        return None if found is None else found.waiting[0].things[0][1]

    def leave(self, first: W, *, is_served: bool) -> None:
        """Remove what `peek` has just returned; charge its cost if it is served."""
        queue = self._tenants[first.party.tenant]
        self._remove(queue, queue.waiting[0], is_served=is_served)

    def charge(self, party: Party, cost: float) -> None:
        """Charge a party for what it had beyond the cost that was known, or below 0 for what it had less."""
        if not self._tenants and not self._owed:  # nobody to compare with
            self._given += cost
            return
        queue = self._tenants.get(party.tenant)
        owed = max(self._given, self._owed.get(party.tenant, 0.0)) + cost
        self._given += cost / (len(self._tenants) + (queue is None))
        if queue is not None:
            queue.give(cost)
            queue.owed += cost
            queue.delay(party.request, cost)
        elif owed > self._given:
            self._owe(party.tenant, owed)
