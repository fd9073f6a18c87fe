"""A queue that tenants share fairly, and within each tenant its requests over HTTP.

Over tenants: deficit round robin. A tenant that waits gets its quantum each round, however much the others have queued;
what it does not spend it keeps until its queue is empty. Within a tenant: what came together goes together, in the
order in which it would end if all requests were served at once, each at the same rate. So a small request passes a
large one, equal ones keep their order, and none starves. Knows neither tokens nor clocks.

Source: M. Shreedhar and G. Varghese, "Efficient Fair Queueing Using Deficit Round Robin", SIGCOMM 1995; E. Friedman and
S. Henderson, "Fairness and efficiency in web server protocols", SIGMETRICS 2003.
"""

import heapq
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class Party(Generic[T]):
    """A request over HTTP with things that wait.

    Attributes:
        tag: of its last bundle: what each party will have been served when that ends, were they served evenly.
        bundle: the number of that bundle.
        unserved: part of its bundles' cost that was not served, and may never be: some need no step after all.
        things: those of its last bundle that wait, each with its cost.
        num_waiting: all of its things that wait.
    """

    tag: float
    bundle: int
    unserved: int
    things: deque[tuple[int, T]] = field(default_factory=deque)
    num_waiting: int = 0

    def add(self, cost: int, thing: T) -> None:
        """Put a thing behind those of its last bundle."""
        self.things.append((cost, thing))
        self.num_waiting += 1


class Queued(NamedTuple, Generic[T]):
    """The things of a bundle that wait. Heaps compare it as the tuple that it is, which Python does by itself.

    Attributes:
        tag: its order among its tenant's; `number` decides between equal tags.
        number: how many came before it, so no two have the same.
        things: one at least, each with its cost.
    """

    tag: float
    number: int
    party: int
    things: deque[tuple[int, T]]


@dataclass(slots=True)
class Line(Generic[T]):
    """One tenant's part of the queue.

    Attributes:
        credit: what it may still spend before the next tenant's turn.
        given: what each of its parties was served, were they served evenly.
        parties: those with things that wait.
        tags: of those that have none, but still would, were they served evenly: they go on from there if more comes.
        ended: a heap of these tags, each with its party; one that has come back may stand there still.
        waiting: a heap.
    """

    credit: int
    given: float = 0.0
    parties: dict[int, Party[T]] = field(default_factory=dict)
    tags: dict[int, float] = field(default_factory=dict)
    ended: list[tuple[float, int]] = field(default_factory=list)
    waiting: list[Queued[T]] = field(default_factory=list)

    @property
    def first_cost(self) -> int:
        """Of what `take` gives next."""
        return self.waiting[0].things[0][0]

    def add(self, cost: int, thing: T, number: int, bundle: int, bundle_cost: int, numbers: Iterator[int]) -> Party[T]:
        """Queue a thing of the party of that number behind those of its bundle that wait, and return the party."""
        party = self.parties.get(number)
        if party is None:
            start = max(self.given, self.tags.pop(number, 0.0))
            party = self.parties[number] = Party(start + bundle_cost, bundle, bundle_cost)
        elif party.bundle != bundle:
            party.tag, party.bundle = max(self.given, party.tag) + bundle_cost, bundle
            party.unserved += bundle_cost
            party.things = deque()
        if not party.things:
            heapq.heappush(self.waiting, Queued(party.tag, next(numbers), number, party.things))
        party.add(cost, thing)
        return party

    def take_while(self, fits: Callable[[int, T], bool], most: int) -> list[T]:
        """Remove things of the first bundle, as long as they are paid for and fit, and charge their costs.

        Args:
            fits: asked for each, by its cost and itself.
            most: how many may be taken.
        """
        first = self.waiting[0]
        party, num_sharing = self.parties[first.party], len(self.parties)
        taken: list[T] = []
        while first.things and len(taken) < most:
            cost, thing = first.things[0]
            if cost > self.credit or not fits(cost, thing):
                break
            first.things.popleft()
            taken.append(thing)
            self.credit -= cost
            self.given += cost / (num_sharing + len(self.tags))
            party.unserved -= cost
            while self.ended and self.ended[0][0] <= self.given:
                tag, number = heapq.heappop(self.ended)
                if self.tags.get(number) == tag:
                    del self.tags[number]
        if not first.things:
            heapq.heappop(self.waiting)
        self.leave(first.party, len(taken))
        return taken

    def leave(self, number: int, num_things: int) -> None:
        """Count things of a party no longer."""
        party = self.parties[number]
        party.num_waiting -= num_things
        if not party.num_waiting:
            del self.parties[number]
            if (tag := party.tag - max(0, party.unserved)) > self.given:
                self.tags[number] = tag
                heapq.heappush(self.ended, (tag, number))

    def keep(self, is_kept: Callable[[T], bool]) -> None:
        """Forget every other thing."""
        for queued in self.waiting:
            kept = [one for one in queued.things if is_kept(one[1])]
            if num_gone := len(queued.things) - len(kept):
                queued.things.clear()
                queued.things.extend(kept)
                self.leave(queued.party, num_gone)
        self.waiting = [queued for queued in self.waiting if queued.things]
        heapq.heapify(self.waiting)


class FairQueue(Generic[T]):
    """Things of many tenants.

    Attributes:
        quantum: cost that one turn is worth. The smaller, the finer the shares; the larger, the fewer turns.
    """

    def __init__(self, quantum: int) -> None:
        self.quantum = quantum
        self._lines: OrderedDict[str, Line[T]] = OrderedDict()
        self._numbers = count()
        self._last: Party[T] | None = None  # that something was queued for

    def __len__(self) -> int:
        return sum(party.num_waiting for line in self._lines.values() for party in line.parties.values())

    def __bool__(self) -> bool:
        return bool(self._lines)

    def __iter__(self) -> Iterator[T]:
        return (thing for line in self._lines.values() for queued in line.waiting for _, thing in queued.things)

    def add(self, tenant: str, cost: int, thing: T, party: int = 0, bundle: int = 0, bundle_cost: int = 0) -> None:
        """Queue a thing; a tenant that had none has its turn last.

        Args:
            tenant: whose share it takes.
            cost: of the thing.
            thing: what waits.
            party: the request over HTTP that it is of.
            bundle: the number of what came together with it, which nothing else has; without one, things keep the order
                in which they came.
            bundle_cost: of all of that.
        """
        last = self._last
        if bundle and last is not None and last.bundle == bundle and last.things:  # as hundreds of a large request
            last.add(cost, thing)
            return
        line = self._lines.get(tenant)
        if line is None:
            line = self._lines[tenant] = Line(credit=self.quantum)
        self._last = line.add(cost, thing, party, bundle, bundle_cost, self._numbers)

    def peek(self) -> tuple[int, T]:
        """Return what `take` gives next, with its cost. The queue must not be empty.

        The next thing is the first of the first tenant in turn that can pay for it.
        """
        return self._first_line().waiting[0].things[0]

    def _first_line(self) -> Line[T]:
        while True:
            tenant = next(iter(self._lines))
            line = self._lines[tenant]
            if line.credit >= line.first_cost:
                return line
            line.credit += self.quantum  # for its next turn
            self._lines.move_to_end(tenant)

    def take(self) -> T:
        """Remove the next thing. The queue must not be empty."""
        (thing,) = self._take_from(self._first_line(), lambda *_: True, 1)
        return thing

    def take_while(self, fits: Callable[[int, T], bool]) -> list[T]:
        """Remove the next things until one does not fit, by its cost and itself, or none is left."""
        taken: list[T] = []
        while self._lines:
            some = self._take_from(self._first_line(), fits, sys.maxsize)
            if not some:
                break
            taken += some
        return taken

    def _take_from(self, line: Line[T], fits: Callable[[int, T], bool], most: int) -> list[T]:
        taken = line.take_while(fits, most)
        if not line.waiting:  # credit is not saved up while idle
            self._lines.popitem(last=False)
        return taken

    def keep(self, is_kept: Callable[[T], bool]) -> None:
        """Forget everything else."""
        for tenant, line in list(self._lines.items()):
            line.keep(is_kept)
            if not line.waiting:
                del self._lines[tenant]
