"""Pictures by URL of one request, brought in before its prompts are made: each URL once, all within one bound.

Runs on the event loop, inside the request's place in the queue and its deadline. What a fetch is, is for `media/fetch`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from schemas.content import ImageUrlPart
from service import metrics
from service.errors import MediaError
from service.front.pictures import PictureReader, url_of
from service.front.place import Place
from service.front.urls import source_places
from service.media.blame import Blame
from service.media.fetch.exchange import Take
from service.media.fetch.fetcher import Fetcher
from service.media.fetch.memory import FetchMemory
from service.media.fetch.policy import FetchPolicy
from service.media.fetch.resolver import SystemResolver
from service.media.fetch.url import parse_url
from service.media.fetch.url_error import UrlError
from service.media.source import scheme_of
from service.settings import Settings

FetchStep = Callable[[Take], Awaitable[None]]
"""Fetches what one request needs; is given what to ask for room."""


@dataclass(slots=True)
class Budget:
    """What the pictures of one request may weigh together.

    Attributes:
        max_bytes: all pictures by URL.
        take_place: asked for room in the queue.
        num_bytes: what has come in.
    """

    max_bytes: int
    take_place: Take
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
                f"The image files at the URLs of this request have more bytes together than the {self.max_bytes} that "
                "are accepted.",
            )
        self.take_place(num_bytes)
        metrics.MEDIA_FETCHED_BYTES.inc(num_bytes)


@dataclass(frozen=True, slots=True)
class Fetching:
    """Fetches for requests.

    Attributes:
        fetcher: of all requests.
        max_request_bytes: of one request.
    """

    fetcher: Fetcher
    max_request_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> "Fetching | None":
        """By the settings; None when no host is configured.

        Raises:
            SettingsError: a host, a port or a prefix is none.
        """
        policy = FetchPolicy.of(settings)
        if policy is None:
            return None
        memory = FetchMemory(settings.media_memory_bytes)
        metrics.MEDIA_MEMORY_BYTES.set_function(lambda: memory.num_bytes)
        fetcher = Fetcher(
            policy,
            SystemResolver(),
            memory,
            max_per_host=settings.max_media_fetches_per_host,
            max_per_tenant=settings.max_media_fetches_per_tenant,
        )
        return cls(fetcher, settings.max_media_fetch_bytes)

    def step(self, pictures: PictureReader, places: Iterable[Place], *, per_item: bool) -> FetchStep | None:
        """What has to be fetched before a request's pictures are read.

        Args:
            pictures: gets what was fetched.
            places: of all pictures.
            per_item: a picture that fails leaves the others alone.

        Returns:
            The step, which raises MediaError with the place of the first picture that failed; with `per_item` the
            error is left with the pictures instead. None when no picture is given by URL.
        """
        first: dict[str, Place] = {}
        for place in source_places(pictures, places):
            if (url := _remote_url(place)) is not None:
                first.setdefault(url, place)
        return partial(self._fetch_all, pictures, first, per_item) if first else None

    async def _fetch_all(
        self, pictures: PictureReader, first: Mapping[str, Place], per_item: bool, take_place: Take
    ) -> None:
        found = pictures.fetched
        found |= {url: error for url in first if (error := self._refusal(url)) is not None}
        if not per_item:
            _raise_first(first, found)
        budget = Budget(self.max_request_bytes, take_place)
        wanted = [url for url in first if url not in found]
        tasks = [asyncio.create_task(self._keep(url, pictures, budget.take, per_item=per_item)) for url in wanted]
        try:
            await asyncio.gather(*tasks)
        except MediaError:
            _raise_first(first, found)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep(self, url: str, pictures: PictureReader, take: Take, *, per_item: bool) -> None:
        try:
            pictures.fetched[url] = await self.fetcher.fetch(parse_url(url), pictures.salt, take)
            metrics.MEDIA_FETCHES.labels("fetched").inc()
        except MediaError as error:
            metrics.MEDIA_FETCHES.labels("failed").inc()
            pictures.fetched[url] = error
            if not per_item:
                raise

    def _refusal(self, text: str) -> MediaError | None:
        """What is wrong with a URL before anything is asked of a network."""
        try:
            self.fetcher.policy.check(parse_url(text))
        except UrlError as error:
            metrics.MEDIA_FETCHES.labels("refused").inc()
            return MediaError("media_source_refused", f"The image's URL: {error}.")
        return None


def _remote_url(place: Place) -> str | None:
    source = place.part.image_url if isinstance(place.part, ImageUrlPart) else None
    if source is None or scheme_of(url_of(source)) not in ("http", "https"):
        return None
    return url_of(source)


def _raise_first(first: Mapping[str, Place], found: Mapping[str, bytes | MediaError]) -> None:
    for url, place in first.items():
        if isinstance(error := found.get(url), MediaError):
            Blame(place.content_param, place.index).refuse(error.code, error.message)
