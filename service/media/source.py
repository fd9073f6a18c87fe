"""Media that a request carries itself: a data URI or bare base64.

Refuses URLs: `fetch/` and `local_file.py` read those that are allowed. Opens no file and no socket.
"""

import binascii
import re
from collections.abc import Mapping
from typing import Literal, NoReturn

from service.media.error_location import NO_LOCATION, ErrorLocation
from service.media.item import MediaKind

MIN_UNPADDED_CHARS = 100
"""A shorter text with a slash and no padding is a path: no image and no audio is so small, but for some GIFs."""


_ESCAPES = {"2b": "+", "2B": "+", "2f": "/", "2F": "/", "3d": "=", "3D": "=", "0a": "", "0A": "", "0d": "", "0D": ""}
"""Percent-encoded, and what they stand for in base64."""


def in_one_line(text: str) -> str:
    """Base64 without what it was folded into lines or percent-encoded with; any other text but for its end as it is."""
    if "%" in text:
        for escape, sign in _ESCAPES.items():
            text = text.replace(f"%{escape}", sign)
    if "\n" in text or "\r" in text:
        text = text.replace("\r", "").replace("\n", "")
    return text.rstrip()


def decode_base64(text: str) -> bytes:
    """The bytes that a text in one line stands for.

    Python's own strict mode passes over `=` after a group that is full, so that `QUJD` and `QUJD=` were the same.

    Raises:
        ValueError: it is anything else.
    """
    num_missing = -len(text) % 4
    if text.endswith("===") or num_missing == 3:
        raise ValueError("at most two signs are padding")
    if num_missing == 0:
        try:
            return binascii.a2b_base64(text, strict_mode=True)
        except ValueError:
            return binascii.a2b_base64(_standard(text), strict_mode=True)
    if text.endswith("=") or ("/" in text and len(text) < MIN_UNPADDED_CHARS):
        raise ValueError("padding is complete or missing altogether")
    return binascii.a2b_base64(_standard(text) + "=" * num_missing, strict_mode=True)


def _standard(text: str) -> str:
    """A text of the URL-safe alphabet in the standard one.

    Raises:
        ValueError: it mixes the two.
    """
    if "-" not in text and "_" not in text:
        return text
    if "+" in text or "/" in text:
        raise ValueError("base64 has one alphabet, not two")
    return text.replace("-", "+").replace("_", "/")


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):")
_PATH_SIGNS = frozenset("./\\~")
SourceKind = MediaKind | Literal["PDF"]
"""Kind of content that a source should hold, as errors name it."""

_ACCEPTED: Mapping[SourceKind, str] = {
    "image": "send a data URI such as `data:image/png;base64,...`, or bare base64",
    "video": "send a data URI such as `data:video/mp4;base64,...`, or bare base64",
    "PDF": "send a data URI such as `data:application/pdf;base64,...`, or bare base64",
    "audio": "send a data URI such as `data:audio/wav;base64,...`, or bare base64",
}


def read_source(
    text: str, *, max_bytes: int, location: ErrorLocation = NO_LOCATION, what: SourceKind = "image"
) -> bytes:
    """Return the encoded bytes that a data URI or bare base64 carries.

    The media type of a data URI is ignored: `header.read_header` looks at the bytes themselves. Base64 may be of either
    alphabet, padded or not, folded into lines, and percent-encoded. No space is passed over: it may have been a `+`.

    Args:
        text: `data:[<type>];base64,<data>` or `<data>`.
        max_bytes: largest number of decoded bytes accepted. Checked on the length of the base64, before decoding.

    Returns:
        The decoded bytes, at least one and at most `max_bytes`.

    Source: RFC 2397 (data URIs), RFC 4648 section 4 (base64), RFC 2045 section 6.8 (lines), docs/notes/security.md
    """
    data = text
    if (scheme := _SCHEME.match(text)) is not None:
        if scheme[1].lower() != "data":
            _refuse_scheme(scheme[1].lower(), location, what)
        media_type, comma, data = text[scheme.end() :].partition(",")
        if not comma or not media_type.lower().endswith(";base64"):
            message = f"The data URI of the {what} is not marked `;base64`; {_ACCEPTED[what]}."
            location.refuse("media_undecodable", message)
    data = in_one_line(data)
    if not data:
        location.refuse("media_undecodable", f"The {what} is empty; {_ACCEPTED[what]}.")
    num_bytes = len(data) * 3 // 4 - data[-2:].count("=")
    if num_bytes > max_bytes:
        location.refuse("media_too_large", f"The {what} file has {num_bytes} bytes; at most {max_bytes} are accepted.")
    try:
        return decode_base64(data)
    except ValueError:  # binascii.Error is one
        return _refuse_not_base64(data, location, what)


def scheme_of(text: str) -> str | None:
    """The scheme that a source begins with, in lower case; None for bare base64."""
    scheme = _SCHEME.match(text)
    return scheme[1].lower() if scheme else None


def _refuse_scheme(scheme: str, location: ErrorLocation, what: SourceKind) -> NoReturn:
    if scheme in ("http", "https"):
        location.refuse(
            "media_source_refused",
            f"The {what} is given as an {scheme} URL, and URL fetching is not enabled on this server: "
            f"{_ACCEPTED[what]}.",
        )
    message = f"The {what} is given with the scheme `{scheme}:`, never opened: {_ACCEPTED[what]}."
    location.refuse("media_source_refused", message)


def _refuse_not_base64(data: str, location: ErrorLocation, what: SourceKind) -> NoReturn:
    if scheme_of(data) == "data":
        message = f"The data URI of the {what} begins twice, `data:...,data:...`; send it with one beginning."
        location.refuse("media_undecodable", message)
    if _PATH_SIGNS.intersection(data[:64]) and len(data) < 4096:
        message = f"The {what} looks like a path, and no path is ever opened: {_ACCEPTED[what]}."
        location.refuse("media_source_refused", message)
    if "%" in data:
        message = f"The {what} is percent-encoded beyond the signs of base64; {_ACCEPTED[what]}."
        location.refuse("media_undecodable", message)
    location.refuse(
        "media_undecodable",
        f"The {what} is not valid base64: one alphabet, standard or URL-safe, whole padding or none, and no spaces "
        "inside are needed.",
    )
