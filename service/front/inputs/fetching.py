"""Fetches the media by URL of one request before its prompts are made: each URL once, all within one bound.

Runs on the event loop, inside the request's place in the queue and its deadline; `media/fetch` does one fetch.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from schemas.content.audio import AudioUrlPart
from schemas.content.file import FilePart
from schemas.content.parts import ImageUrlPart
from schemas.content.video import VideoFramesPart
from service import metrics
from service.errors import MediaError
from service.front.admission.budget import Lease
from service.front.inputs.media_reader import MediaReader, url_of
from service.front.inputs.videos import frame_list, is_file
from service.front.job import PlacedMedia, VideoPart
from service.media.error_location import ErrorLocation
from service.media.fetch.connection import SystemResolver, client_context
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.memory import FetchMemory
from service.media.fetch.policy import FetchPolicy
from service.media.fetch.url import UrlError, parse_url
from service.media.source import scheme_of
from service.settings.settings import Settings

FetchStep = Callable[[Lease], Coroutine[Any, Any, None]]
"""Fetches or opens media of one request, which has this lease in the queue."""


@dataclass(slots=True)
class ByteBudget:
    """Bytes that the media by URL of one request may have together.

    Attributes:
        max_bytes: of all files together.
    """

    max_bytes: int
    lease: Lease
    num_bytes: int = 0

    def take(self, num_bytes: int) -> None:
        """Count bytes that have come in.

        Raises:
            MediaError: they are too many for one request.
            UnavailableError: they are too many for the service now.
        """
        self.num_bytes += num_bytes
        if self.num_bytes > self.max_bytes:
            raise MediaError(
                "media_too_large",
                f"The files at the URLs of this request have more bytes together than the {self.max_bytes} that "
                "are accepted.",
            )
        self.lease.add_bytes(num_bytes)
        metrics.MEDIA_FETCHED_BYTES.inc(num_bytes)


@dataclass(frozen=True, slots=True)
class Fetching:
    """Fetches for requests.

    Attributes:
        fetcher: of all requests.
        max_request_bytes: of one request.
        reads_texts: a text that is the URL of a media file is read as the file.
    """

    fetcher: Fetcher
    max_request_bytes: int
    reads_texts: bool = True

    @property
    def policy_of_texts(self) -> FetchPolicy:
        """From where media are fetched whose URLs stand where texts may; from nowhere where URLs are texts."""
        return self.fetcher.policy if self.reads_texts else FetchPolicy()

    @classmethod
    def of(cls, settings: Settings, num_fronts: int = 1) -> "Fetching | None":
        """By the settings; None when no host is configured.

        Args:
            num_fronts: of the service. Each has an equal part of the fetches at once, which wait and are never
                refused, and of the memory.

        Raises:
            SettingsError: a host, a port or a prefix is none.
        """
        policy = FetchPolicy.of(settings)
        if policy is None:
            return None
        memory = FetchMemory(settings.media_store_bytes // 4 // num_fronts)
        metrics.MEDIA_MEMORY_BYTES.set_function(lambda: memory.num_bytes)
        fetcher = Fetcher(
            policy,
            SystemResolver(),
            memory,
            max_per_host=max(1, settings.max_media_fetches_per_host // num_fronts),
            max_per_tenant=max(1, 2 * settings.max_media_fetches_per_host // num_fronts),
            tls=client_context(),
        )
        return cls(fetcher, settings.max_media_bytes, settings.media_urls == "read")

    def step(self, media: MediaReader, places: Iterable[PlacedMedia], *, per_item: bool) -> FetchStep | None:
        """Return the fetch of a request's media, which `fetch` does; None when no part has a URL."""
        first: dict[str, ErrorLocation] = {}
        for place in places:
            for url, location in _sources(media, place):
                if scheme_of(url) in ("http", "https"):
                    first.setdefault(url, location)
        return partial(self.fetch, media, first, per_item) if first else None

    async def fetch(
        self, media: MediaReader, locations: Mapping[str, ErrorLocation], per_item: bool, lease: Lease
    ) -> None:
        """Fetch every URL of a request, concurrently.

        Args:
            media: gets the files, or with `per_item` their errors.
            locations: where each URL stands first.
            per_item: a file that fails leaves the others alone.

        Raises:
            MediaError: of the first URL in the request that failed, unless `per_item`.
            UnavailableError: the queue holds too many bytes.
        """
        found = media.fetched
        found |= {url: error for url in locations if (error := self._refusal(url)) is not None}
        if not per_item:
            _raise_first(found, locations)
        budget = ByteBudget(self.max_request_bytes, lease)

        async def fetch_one(url: str) -> None:
            try:
                found[url] = await self.fetcher.fetch(parse_url(url), media.salt, budget.take)
                metrics.MEDIA_FETCHES.labels("fetched").inc()
            except MediaError as error:
                metrics.MEDIA_FETCHES.labels("failed").inc()
                found[url] = error
                if not per_item:
                    raise
                error.without_frames()

        tasks = [asyncio.create_task(fetch_one(url)) for url in locations if url not in found]
        try:
            await asyncio.gather(*tasks)
        except MediaError:
            _raise_first(found, locations)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _refusal(self, text: str) -> MediaError | None:
        """Check a URL before anything is sent to a network."""
        try:
            self.fetcher.policy.check(parse_url(text))
        except UrlError as error:
            metrics.MEDIA_FETCHES.labels("refused").inc()
            return MediaError("media_source_refused", f"The URL of the media: {error}.")
        return None


def _raise_first(found: Mapping[str, bytes | MediaError], locations: Mapping[str, ErrorLocation]) -> None:
    for url, location in locations.items():
        if isinstance(error := found.get(url), MediaError):
            location.refuse(error.code, error.message)


def _sources(media: MediaReader, place: PlacedMedia) -> Iterator[tuple[str, ErrorLocation]]:
    """Yield the sources of a part that may have to be fetched.

    Parts of a kind that the model does not take are refused later, and no host is contacted for them.
    """
    part, location = place.part, ErrorLocation(place.content_param, place.index)
    images = media.profile.images
    if isinstance(part, ImageUrlPart):
        if images and part.image_url is not None:
            yield url_of(part.image_url), location
    elif isinstance(part, VideoPart):
        if images is None or images.video_rule is None:
            return
        if is_file(place):
            yield place.url, location
        elif isinstance(part, VideoFramesPart):  # the other lists hold data only
            frames = frame_list(place, images.video_rule)
            for url, param in zip(frames.urls, frames.params, strict=True):
                yield url, ErrorLocation(param, place.index)
    elif (isinstance(part, FilePart) and images) or (isinstance(part, AudioUrlPart) and media.profile.audios):
        yield place.url, location
