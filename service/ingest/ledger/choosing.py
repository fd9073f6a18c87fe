"""Chooses the asks of items that are neither done, nor failed, nor in work."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import UUID

from service.ingest.errors import FailureReason
from service.ingest.item import Ask, BadRecord, FailedAsk, SourceItem
from service.ingest.ledger.ledger import KnownPoint, Ledger
from service.ingest.plan import Plan
from service.ingest.progress import RunCounts
from service.ingest.sending.version import is_other, is_other_content

CHANGED = (
    "this id was embedded with other content, in this run or a former one; give the item another id, or start anew "
    "with another ledger and another sink"
)


class Chooser:
    """Compares items with the ledger, and with points that are being embedded."""

    def __init__(self, plan: Plan, instructions: Sequence[str | None], ledger: Ledger, counts: RunCounts) -> None:
        self._plan = plan
        self._instructions = instructions
        self._ledger = ledger
        self._counts = counts
        self._in_work: dict[UUID, KnownPoint] = {}

    async def choose(self, read: Sequence[SourceItem | BadRecord]) -> tuple[list[list[Ask]], list[FailedAsk]]:
        """Asks to send, one list for each item that has any, and failures. Chosen asks are in work until `landed`."""
        asks = [self._asks(item) for item in read]
        others = await self._other_contents(read, asks)
        known = self._known(asks)  # from here on nothing lands
        chosen: list[list[Ask]] = []
        failures: list[FailedAsk] = []
        for item, group in zip(read, asks, strict=True):
            if isinstance(item, BadRecord):
                failures += [FailedAsk(ask, item.reason) for ask in group if ask.point not in known]
                continue
            found = self._found(group, known)
            done = [one for one in found.values() if one is not None]
            is_changed = is_other(item, [one.version for one in done])
            if is_changed or (is_changed is None and item.id in others):
                failures += self._changed(item)
                continue
            new = [ask for ask in group if ask.point not in found]
            self._in_work |= {ask.point: KnownPoint(item.version, is_new=True) for ask in new}
            self._counts.already += sum(not one.is_new for one in done)
            self._counts.repeated += sum(one.is_new for one in done)
            chosen += [new] if new else []
        return chosen, failures

    async def _other_contents(self, read: Sequence[SourceItem | BadRecord], asks: Sequence[Sequence[Ask]]) -> set[str]:
        """Ids of items whose file has a new modification time and other content; other files are not read."""
        known, touched = self._known(asks), {}
        for item, group in zip(read, asks, strict=True):
            versions = [one.version for one in self._found(group, known).values() if one is not None]
            if isinstance(item, SourceItem) and is_other(item, versions) is None:
                touched[item.id] = (item, versions)
        if not touched:
            return set()
        return await asyncio.to_thread(lambda: {id_ for id_, one in touched.items() if is_other_content(*one)})

    def _known(self, asks: Sequence[Sequence[Ask]]) -> dict[UUID, KnownPoint | None]:
        return self._ledger.known([ask.point for group in asks for ask in group])

    def _found(self, group: Sequence[Ask], known: Mapping[UUID, KnownPoint | None]) -> dict[UUID, KnownPoint | None]:
        """Points of an item that are done, failed (None) or in work."""
        points = [ask.point for ask in group]
        found = {point: known[point] for point in points if point in known}
        return found | {point: self._in_work[point] for point in points if point in self._in_work}

    def landed(self, points: Sequence[UUID]) -> None:
        """Note that these points are in the ledger."""
        for point in points:
            self._in_work.pop(point, None)

    def _asks(self, item: SourceItem | BadRecord) -> list[Ask]:
        if isinstance(item, BadRecord):  # one failure, whatever the instructions
            item = SourceItem(item.id, b"", 0)
            return [Ask(item, None, self._plan.point_id(f"bad record: {item.id}", None))]
        return [Ask(item, each, self._plan.point_id(item.id, each)) for each in self._instructions]

    def _changed(self, item: SourceItem) -> list[FailedAsk]:
        """One failure with a point of its own, so that the points of this id stay as they are."""
        point = self._plan.point_id(f"changed: {item.id} {item.version.hex()}", None)
        if self._ledger.known([point]):
            return []
        return [FailedAsk(Ask(item, None, point), FailureReason("content_changed", CHANGED))]
