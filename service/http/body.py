"""A request's body: the right media type, in time, within the limit, decoded strictly by the route's own schema."""

import asyncio
from typing import TypeVar

from litestar.exceptions import InternalServerException

from schemas.base import Wire
from schemas.decode import decode
from schemas.shown import shown
from schemas.structure import check_structure
from service.errors import InputError
from service.front.admission import Place
from service.front.serving import Serving, serving_of
from service.http.errors import AnyRequest
from service.stages import stage

CHARSETS = ("utf-8", "utf8")
"""JSON between systems is UTF-8 (RFC 8259 section 8.1); the second name is how many write it."""

MAX_BYTES_ON_LOOP = 1 << 16
"""Larger bodies are looked through and decoded in a thread."""

W = TypeVar("W", bound=Wire)


def announced_bytes(request: AnyRequest, max_bytes: int) -> int:
    """How many bytes a body will have, as far as is said: what Content-Length says, at most the limit, or 0."""
    announced = request.headers.get("content-length", "")
    return min(int(announced), max_bytes) if announced.isascii() and announced.isdigit() else 0


async def read_body(request: AnyRequest, type_: type[W], room: Place, *, ignore_unknown: bool) -> W:
    """The body as a `type_`.

    Args:
        request: whose body.
        type_: the route's schema.
        room: where its bytes are counted as they come.
        ignore_unknown: pass over fields that the schema does not have.

    Raises:
        UnavailableError: too many bytes are held already.
        InputError: the body is not marked as JSON in UTF-8, is compressed, comes too slowly, or ends too early.
        RuleError: the body is not what the schema says.
    """
    check_kind(request, "application/json")
    with stage("body"):
        raw = await _read(request, serving_of(request.app), room)

    def make() -> W:
        check_structure(raw)
        return decode(raw, type_, ignore_unknown=ignore_unknown)

    with stage("decode"):
        if len(raw) <= MAX_BYTES_ON_LOOP:
            return make()
        return await serving_of(request.app).bodies.run(make, len(raw))


async def _read(request: AnyRequest, serving: Serving, room: Place) -> bytes:
    """All bytes of the body, if they come in time: a fixed one, and longer for as long as they come fast enough.

    Source: Apache's mod_reqtimeout, `body=15,MinRate=16000`.
    """
    settings, began_s = serving.settings, asyncio.get_running_loop().time()
    chunks: list[bytes] = []
    num_bytes = 0
    try:
        async with asyncio.timeout(settings.body_timeout_s) as deadline:
            async for chunk in request.stream():
                if not chunk:  # Litestar's last one
                    continue
                serving.admission.add_bytes(room, len(chunk))
                chunks.append(chunk)
                num_bytes += len(chunk)
                fair_s = settings.body_timeout_s + num_bytes / settings.min_bytes_per_s
                deadline.reschedule(began_s + min(fair_s, settings.request_timeout_s))
    except TimeoutError:
        raise InputError("body_timeout", f"the body: {num_bytes} bytes came, then too little for too long") from None
    except InternalServerException:  # Litestar's word for a client that hung up; nobody will read the answer
        raise InputError("invalid_request", "the body: got less than was announced") from None
    return b"".join(chunks)


def check_kind(request: AnyRequest, media_type: str) -> None:
    """Pass where a body is said to be of the right kind.

    Args:
        request: whose body.
        media_type: what the route takes.

    Raises:
        InputError: it is marked as something else, is compressed, or is not in UTF-8.
    """
    _check_media_type(", ".join(request.headers.getall("content-type", [])), media_type)
    _check_coding(", ".join(request.headers.getall("content-encoding", ["identity"])))


def _check_media_type(header: str, wanted: str) -> None:
    media_type, *parameters = (part.strip() for part in header.split(";"))
    if media_type.lower() != wanted:
        raise InputError("unsupported_media_type", f"Content-Type: got {_shown(media_type)}, expected '{wanted}'")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in CHARSETS:
            raise InputError("unsupported_media_type", "Content-Type: got another charset, expected utf-8 or none")


def _check_coding(header: str) -> None:
    if header.strip().lower() != "identity":
        raise InputError("unsupported_media_type", f"Content-Encoding: got {_shown(header)}, expected none")


def _shown(value: str) -> str:
    """A header's value, if it is a plain name and short."""
    return (shown(value) or "something else") if value else "nothing"
