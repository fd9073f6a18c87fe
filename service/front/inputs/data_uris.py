"""Texts that are a medium's data URI from end to end: what stands in them is never embedded as words."""

import re
from collections.abc import Sequence

from service.errors import InputError
from service.front.inputs.modality import refuse_modality
from service.front.inputs.sources import texts_of
from service.front.job import Source
from service.prompt.profile.profile import Modality

_FIRST_CHARS = frozenset("dD \t\r\n")
"""Of such a text: any other is told by one look."""

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


def is_media_uri(text: str) -> bool:
    """True if a text is one data URI of an image, a video, audio or a PDF, and nothing else."""
    return text[:1] in _FIRST_CHARS and _kind_of(text) is not None


def refuse_media_uris(source: Source, taken: Sequence[Modality], param: str, index: int) -> None:
    """Refuse an input one of whose texts is such a data URI.

    Args:
        taken: what the model takes.

    Raises:
        InputError: with the path of the first such text, and how the medium is sent.
    """
    for path, text in texts_of(source, param):
        if text[:1] not in _FIRST_CHARS or (kind := _kind_of(text)) is None:
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


def _kind_of(text: str) -> str | None:
    found = _URI.fullmatch(text.strip())
    if found is None:
        return None
    kind = found["kind"].lower()
    return kind if kind != "application" or found["subtype"].lower() == "pdf" else None
