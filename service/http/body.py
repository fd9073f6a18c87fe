"""A request's body: the right media type, in time, within the limit, decoded strictly by the route's own schema."""

import asyncio
from typing import Generic, Self, TypeVar

import msgspec
from litestar.exceptions.http_exceptions import RequestEntityTooLarge

from schemas.base import Wire
from schemas.parsing.decode import decode
from schemas.parsing.hints import shown
from schemas.parsing.structure import check_structure
from service.errors import InputError
from service.front.admission.budget import Lease
from service.front.admission.shared_table import ONE_BODY, ONE_MORE, Load
from service.front.serving.serving import Serving, serving_of
from service.front.tenant import Caller
from service.http.request_context import WHOLE_BODY, AnyRequest, RequestContext, caller_of, context_of
from service.stages import stage

CHARSETS = ("utf-8", "utf8")
"""JSON between systems is UTF-8 (RFC 8259 section 8.1); the second name is a common misspelling."""

MAX_BYTES_ON_LOOP = 1 << 16
"""Larger bodies are checked and decoded in a thread."""

W = TypeVar("W", bound=Wire)


class Call(msgspec.Struct, Generic[W], frozen=True, eq=False):
    """A request whose body has been read. Its bytes are counted in the queue until its `with` is left.

    Attributes:
        num_bytes: of the body.
        lease: what it holds of the queue.
    """

    serving: Serving
    context: RequestContext
    caller: Caller
    body: W
    num_bytes: int
    lease: Lease

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.lease.close()


async def read_call(request: AnyRequest, type_: type[W]) -> Call[W]:
    """The body as a `type_`, with its caller, for a `with`.

    Raises:
        RequestEntityTooLarge: the body is larger than its route takes.
        UnavailableError: the queue is full, or too many bytes are held already.
        InputError: the body is not marked as JSON in UTF-8, is compressed, comes too slowly, or ends too early.
        RuleError: the body is not what the schema says.
    """
    serving, context = serving_of(request.app), context_of(request.scope)
    caller = caller_of(context, serving.settings.request_timeout_s)
    length = context.headers.get(b"content-length", b"")
    num_announced = int(length) if length.isdigit() else 0
    max_bytes = request.route_handler.resolve_request_max_body_size() or serving.settings.max_body_bytes
    # Only received bytes are counted (`add_bytes`): who announces much and sends little holds little.
    to_come = Load(num_bytes=min(num_announced, max_bytes))
    lease = serving.queue.take(caller.tenant, ONE_BODY, ONE_MORE, to_come)
    try:
        check_kind(context, "application/json")
        with stage("body"):
            if num_announced > max_bytes:
                raise RequestEntityTooLarge
            chunks = await _read(request, serving, lease, max_bytes)
        with stage("decode"):
            num_bytes = sum(map(len, chunks))
            if num_bytes <= MAX_BYTES_ON_LOOP:
                body = _decode(chunks, type_, serving)
            else:
                body = await serving.bodies.run(lambda: _decode(chunks, type_, serving), num_bytes)
    except BaseException:  # cancelled, for one
        lease.close()
        raise
    return Call(serving, context, caller, body, num_bytes, lease)


def _decode(chunks: list[bytes], type_: type[W], serving: Serving) -> W:
    raw = b"".join(chunks)
    chunks.clear()
    check_structure(raw)
    return decode(raw, type_, ignore_unknown=serving.settings.unknown_fields == "ignore")


async def _read(request: AnyRequest, serving: Serving, lease: Lease, max_bytes: int) -> list[bytes]:
    """All bytes of the body, if they come within a fixed time, and longer for as long as they come fast enough.

    Litestar's own `stream` makes a mapping of all headers first, which costs a short request more than the rest.

    Source: Apache's mod_reqtimeout, `body=15,MinRate=16000`.
    """
    settings, began_s = serving.settings, asyncio.get_running_loop().time()
    # Where all of it has come there is no timer, which would cost more than all else here.
    timeout_s = None if WHOLE_BODY in request.scope else settings.body_timeout_s
    chunks: list[bytes] = []
    num_bytes, is_more = 0, True
    try:
        async with asyncio.timeout(timeout_s) as deadline:
            while is_more:
                message = await request.receive()
                assert message["type"] == "http.request"  # `AccessLog` passes no disconnect on
                chunk, is_more = message["body"], message.get("more_body", False)
                num_bytes += len(chunk)
                if num_bytes > max_bytes:
                    raise RequestEntityTooLarge
                lease.add_bytes(len(chunk))
                chunks.append(chunk)
                if is_more:
                    fair_s = settings.body_timeout_s + num_bytes / settings.min_bytes_per_s
                    deadline.reschedule(began_s + min(fair_s, settings.request_timeout_s))
    except TimeoutError:
        raise InputError("body_timeout", f"the body: {num_bytes} bytes came, then too little for too long") from None
    return chunks


def check_kind(context: RequestContext, media_type: str) -> None:
    """Refuse a body that its headers mark as another media type than the route's, as compressed, or as not in UTF-8.

    Raises:
        InputError: it is.
    """
    sent = context.headers.get(b"content-type", b"").decode("latin-1")
    if sent != media_type:
        _check_media_type(sent, media_type)
    coding = context.headers.get(b"content-encoding", b"identity").decode("latin-1")
    if coding.strip().lower() != "identity":
        raise InputError("unsupported_media_type", f"Content-Encoding: got {_shown(coding)}, expected none")


def _check_media_type(sent: str, wanted: str) -> None:
    media_type, *parameters = (part.strip() for part in sent.split(";"))
    if media_type.lower() != wanted:
        raise InputError("unsupported_media_type", f"Content-Type: got {_shown(media_type)}, expected '{wanted}'")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip().strip('"').lower() not in CHARSETS:
            raise InputError("unsupported_media_type", "Content-Type: got another charset, expected utf-8 or none")


def _shown(value: str) -> str:
    """A header's value, if it is short and a plain name."""
    return (shown(value) or "something else") if value else "nothing"
