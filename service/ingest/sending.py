"""One batch to its outcomes: whatever the server says, each ask ends as a point or as a failure, once.

A batch that is refused as a whole is halved until the refusal is about one ask; what may go better later is asked
again.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.ingest.answers import Answer, ItemError, read_vector
from service.ingest.body import LoadedPicture, PictureError, load_picture, request_body
from service.ingest.client import Client, RefusedError, TooLargeError
from service.ingest.errors import Reason
from service.ingest.item import Ask, Failure, Point
from service.ingest.plan import Plan
from service.ingest.progress import Counts
from service.ingest.version import version_of

Outcome = Point | Failure

PASSING_CODES = frozenset(
    {
        "cache_miss",  # the name of a picture whose first ask failed; the next request brings the picture again
        "deadline_exceeded",
        "engine_restarting",
        "internal_error",
        "media_fetch_failed",
        "model_loading",
        "out_of_memory",
        "overloaded",
        "rate_limit_exceeded",
        "server_draining",
    }
)
"""Codes of single inputs that may go better later."""
MAX_ITEM_ATTEMPTS = 4
ITEM_WAIT_S = 1.0
"""Before the first of them; twice as long each time."""
LEAST_BATCH_BYTES = 64 << 10
"""Batches are not made smaller than this, however often the server says that they are too large."""


@dataclass(slots=True)
class Bounds:
    """What the server takes; `num_bytes` shrinks when it says that a body is too large.

    Attributes:
        num_inputs: most asks of a batch, unless one item has more.
        num_bytes: most bytes of a body.
        picture_bytes: most bytes of an encoded picture.
    """

    num_inputs: int
    num_bytes: int
    picture_bytes: int

    def shrink(self, refused_bytes: int) -> None:
        """A body of so many bytes was too large."""
        self.num_bytes = max(min(self.num_bytes, refused_bytes // 2), LEAST_BATCH_BYTES)


class Sender:
    """Asks one server about batches, any number at a time."""

    def __init__(self, client: Client, plan: Plan, model: str, bounds: Bounds, counts: Counts) -> None:
        self._client = client
        self._plan = plan
        self._model = model
        self._bounds = bounds
        self._counts = counts

    async def embed(self, asks: Sequence[Ask]) -> list[Outcome]:
        """What became of each ask, in any order.

        Raises:
            IngestError: the server takes nothing.
        """
        pictures, failures = await asyncio.to_thread(self._load, asks)
        failed = {failure.ask.item.id for failure in failures}
        return [*failures, *await self._request([ask for ask in asks if ask.item.id not in failed], pictures)]

    def _load(self, asks: Sequence[Ask]) -> tuple[dict[str, LoadedPicture], list[Failure]]:
        pictures: dict[str, LoadedPicture] = {}
        reasons: dict[str, Reason] = {}
        for item in {ask.item.id: ask.item for ask in asks}.values():
            try:
                picture = load_picture(item, self._bounds.picture_bytes)
            except PictureError as error:
                reasons[item.id] = error.reason
                continue
            if picture is not None:
                pictures[item.id] = picture
        return pictures, [Failure(ask, reasons[ask.item.id]) for ask in asks if ask.item.id in reasons]

    async def _request(
        self, asks: Sequence[Ask], pictures: Mapping[str, LoadedPicture], attempt: int = 0
    ) -> list[Outcome]:
        if not asks:
            return []
        body = await asyncio.to_thread(request_body, asks, pictures, self._model, self._plan)
        try:
            answer = await self._client.embed(body, len(asks))
        except TooLargeError as refused:
            self._bounds.shrink(len(body))
            return await self._halve(asks, pictures, refused.error)
        except RefusedError as refused:
            return await self._set_apart(asks, pictures, refused.error)
        self._counts.hits += answer.usage.encoder_cache_hits
        self._counts.misses += answer.usage.encoder_cache_misses
        outcomes, again = self._read(asks, answer, pictures, is_last=attempt + 1 >= MAX_ITEM_ATTEMPTS)
        if again:
            await asyncio.sleep(ITEM_WAIT_S * 2**attempt)
            await self._client.until_well()
        return [*outcomes, *await self._request(again, pictures, attempt + 1)]

    def _read(
        self, asks: Sequence[Ask], answer: Answer, pictures: Mapping[str, LoadedPicture], *, is_last: bool
    ) -> tuple[list[Outcome], list[Ask]]:
        """Outcomes, and what is asked again."""
        outcomes: list[Outcome] = []
        again: list[Ask] = []
        broken = _broken_pictures(asks, answer)
        for ask, entry in zip(asks, answer.data, strict=True):
            if entry.error is None:
                picture = pictures.get(ask.item.id)
                version = version_of(ask.item, picture.name if picture else None)
                outcomes.append(Point(ask, read_vector(entry, self._plan.dimensions), version))
                continue
            reason = (
                broken.get(ask.item.id, entry.error.reason) if entry.error.code == "cache_miss" else entry.error.reason
            )
            if reason.code in PASSING_CODES and not is_last:
                again.append(ask)
            else:
                outcomes.append(Failure(ask, reason))
        return outcomes, again

    async def _set_apart(
        self, asks: Sequence[Ask], pictures: Mapping[str, LoadedPicture], error: ItemError
    ) -> list[Outcome]:
        """The input that a refusal names fails, and the others are asked again without it."""
        if error.index is None or not 0 <= error.index < len(asks):
            return await self._halve(asks, pictures, error)
        rest = [*asks[: error.index], *asks[error.index + 1 :]]
        return [Failure(asks[error.index], error.reason), *await self._request(rest, pictures)]

    async def _halve(
        self, asks: Sequence[Ask], pictures: Mapping[str, LoadedPicture], error: ItemError
    ) -> list[Outcome]:
        if len(asks) == 1:
            return [Failure(asks[0], error.reason)]
        middle = _middle(asks)
        return [*await self._request(asks[:middle], pictures), *await self._request(asks[middle:], pictures)]


def _broken_pictures(asks: Sequence[Ask], answer: Answer) -> dict[str, Reason]:
    """Items whose picture is at fault: those of its asks that only named it do not know, and would be asked again."""
    pairs = zip(asks, answer.data, strict=True)
    return {
        ask.item.id: entry.error.reason
        for ask, entry in pairs
        if entry.error and (entry.error.code.startswith("media_") or entry.error.code == "unsupported_modality")
    }


def _middle(asks: Sequence[Ask]) -> int:
    """Where to cut: between two items as near the middle as there is, or else in the middle of one."""
    cuts = [i for i in range(1, len(asks)) if asks[i].item.id != asks[i - 1].item.id]
    return min(cuts, key=lambda cut: abs(cut - len(asks) / 2), default=len(asks) // 2)
