"""Chooses the asks of items that are neither done, nor failed, nor in work, and what is to be replaced."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from service.ingest.errors import FailureReason
from service.ingest.item import VERSION_BYTES, Ask, BadRecord, FailedAsk, Relabelled, SourceItem
from service.ingest.ledger.ledger import KnownPoint, Ledger, metadata_digest
from service.ingest.plan import Plan
from service.ingest.progress import RunCounts
from service.ingest.sending.version import is_other, is_other_content

CHANGED = (
    "this id was embedded with other content, in a former run; --update embeds it again, in a store that can replace "
    "it; or give the item another id"
)
TWICE = "this id came with other content before, in the same source; give one of the two another id"


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be done with some items.

    Attributes:
        asks: to embed, one list for each item that has any.
        failures: items that fail without being asked for.
        relabelled: points that get other metadata.
    """

    asks: list[list[Ask]] = field(default_factory=list)
    failures: list[FailedAsk] = field(default_factory=list)
    relabelled: list[Relabelled] = field(default_factory=list)


class Chooser:
    """Compares items with the ledger, and with points that are being embedded."""

    def __init__(
        self,
        plan: Plan,
        instructions: Sequence[str | None],
        ledger: Ledger,
        counts: RunCounts,
        *,
        updates: bool = False,
        sees: bool = False,
    ) -> None:
        """Choose what is new, and with `updates` what has changed; `sees` keeps a record of what the source has."""
        self._plan = plan
        self._instructions = instructions
        self._ledger = ledger
        self._counts = counts
        self._updates = updates
        self._sees = sees
        self._in_work: dict[UUID, KnownPoint] = {}

    def whole(self, items: Sequence[SourceItem]) -> set[str]:
        """Ids of the items that the ledger has as a whole, with the content that they have."""
        asks = [self._asks(item) for item in items]
        known = self._known(asks)
        versions = {item.id: self._versions(group, known) for item, group in zip(items, asks, strict=True)}
        return {item.id for item in items if item.version in versions[item.id]}

    def in_chunks(self, items: Sequence[SourceItem]) -> set[str]:
        """Ids of the items that the ledger has as chunks."""
        return {item.id for item in items if self._ledger.has_chunks(item.id)}

    async def choose(self, read: Sequence[SourceItem | BadRecord]) -> Choice:
        """What is to be done with items. Chosen asks are in work until `landed`."""
        asks = [self._asks(item) for item in read]
        others = await self._other_contents(read, asks)
        known = self._known(asks)  # from here on nothing lands
        chosen = Choice()
        extra: list[Ask] = []
        here: set[str] = set()
        for item, group in zip(read, asks, strict=True):
            if isinstance(item, BadRecord):
                chosen.failures.extend(FailedAsk(ask, item.reason) for ask in group if ask.point not in known)
                continue
            found = self._found(group, known)
            done = [one for one in found.values() if one is not None]
            is_twice = item.id in here or any(one.is_new or one.is_seen for one in done)
            changed = {point for point, one in found.items() if one is not None and _is_changed(item, one, others)}
            here.add(item.id)
            if changed and (is_twice or not self._updates):
                ask = self._changed(item)
                extra.append(ask)
                if not self._ledger.known([ask.point]):
                    reason = FailureReason("content_changed", TWICE if is_twice else CHANGED)
                    chosen.failures.append(FailedAsk(ask, reason))
                continue
            self._choose(item, group, found, changed, chosen)
        if self._sees:
            roots = [item.root or item.id for item in read if isinstance(item, BadRecord)]
            self._ledger.see([*(ask for group in asks for ask in group), *extra], roots)
        return chosen

    def _choose(
        self,
        item: SourceItem,
        group: Sequence[Ask],
        found: Mapping[UUID, KnownPoint | None],
        changed: set[UUID],
        chosen: Choice,
    ) -> None:
        new = [ask for ask in group if ask.point not in found]
        if self._updates:
            failed = self._ledger.failed_versions([point for point, one in found.items() if one is None])
            new += [ask for ask in group if failed.get(ask.point, item.version) != item.version]
            for ask in group:
                if (one := found.get(ask.point)) is None or one.is_new:
                    continue
                if ask.point in changed and not _has_content(one, item):
                    new.append(ask)
                elif ask.point in changed or one.metadata not in (b"", metadata_digest(item)):
                    chosen.relabelled.append(Relabelled(ask, item.version + one.version[VERSION_BYTES:]))
        busy = {ask.point for ask in (*new, *(one.ask for one in chosen.relabelled))}
        work = KnownPoint(item.version, is_new=True)
        self._in_work |= {ask.point: work for ask in group if ask.point in busy}
        left = [one for point, one in found.items() if one is not None and point not in busy]
        self._counts.already += sum(not one.is_new for one in left)
        self._counts.repeated += sum(one.is_new for one in left)
        chosen.asks.extend([new] if new else [])

    async def _other_contents(self, read: Sequence[SourceItem | BadRecord], asks: Sequence[Sequence[Ask]]) -> set[str]:
        """Ids of items whose file has a new modification time and other content; other files are not read."""
        known, touched = self._known(asks), {}
        for item, group in zip(read, asks, strict=True):
            versions = self._versions(group, known)
            if isinstance(item, SourceItem) and is_other(item, versions) is None:
                touched[item.id] = (item, versions)
        if not touched:
            return set()
        return await asyncio.to_thread(lambda: {id_ for id_, one in touched.items() if is_other_content(*one)})

    def _known(self, asks: Sequence[Sequence[Ask]]) -> dict[UUID, KnownPoint | None]:
        return self._ledger.known([ask.point for group in asks for ask in group])

    def _versions(self, group: Sequence[Ask], known: Mapping[UUID, KnownPoint | None]) -> list[bytes]:
        return [one.version for one in self._found(group, known).values() if one is not None]

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
            point = self._plan.point_id(f"bad record: {item.id}", None)
            return [Ask(SourceItem(item.id, b"", 0, root=item.root), None, point)]
        return [Ask(item, each, self._plan.point_id(item.id, each)) for each in self._instructions]

    def _changed(self, item: SourceItem) -> Ask:
        """A point of its own for the failure, so that the points of this id stay as they are."""
        return Ask(item, None, self._plan.point_id(f"changed: {item.id} {item.version.hex()}", None))


def _is_changed(item: SourceItem, one: KnownPoint, others: set[str]) -> bool:
    """True if a point is of other content; `others` have files of other content."""
    answer = is_other(item, [one.version])
    return item.id in others if answer is None else answer


def _has_content(one: KnownPoint, item: SourceItem) -> bool:
    """True if a point's vectors are those of an item whose metadata alone are others."""
    stamp = one.version[VERSION_BYTES : VERSION_BYTES + len(item.stamp)]
    return bool(item.content) and one.content == item.content and (not stamp or stamp == item.stamp)
