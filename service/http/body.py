"""A request's body: the right media type, within the limit, decoded strictly by the route's own schema."""

from typing import TypeVar

from litestar.exceptions import InternalServerException

from schemas.base import Wire
from schemas.decode import decode
from service.errors import InputError
from service.http.errors import AnyRequest

CHARSETS = ("utf-8", "utf8")
"""JSON between systems is UTF-8 (RFC 8259 section 8.1); the second name is how many write it."""

W = TypeVar("W", bound=Wire)


def announced_bytes(request: AnyRequest, max_bytes: int) -> int:
    """How many bytes a body may turn out to have: what Content-Length says, or the limit when it says nothing."""
    announced = request.headers.get("content-length", "")
    return min(int(announced), max_bytes) if announced.isascii() and announced.isdigit() else max_bytes


async def read_body(request: AnyRequest, type_: type[W], *, ignore_unknown: bool) -> W:
    """The body as a `type_`.

    Raises:
        InputError: the body is not marked as JSON in UTF-8, is compressed, or ends too early.
        RuleError: the body is not what the schema says.
    """
    _check_media_type(request.headers.get("content-type", ""))
    if (coding := request.headers.get("content-encoding", "identity").lower()) != "identity":
        raise InputError("unsupported_media_type", f"Content-Encoding: got {coding[:64]!r}, expected none")
    try:
        raw = await request.body()
    except InternalServerException:  # Litestar's word for a client that hung up; nobody will read the answer
        raise InputError("invalid_request", "the body: got less than was announced") from None
    return decode(raw, type_, ignore_unknown=ignore_unknown)


def _check_media_type(header: str) -> None:
    media_type, *parameters = (part.strip() for part in header.split(";"))
    if media_type.lower() != "application/json":
        got = repr(media_type[:64]) if media_type else "nothing"
        raise InputError("unsupported_media_type", f"Content-Type: got {got}, expected 'application/json'")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in CHARSETS:
            raise InputError("unsupported_media_type", "Content-Type: got another charset, expected utf-8 or none")
