"""Refusals of what a model does not take, and of texts that are none: a medium's data URI, half characters.

What stands in a data URI is never embedded as words.
"""

import re
from collections.abc import Sequence
from typing import NoReturn

from schemas.base import Wire
from schemas.parsing.reparse import what_is_broken
from service.errors import InputError
from service.front.inputs.sources import texts_of
from service.front.job import Source
from service.prompt.profile.profile import Modality

NAMES: dict[Modality, str] = {"text": "text", "image": "images", "video": "videos", "audio": "audio"}

FIRST_CHARS = frozenset("dDhH \t\r\n")
"""Of a text that is a data URI or a URL: any other is told by one look."""

MEDIA_FIELDS = frozenset(
    {
        *("image", "images", "image_url", "image_embeds", "video", "video_url", "frames"),
        *("audio", "input_audio", "audio_url", "file"),
    }
)
"""What the fields of requests are called that hold a medium, on every route."""

_BASE64 = "[A-Za-z0-9+/=_%-]*+"
_URI = re.compile(  # possessive: a long text is passed over once
    r"data:(?P<kind>image|video|audio|application)/(?P<subtype>[^\s,;]++)(?:;[^\s,]*+)?+,"
    rf"(?:\S*+|{_BASE64}(?:\r?\n[ \t]*+{_BASE64})*+)",  # in one piece, or base64 in lines
    re.IGNORECASE,
)

_KINDS: dict[str, tuple[Modality, str, str]] = {
    "image": ("image", "an image", '{"type": "image_url", "image_url": {"url": "data:..."}}'),
    "video": ("video", "a video", '{"type": "video_url", "video_url": {"url": "data:..."}}'),
    "audio": ("audio", "audio", '{"type": "audio_url", "audio_url": {"url": "data:..."}}'),
    "application": ("image", "a PDF", '{"type": "file", "file": {"file_data": "data:..."}}'),
}
"""Of each media type what a model has to take, its name, and its content part."""


def uri_kind(text: str) -> str:
    """The media type of a text that is one data URI of an image, a video, audio or a PDF; empty of any other text."""
    found = _URI.fullmatch(text.strip())
    kind = found["kind"].lower() if found else ""
    return kind if kind != "application" or (found and found["subtype"].lower() == "pdf") else ""


def holds_media(value: object) -> bool:
    """True if a request, or a part of one, has anything but text."""
    if isinstance(value, str):
        return value[:1] in FIRST_CHARS and bool(uri_kind(value))
    if isinstance(value, list):
        return any(map(holds_media, value))
    if not isinstance(value, Wire):
        return False
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    return any(one and name in MEDIA_FIELDS for name, one in fields.items()) or any(map(holds_media, fields.values()))


def refuse_modality(got: str, taken: Sequence[Modality], param: str, index: int | None = None) -> NoReturn:
    """Refuse a part by naming what the model takes.

    Args:
        got: what came, with its article.

    Raises:
        InputError: `unsupported_modality`, always.
    """
    names = [NAMES[one] for one in taken]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    only = " only" if len(names) == 1 else ""
    message = f"`{param}`: got {got}; this model takes {listed}{only}"
    raise InputError("unsupported_modality", message, param=param, index=index)


def refuse_media_uris(source: Source, taken: Sequence[Modality], param: str, index: int) -> None:
    """Refuse an input one of whose texts is such a data URI.

    Args:
        taken: what the model takes.

    Raises:
        InputError: with the path of the first such text, and how the medium is sent.
    """
    for path, text in texts_of(source, param):
        if text[:1] not in FIRST_CHARS or not (kind := uri_kind(text)):
            continue
        modality, name, part = _KINDS[kind]
        if modality not in taken:
            refuse_modality(f"the data URI of {name}", taken, path, index)
        message = (
            f"`{path}`: got the data URI of {name} as a text, and texts are embedded as words; send it as a content "
            f'part: `{{"content": [{part}]}}`, in `inputs` of `/v1/embeddings` and `/v2/embed`, as a line of a stream, '
            "or in place of a query or document"
        )
        raise InputError("invalid_request", message, param=path, index=index)


def broken_text(source: Source, param: str, index: int) -> InputError | None:
    """The error of the first text that is not Unicode: `schemas.parsing.decode` lets those of `per_item` through."""
    for path, text in texts_of(source, param):
        if (broken := what_is_broken(text)) is not None:
            return InputError(broken[0], f"`{path}`: {broken[1]}", param=path, index=index)
    return None
