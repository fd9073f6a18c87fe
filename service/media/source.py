"""The bytes that a client wrote itself: a data URI or bare base64, and nothing else.

In: the string that a client wrote. Out: the encoded bytes of a picture file, within a byte limit.
Knows nothing of URLs beyond refusing them (`fetch/` and `local_file.py` read those that are allowed), opens no file
and no socket, and does not look at what the bytes are.
"""

import re
from collections.abc import Mapping
from typing import Literal, NoReturn

from service.media.base64_text import decode_base64, num_decoded
from service.media.blame import Blame

What = Literal["image", "video", "audio"]
"""What a client wrote the source of, as errors call it."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):")
_PATH_SIGNS = frozenset("./\\~")
_ACCEPTED: Mapping[What, str] = {
    "image": "send a data URI such as `data:image/png;base64,...`, or bare base64",
    "video": "send a data URI such as `data:video/mp4;base64,...`, or bare base64",
    "audio": "send a data URI such as `data:audio/wav;base64,...`, or bare base64",
}


def read_source(
    text: str, *, max_bytes: int, param: str | None = None, index: int | None = None, what: What = "image"
) -> bytes:
    """Return the encoded bytes that a data URI or bare base64 carries.

    The media type of a data URI is ignored: `header.read_header` looks at the bytes themselves. Base64 may be of either
    alphabet, padded or not; white space is passed over at its end and nowhere else.

    Args:
        text: `data:[<type>];base64,<data>` or `<data>`.
        max_bytes: largest number of decoded bytes accepted. Checked on the length of the base64, before decoding.
        param: path of the field, for the error.
        index: input of the batch, for the error.
        what: the source of which it is, for the error.

    Returns:
        The decoded bytes, at least one and at most `max_bytes`.

    Raises:
        MediaError: `media_source_refused`, `media_undecodable` or `media_too_large`.

    Source: RFC 2397 (data URIs), RFC 4648 section 4 (base64), reference/security-reliability.md section 3.
    """
    blame = Blame(param, index)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _decode(text, max_bytes, blame, what)
    if scheme[1].lower() != "data":
        _refuse_scheme(scheme[1].lower(), blame, what)
    media_type, comma, data = text[scheme.end() :].partition(",")
    if not comma or not media_type.lower().endswith(";base64"):
        blame.refuse("media_undecodable", f"The data URI of the {what} is not marked `;base64`; {_ACCEPTED[what]}.")
    return _decode(data, max_bytes, blame, what)


def scheme_of(text: str) -> str | None:
    """The scheme that a source begins with, in lower case; None for bare base64."""
    scheme = _SCHEME.match(text)
    return scheme[1].lower() if scheme else None


def _refuse_scheme(scheme: str, blame: Blame, what: What) -> NoReturn:
    if scheme in ("http", "https"):
        blame.refuse(
            "media_source_refused",
            f"The {what} is given as an {scheme} URL, and URL fetching is not enabled on this server: "
            f"{_ACCEPTED[what]}.",
        )
    message = f"The {what} is given with the scheme `{scheme}:`, never opened: {_ACCEPTED[what]}."
    blame.refuse("media_source_refused", message)


def _decode(data: str, max_bytes: int, blame: Blame, what: What) -> bytes:
    data = data.rstrip()
    if not data:
        blame.refuse("media_undecodable", f"The {what} is empty; {_ACCEPTED[what]}.")
    num_bytes = num_decoded(data)
    if num_bytes > max_bytes:
        blame.refuse("media_too_large", f"The {what} file has {num_bytes} bytes; at most {max_bytes} are accepted.")
    try:
        return decode_base64(data)
    except ValueError:  # binascii.Error is one
        return _refuse_not_base64(data, blame, what)


def _refuse_not_base64(data: str, blame: Blame, what: What) -> NoReturn:
    if _PATH_SIGNS.intersection(data[:64]) and len(data) < 4096:
        message = f"The {what} looks like a path, and no path is ever opened: {_ACCEPTED[what]}."
        blame.refuse("media_source_refused", message)
    blame.refuse(
        "media_undecodable",
        f"The {what} is not valid base64: one alphabet, standard or URL-safe, whole padding or none, and no white "
        "space or line breaks inside are needed.",
    )
