"""Which asks of the items that were read are still to be asked: neither done, nor dead, nor under way."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

from service.ingest.errors import Reason
from service.ingest.item import Ask, BadRecord, Failure, Item
from service.ingest.ledger import Done, Ledger
from service.ingest.plan import Plan
from service.ingest.progress import Counts
from service.ingest.version import is_other, is_other_content

CHANGED = (
    "this id was embedded with other content, in this run or a former one; give the item another id, or start anew "
    "with another ledger and another sink"
)


class Chooser:
    """Compares items with the ledger, and with those whose points are on their way to it."""

    def __init__(self, plan: Plan, instructions: Sequence[str | None], ledger: Ledger, counts: Counts) -> None:
        self._plan = plan
        self._instructions = instructions
        self._ledger = ledger
        self._counts = counts
        self._under_way: dict[UUID, Done] = {}

    async def choose(self, read: Sequence[Item | BadRecord]) -> tuple[list[list[Ask]], list[Failure]]:
        """What to ask, an entry for each item that has anything to ask, and what fails at once.

        What is chosen counts as under way until `landed`.
        """
        asks = [self._asks(item) for item in read]
        others = await self._other_contents(read, asks)
        known = self._known(asks)  # from here on nothing lands
        chosen: list[list[Ask]] = []
        failures: list[Failure] = []
        for item, group in zip(read, asks, strict=True):
            if isinstance(item, BadRecord):
                failures += [Failure(ask, item.reason) for ask in group if ask.point not in known]
                continue
            found = self._found(group, known)
            done = [one for one in found.values() if one is not None]
            is_changed = is_other(item, [one.version for one in done])
            if is_changed or (is_changed is None and item.id in others):
                failures += self._changed(item)
                continue
            new = [ask for ask in group if ask.point not in found]
            self._under_way |= {ask.point: Done(item.version, is_new=True) for ask in new}
            self._counts.already += sum(not one.is_new for one in done)
            self._counts.repeated += sum(one.is_new for one in done)
            chosen += [new] if new else []
        return chosen, failures

    async def _other_contents(self, read: Sequence[Item | BadRecord], asks: Sequence[Sequence[Ask]]) -> set[str]:
        """Ids of those whose file was touched and holds something else; others are not read."""
        known, touched = self._known(asks), {}
        for item, group in zip(read, asks, strict=True):
            versions = [one.version for one in self._found(group, known).values() if one is not None]
            if isinstance(item, Item) and is_other(item, versions) is None:
                touched[item.id] = (item, versions)
        if not touched:
            return set()
        return await asyncio.to_thread(lambda: {id_ for id_, one in touched.items() if is_other_content(*one)})

    def _known(self, asks: Sequence[Sequence[Ask]]) -> dict[UUID, Done | None]:
        return self._ledger.known([ask.point for group in asks for ask in group])

    def _found(self, group: Sequence[Ask], known: Mapping[UUID, Done | None]) -> dict[UUID, Done | None]:
        """Points of an item that are done, dead (None) or under way."""
        points = [ask.point for ask in group]
        found = {point: known[point] for point in points if point in known}
        return found | {point: self._under_way[point] for point in points if point in self._under_way}

    def landed(self, points: Sequence[UUID]) -> None:
        """These are in the ledger now."""
        for point in points:
            self._under_way.pop(point, None)

    def _asks(self, item: Item | BadRecord) -> list[Ask]:
        if isinstance(item, BadRecord):  # one failure, whatever it would have been asked
            item = Item(item.id, b"", 0)
            return [Ask(item, None, self._plan.point_id(f"bad record: {item.id}", None))]
        return [Ask(item, each, self._plan.point_id(item.id, each)) for each in self._instructions]

    def _changed(self, item: Item) -> list[Failure]:
        """One failure under a point of its own: the points under this id stay what they are."""
        point = self._plan.point_id(f"changed: {item.id} {item.version.hex()}", None)
        if self._ledger.known([point]):
            return []
        return [Failure(Ask(item, None, point), Reason("content_changed", CHANGED))]
