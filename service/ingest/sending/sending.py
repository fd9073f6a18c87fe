"""Sends a batch and returns one outcome for each ask, a point or a failure.

A batch that is refused as a whole is halved until the error concerns one ask; transient errors are retried.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.ingest.errors import PASSING_CODES, FailureReason, FileError
from service.ingest.files.pdf_process import PdfProcesses
from service.ingest.files.video_process import VideoProcesses
from service.ingest.files.video_segment import VideoSegment
from service.ingest.item import Ask, FailedAsk, Point
from service.ingest.progress import RunCounts
from service.ingest.sending.answers import ItemError, ServerAnswer
from service.ingest.sending.client import Client, RefusedError, TooLargeError
from service.ingest.sending.conversations import Conversations, late_failures
from service.ingest.sending.every_kind import EveryKind
from service.ingest.sending.media import ImageLoader, LoadedMedia, VideoLoader
from service.ingest.sending.version import version_of
from service.ingest.vectors import Vectors
from service.media.video.video_rule import VideoRule

Outcome = Point | FailedAsk
RequestForm = Conversations | EveryKind

MAX_ITEM_ATTEMPTS = 4
ITEM_WAIT_S = 1.0
"""Before the first retry; doubles each time."""
LEAST_BATCH_BYTES = 64 << 10
"""Lower bound of shrinking batches."""
BYTES_PER_TOKEN = 3
"""Of UTF-8, on the low side for most texts and vocabularies."""


@dataclass(frozen=True, slots=True)
class TokenVectorSize:
    """Estimates the bytes of token vectors before they are there: they are far larger than their texts.

    Attributes:
        token_bytes: of a token's vector in base64; 0 of a run that asks for none.
        max_tokens: of a prompt.
        image_tokens: of an image.
    """

    token_bytes: int
    max_tokens: int
    image_tokens: int

    def of(self, ask: Ask) -> int:
        """Bytes of an ask's token vectors."""
        num_tokens = len((ask.item.text or "").encode(errors="replace")) // BYTES_PER_TOKEN
        if isinstance(ask.item.media, VideoSegment):
            num_tokens = self.max_tokens
        elif ask.item.media is not None:
            num_tokens += self.image_tokens
        return min(num_tokens, self.max_tokens) * self.token_bytes


@dataclass(slots=True)
class Bounds:
    """Limits of a request.

    Attributes:
        num_inputs: maximum asks of a batch, unless one item has more.
        num_bytes: maximum bytes of a body; shrinks when the server refuses a body as too large.
        max_pixels: that the model sees of an image; 0 of one that takes none.
        video_rule: which frames of a video the model sees; None of one that takes none.
        no_videos: why it takes none.
        body_bytes: of the largest body that the server takes.
        token_vectors: what those of an ask will take in the answer.
    """

    num_inputs: int
    num_bytes: int
    image_bytes: int
    max_pixels: int
    video_rule: VideoRule | None
    no_videos: str
    body_bytes: int
    token_vectors: TokenVectorSize


class Sender:
    """Sends batches to one server, any number at a time."""

    def __init__(
        self,
        client: Client,
        form: RequestForm,
        bounds: Bounds,
        counts: RunCounts,
        pdfs: PdfProcesses,
        videos: VideoProcesses,
    ) -> None:
        self._client = client
        self._form = form
        self._bounds = bounds
        self._counts = counts
        self._images = ImageLoader(bounds.image_bytes, bounds.max_pixels, pdfs)
        self._videos = VideoLoader(bounds.video_rule, bounds.no_videos, bounds.body_bytes, videos)

    async def embed(self, asks: Sequence[Ask]) -> list[Outcome]:
        """The outcome of each ask, in any order."""
        media, failures = await asyncio.to_thread(self._load, asks)
        failed = {failure.ask.item.id for failure in failures}
        outcomes: list[Outcome] = [*failures]
        for request in self._form.requests([ask for ask in asks if ask.item.id not in failed]):
            outcomes += await self._request(request, media)
        return outcomes

    def _load(self, asks: Sequence[Ask]) -> tuple[dict[str, LoadedMedia], list[FailedAsk]]:
        media: dict[str, LoadedMedia] = {}
        reasons: dict[str, FailureReason] = {}
        for item in {ask.item.id: ask.item for ask in asks}.values():
            try:
                if isinstance(item.media, VideoSegment):
                    media[item.id] = self._videos.load(item.media)
                elif item.media is not None:
                    media[item.id] = self._images.load(item.media)
            except FileError as error:
                reasons[item.id] = error.reason
        return media, [FailedAsk(ask, reasons[ask.item.id]) for ask in asks if ask.item.id in reasons]

    async def _request(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia], attempt: int = 0) -> list[Outcome]:
        if not asks:
            return []
        body = await asyncio.to_thread(self._form.body, asks, media)
        try:
            response = await self._client.embed(body)
        except RefusedError as refused:
            if asks[0].item.late is not None:
                return [*late_failures(asks, refused.error)]
            if not isinstance(refused, TooLargeError):
                return await self._set_apart(asks, media, refused.error)
            self._bounds.num_bytes = max(min(self._bounds.num_bytes, len(body) // 2), LEAST_BATCH_BYTES)
            return await self._halve(asks, media, refused.error)
        answer = await asyncio.to_thread(self._form.read, response.content, response.headers, asks)
        self._counts.hits += answer.hits
        self._counts.misses += answer.misses
        outcomes, again = self._read(asks, answer, media, is_last=attempt + 1 >= MAX_ITEM_ATTEMPTS)
        if again:
            await asyncio.sleep(ITEM_WAIT_S * 2**attempt)
            await self._client.until_healthy()
        return [*outcomes, *await self._request(again, media, attempt + 1)]

    def _read(
        self, asks: Sequence[Ask], answer: ServerAnswer, media: Mapping[str, LoadedMedia], *, is_last: bool
    ) -> tuple[list[Outcome], list[Ask]]:
        """Outcomes, and asks to retry."""
        outcomes: list[Outcome] = []
        again: list[Ask] = []
        broken = _broken_images(asks, answer)
        for ask, entry in zip(asks, answer.entries, strict=True):
            if isinstance(entry, Vectors):
                loaded = media.get(ask.item.id)
                outcomes.append(Point(ask, entry, version_of(ask.item, loaded.file_digest if loaded else b"")))
                continue
            reason = broken.get(ask.item.id, entry.reason) if entry.code == "cache_miss" else entry.reason
            if reason.code in PASSING_CODES and not is_last:
                again.append(ask)
            else:
                outcomes.append(FailedAsk(ask, reason))
        return outcomes, again

    async def _set_apart(
        self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia], error: ItemError
    ) -> list[Outcome]:
        """Fail the input that the error names, and send the others again."""
        if error.index is None or not 0 <= error.index < len(asks):
            return await self._halve(asks, media, error)
        rest = [*asks[: error.index], *asks[error.index + 1 :]]
        return [FailedAsk(asks[error.index], error.reason), *await self._request(rest, media)]

    async def _halve(self, asks: Sequence[Ask], media: Mapping[str, LoadedMedia], error: ItemError) -> list[Outcome]:
        if len(asks) == 1:
            return [FailedAsk(asks[0], error.reason)]
        middle = _middle(asks)
        return [*await self._request(asks[:middle], media), *await self._request(asks[middle:], media)]


def _broken_images(asks: Sequence[Ask], answer: ServerAnswer) -> dict[str, FailureReason]:
    """Errors of images by item; asks that have only the uuid got `cache_miss`, which would be retried."""
    return {
        ask.item.id: entry.reason
        for ask, entry in zip(asks, answer.entries, strict=True)
        if isinstance(entry, ItemError) and (entry.code.startswith("media_") or entry.code == "unsupported_modality")
    }


def _middle(asks: Sequence[Ask]) -> int:
    """Index to split at: the boundary between items nearest the middle, or the middle of a single item."""
    cuts = [i for i in range(1, len(asks)) if asks[i].item.id != asks[i - 1].item.id]
    return min(cuts, key=lambda cut: abs(cut - len(asks) / 2), default=len(asks) // 2)
