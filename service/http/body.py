"""A request's body: the right media type, within the limit, decoded strictly by the route's own schema."""

from typing import TypeVar

from litestar.exceptions import InternalServerException

from schemas.base import Wire
from schemas.decode import decode
from service.errors import InputError
from service.http.errors import AnyRequest

W = TypeVar("W", bound=Wire)


def announced_bytes(request: AnyRequest, max_bytes: int) -> int:
    """How many bytes a body may turn out to have: what Content-Length says, or the limit when it says nothing."""
    announced = request.headers.get("content-length", "")
    return min(int(announced), max_bytes) if announced.isascii() and announced.isdigit() else max_bytes


async def read_body(request: AnyRequest, type_: type[W], *, ignore_unknown: bool) -> W:
    """The body as a `type_`.

    Raises:
        InputError: the body is not marked as JSON, is compressed, or ends too early.
        RuleError: the body is not what the schema says.
    """
    media_type = request.headers.get("content-type", "")
    if media_type.partition(";")[0].strip().lower() != "application/json":
        shown = media_type.partition(";")[0].strip()[:64]
        got = repr(shown) if shown else "nothing"
        raise InputError("unsupported_media_type", f"Content-Type: got {got}, expected 'application/json'")
    if (coding := request.headers.get("content-encoding", "identity").lower()) != "identity":
        raise InputError("unsupported_media_type", f"Content-Encoding: got {coding[:64]!r}, expected none")
    try:
        raw = await request.body()
    except InternalServerException:  # Litestar's word for a client that hung up; nobody will read the answer
        raise InputError("invalid_request", "the body: got less than was announced") from None
    return decode(raw, type_, ignore_unknown=ignore_unknown)
