"""Opens the video files, audio files and PDFs of one request before its prompts are made, whose lengths they decide.

Runs on the event loop, after media given by URL have been fetched; decoder processes read the containers.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, Literal, TypeVar

from schemas.content.audio import InputAudioPart
from schemas.content.file import FilePart
from schemas.content.video import VideoUrlPart
from service.decode.av_decoder import AudioDecoder, VideoDecoder
from service.decode.page_decoder import PageDecoder
from service.errors import MediaError
from service.front.admission.budget import Lease
from service.front.inputs.media_reader import MediaReader
from service.front.inputs.videos import is_file
from service.front.job import AudioPart, PlacedMedia
from service.media.audio.audio_file import AudioInfo, AudioLimits, OpenAudio, audio_format, check_audio, check_named
from service.media.error_location import ErrorLocation
from service.media.key import file_digest
from service.media.page.page_file import OpenPage, PageInfo, check_head, check_page
from service.media.source import SourceKind, read_source
from service.media.video.video_file import OpenVideo, VideoInfo, VideoLimits, check_video, container_of
from service.media.video.video_rule import frames_between

T = TypeVar("T")

FileKind = Literal["video", "audio", "page"]
"""A kind of file that is opened before prompts are made."""

MAX_KNOWN = 1024
"""Files whose containers need not be read again."""


class KnownFiles(Generic[T]):
    """Facts of containers, by tenant's salt and file digest; the least recently used is dropped first."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[bytes, bytes], T] = OrderedDict()

    async def get(self, salt: bytes, digest: bytes, read: Callable[[], Awaitable[T]]) -> T:
        """Return what a file's container says, as it is known or as `read` finds it; kept as most recently used."""
        known = self._known.get((salt, digest))
        info = await read() if known is None else known
        self._known[salt, digest] = info
        self._known.move_to_end((salt, digest))
        while len(self._known) > MAX_KNOWN:
            self._known.popitem(last=False)
        return info


@dataclass(slots=True)
class VideoOpener:
    """Opens video files for requests."""

    decoder: VideoDecoder
    limits: VideoLimits
    _known: KnownFiles[VideoInfo] = field(default_factory=KnownFiles)

    async def open(self, media: MediaReader, place: PlacedMedia) -> OpenVideo:
        """Open a file."""
        location = ErrorLocation(place.content_param, place.index)
        encoded, digest = await asyncio.to_thread(_read, media, place, self.limits.max_encoded_bytes, "video")
        container = container_of(encoded, location)
        info = await self._known.get(media.salt, digest, lambda: self.decoder.info(encoded, container, location))
        assert isinstance(place.part, VideoUrlPart)  # the reader has chosen these
        part = frames_between(info.num_frames, info.fps, place.part.start_s, place.part.end_s)
        check_video(info, part, self.limits, location)
        return OpenVideo(encoded, container, info, digest)


@dataclass(slots=True)
class AudioOpener:
    """Opens audio files for requests."""

    decoder: AudioDecoder
    limits: AudioLimits
    _known: KnownFiles[AudioInfo] = field(default_factory=KnownFiles)

    async def open(self, media: MediaReader, place: PlacedMedia) -> OpenAudio:
        """Open a file."""
        location = ErrorLocation(place.content_param, place.index)
        encoded, digest = await asyncio.to_thread(_read, media, place, self.limits.max_encoded_bytes, "audio")
        container = audio_format(encoded, location)
        if isinstance(place.part, InputAudioPart):
            named_at = ErrorLocation(f"{place.content_param}.format", place.index)
            check_named(place.part.input_audio.format, container, named_at)
        assert media.profile.audios is not None  # else there is no such opener
        read = partial(self.decoder.info, encoded, container, location, media.profile.audios.rule)
        info = await self._known.get(media.salt, digest, read)
        check_audio(info, self.limits, location)
        return OpenAudio(encoded, container, info, digest)


@dataclass(slots=True)
class PageOpener:
    """Opens PDFs for requests, one page of each part."""

    decoder: PageDecoder
    max_encoded_bytes: int
    _known: KnownFiles[PageInfo] = field(default_factory=KnownFiles)

    async def open(self, media: MediaReader, place: PlacedMedia) -> OpenPage:
        """Open a file and look at its page."""
        assert isinstance(place.part, FilePart)  # the reader has chosen these
        location, page = ErrorLocation(place.content_param, place.index), place.part.page
        encoded, digest = await asyncio.to_thread(_read, media, place, self.max_encoded_bytes, "PDF")
        check_head(encoded, location)
        key = digest + page.to_bytes(8, "little")
        info = await self._known.get(media.salt, key, lambda: self.decoder.info(encoded, page, location))
        check_page(info, page, location, ErrorLocation(f"{place.param}.page", place.index))
        return OpenPage(encoded, "pdf", info, digest, page)


Opener = VideoOpener | AudioOpener | PageOpener


def file_kind(place: PlacedMedia) -> FileKind | None:
    """The kind of file that a part is, which is no image; frames in a list are opened when they are read."""
    if isinstance(place.part, FilePart):
        return "page"
    if isinstance(place.part, AudioPart):
        return "audio"
    return "video" if is_file(place) else None


async def open_files(
    opener: Opener, media: MediaReader, places: Sequence[PlacedMedia], per_item: bool, _: Lease
) -> None:
    """Open the video files, the audio files, or the PDFs, of one request concurrently.

    Args:
        opener: of their kind.
        media: gets the opened files, or with `per_item` their errors.
        per_item: a file that fails leaves the others alone.

    Raises:
        MediaError: of the first file that failed, unless `per_item`.
    """
    opening: list[asyncio.Task[OpenVideo | OpenAudio | OpenPage]] = [
        asyncio.create_task(opener.open(media, place)) for place in places
    ]
    try:
        for place, task in zip(places, opening, strict=True):
            try:
                media.opened[place.param] = await task
            except MediaError as error:
                if not per_item:
                    raise
                media.opened[place.param] = error.without_frames()
    finally:
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)


def _read(media: MediaReader, place: PlacedMedia, max_bytes: int, what: SourceKind) -> tuple[bytes, bytes]:
    """A file's bytes and their digest."""
    part, location = place.part, ErrorLocation(place.content_param, place.index)
    if isinstance(part, InputAudioPart):
        data_location = ErrorLocation(f"{place.content_param}.data", place.index)
        encoded = read_source(part.input_audio.data, max_bytes=max_bytes, location=data_location, what=what)
    else:
        encoded = media.encoded(place.url, location, max_bytes=max_bytes, what=what)
    if len(encoded) > max_bytes:  # what came by URL had another limit
        message = f"The {what} file has {len(encoded)} bytes; at most {max_bytes} are accepted."
        location.refuse("media_too_large", message)
    return encoded, file_digest(encoded)
