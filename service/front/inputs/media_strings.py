"""Strings that are wholly a medium, where texts may stand: a data URI, or the URL of a media file on an allowed host.

NIM's, infinity's and LiteLLM's clients send media so. They are read as the medium, and never embedded as words.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from schemas.content.audio import AudioUrlPart
from schemas.content.file import FilePart, PdfFile
from schemas.content.parts import ImageUrlPart
from schemas.content.video import VideoUrlPart
from service.errors import InputError
from service.front.inputs.checking import FIRST_CHARS, refuse_modality, uri_kind
from service.front.job import Job, JobInput, MediaPart, PlacedMedia
from service.media.fetch.policy import FetchPolicy
from service.media.fetch.url import MAX_URL_CHARS, UrlError, parse_url
from service.prompt.profile.profile import Modality

_ENDS: Mapping[str, Sequence[str]] = {
    "image": ("png", "jpg", "jpeg", "webp", "gif", "bmp"),
    "video": ("mp4", "m4v", "mov", "mkv", "webm", "avi"),
    "audio": ("wav", "mp3", "flac", "ogg", "opus", "m4a"),
    "application": ("pdf",),
}
_KIND_OF_END = {end: kind for kind, ends in _ENDS.items() for end in ends}
_URL = re.compile(r"https?://[^\s?#]+\.(?P<end>[A-Za-z0-9]{3,4})(?:[?#]\S*)?", re.IGNORECASE)

_NEEDED: Mapping[str, tuple[Modality, str]] = {
    "image": ("image", "an image"),
    "video": ("video", "a video"),
    "audio": ("audio", "audio"),
    "application": ("image", "a PDF"),
}
"""What a model has to take for each media type, and its name."""


def is_medium(text: str) -> bool:
    """True of a text that is a medium's data URI, or may be the URL of one."""
    return bool(uri_kind(text) or _url_end(text))


def with_media_strings(job: Job, taken: Sequence[Modality], policy: FetchPolicy) -> Job:
    """The job with those of its strings that are a medium as that medium.

    Args:
        taken: what the model takes.
        policy: whose hosts URLs are fetched from; one without hosts where a URL is a text.

    Raises:
        InputError: `unsupported_modality`, unless the job is `per_item`: then it stands in its input's place.
    """

    def read(inputs: Sequence[JobInput]) -> Sequence[JobInput]:
        return [_read(one, index, job, taken, policy) for index, one in enumerate(inputs)]

    return replace(job, inputs=read(job.inputs), queries=read(job.queries))


def _read(one: JobInput, index: int, job: Job, taken: Sequence[Modality], policy: FetchPolicy) -> JobInput:
    text = one.source
    if not isinstance(text, str) or text[:1] not in FIRST_CHARS:
        return one
    kind, what = uri_kind(text), "the data URI of "
    if not kind:
        kind, what = _url_kind(text.strip(), policy), "the URL of "
    if not kind:
        return one
    modality, name = _NEEDED[kind]
    if modality not in taken:
        try:
            refuse_modality(what + name, taken, one.param, index)
        except InputError as error:
            if not job.per_item:
                raise
            return replace(one, source=error.without_frames())
    place = PlacedMedia(one.param, one.param, index, _part(kind, text.strip()))
    return replace(one, source=place, media=(place,))


def _url_end(text: str) -> str:
    found = _URL.fullmatch(text.strip()) if len(text) <= MAX_URL_CHARS else None
    return found["end"].lower() if found else ""


def _url_kind(text: str, policy: FetchPolicy) -> str:
    """The media type that the URL of a file on a host of the policy names by its end; empty of any other text."""
    kind = _KIND_OF_END.get(_url_end(text), "")
    if not kind:
        return ""
    try:
        policy.check(parse_url(text))
    except UrlError:
        return ""
    return kind


def _part(kind: str, url: str) -> MediaPart:
    if kind == "image":
        return ImageUrlPart(image_url=url)
    if kind == "video":
        return VideoUrlPart(video_url=url)
    return AudioUrlPart(audio_url=url) if kind == "audio" else FilePart(file=PdfFile(file_data=url))
