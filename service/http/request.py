"""A request on its way: its facts, kept in its ASGI scope, its caller, and its body, decoded strictly.

A body has to be of the right media type, to come in time, and to keep within the limit.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any, Generic, TypeVar

import msgspec
from litestar import Request
from litestar.exceptions.http_exceptions import RequestEntityTooLarge
from litestar.types import ASGIApp, Scope

from schemas.base import Wire
from schemas.parsing.decode import decode
from schemas.parsing.hints import shown
from service.accounting import Stages, stage
from service.errors import InputError
from service.front.admission.budget import Lease
from service.front.admission.key_meter import KeyMeter
from service.front.admission.load import ONE_BODY, ONE_MORE, Load
from service.front.serving.serving import Serving, serving_of
from service.front.tenant import Caller, Tenant
from service.front.usage import InputCounts

AnyRequest = Request[Any, Any, Any]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})

PROBES = frozenset({"/livez", "/readyz", "/health", "/metrics"})
"""Paths of orchestrators and monitoring: answered whatever the load, on any host name, and logged at level debug."""

MIN_TIMEOUT_S = 0.001
"""The shortest `X-Request-Timeout`."""

TENANT = "tenant"
LINES = "lines"
"""Log field of a stream: it goes on after its answer has begun, so the rest of its time is not that of writing."""

JSON = b"application/json"

WHOLE_BODY = "cenote_whole_body"
"""Key of the scope where all of the body has come, and is given in one message."""

_CONTEXT = "cenote_context"

CHARSETS = ("utf-8", "utf8")
"""JSON between systems is UTF-8 (RFC 8259 section 8.1); the second name is a common misspelling."""

MAX_BYTES_ON_LOOP = 1 << 16
"""Larger bodies are checked and decoded in a thread."""

BODY_TIMES = 1.5
"""So many times as long as a head a body may take, and longer while it arrives at the minimum rate."""

_HARMLESS_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_TIMEOUT = re.compile(rb"[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?")
"""A JSON number without a sign, as clients print it: 30, 0.25, 1e-3."""

W = TypeVar("W", bound=Wire)


@dataclass(slots=True)
class RequestContext:
    """The facts of one request.

    Attributes:
        id: logged and answered verbatim.
        headers: by name; several of one name as one, with commas between (RFC 9110 section 5.3).
        log_fields: fields of its log line beside its times: numbers, codes, configured names; nothing that a client
            sent.
        arrived_s: by `time.monotonic`.
        tenant: whose request it is; there is one once `Guard` has let the request pass.
        meter: of its key; None where the server has no keys.
        stages: the times of its stages.
    """

    id: str
    headers: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    log_fields: dict[str, object] = field(default_factory=dict)
    arrived_s: float = field(default_factory=time.monotonic)
    tenant: Tenant = field(init=False, repr=False)
    meter: KeyMeter | None = None
    stages: Stages = field(default_factory=Stages, repr=False)
    num_inputs: int = 0
    counts: InputCounts = field(default_factory=InputCounts, repr=False)


def open_request(scope: Scope | dict[str, Any]) -> RequestContext:
    """Give a request its context.

    Its id is the `x-request-id` that came, if it matches `[A-Za-z0-9._-]{1,128}`.
    """
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value
    sent = headers.get(b"x-request-id", b"")
    # No secret, so not from the system, which is asked for the generator's seed alone.
    context = RequestContext(sent.decode() if _HARMLESS_ID.fullmatch(sent) else f"{getrandbits(128):032x}", headers)
    scope[_CONTEXT] = context  # type: ignore[literal-required]  # ASGI lets middleware add keys
    return context


def context_of(scope: Mapping[str, Any]) -> RequestContext:
    """The context of a request; one without an id where it has no log line."""
    context: RequestContext = scope.get(_CONTEXT) or RequestContext("")
    return context


def caller_of(context: RequestContext, max_timeout_s: float) -> Caller:
    """The tenant of a request, and its deadline: `X-Request-Timeout` after it came, `max_timeout_s` at most.

    Raises:
        InputError: the header is not a number of seconds.
    """
    sent = context.headers.get(b"x-request-timeout")
    patience_s = max_timeout_s if sent is None else min(_seconds(sent), max_timeout_s)
    return Caller(context.tenant, context.arrived_s + patience_s, patience_s)


def _seconds(sent: bytes) -> float:
    asked_s = float(sent) if _TIMEOUT.fullmatch(sent) else 0.0
    if asked_s < MIN_TIMEOUT_S:
        message = f"X-Request-Timeout: expected one number of seconds from {MIN_TIMEOUT_S:g}, such as 2.5"
        raise InputError("invalid_request", message, param="X-Request-Timeout")
    return asked_s


class Call(msgspec.Struct, Generic[W], frozen=True, eq=False):
    """A request whose body has been read."""

    serving: Serving
    context: RequestContext
    caller: Caller
    body: W
    num_bytes: int


def reads(
    type_: type[W],
) -> Callable[[Callable[[Call[W]], Awaitable[ASGIApp]]], Callable[[AnyRequest], Awaitable[ASGIApp]]]:
    """Decorates the handler of a body that is a `type_`; its bytes count in the queue until the handler has returned.

    Raises:
        RequestEntityTooLarge: the body is larger than its route takes.
        UnavailableError: the queue is full, or too many bytes are held already.
        InputError: the body is not marked as JSON in UTF-8, is compressed, comes too slowly, or ends too early.
        RuleError: the body is not what the schema says.
    """

    def decorated(handle: Callable[[Call[W]], Awaitable[ASGIApp]]) -> Callable[[AnyRequest], Awaitable[ASGIApp]]:
        async def read_and_handle(request: AnyRequest) -> ASGIApp:
            serving, context = serving_of(request.app), context_of(request.scope)
            caller, settings = caller_of(context, serving.settings.request_timeout_s), serving.settings
            length = context.headers.get(b"content-length", b"")
            num_announced = int(length) if length.isdigit() else 0
            max_bytes = request.route_handler.resolve_request_max_body_size() or settings.max_body_bytes
            # Only received bytes are counted (`add_bytes`): who announces much and sends little holds little.
            to_come = Load(num_bytes=min(num_announced, max_bytes))
            lease = serving.queue.take(caller.tenant, ONE_BODY, ONE_MORE, to_come)
            try:
                if context.headers.get(b"content-type") != JSON or b"content-encoding" in context.headers:
                    check_kind(context, JSON)
                with stage("body"):
                    if num_announced > max_bytes:
                        raise RequestEntityTooLarge
                    chunks = await _read(request, serving, lease, max_bytes)
                with stage("decode"):
                    num_bytes, ignores = sum(map(len, chunks)), settings.unknown_fields == "ignore"
                    if num_bytes <= MAX_BYTES_ON_LOOP:
                        body = decode(b"".join(chunks), type_, ignore_unknown=ignores)
                    else:
                        body = await serving.bodies.run(lambda: _decode(chunks, type_, ignores), num_bytes)
                    chunks.clear()
                return await handle(Call(serving, context, caller, body, num_bytes))
            finally:
                lease.close()

        return read_and_handle

    return decorated


def _decode(chunks: list[bytes], type_: type[W], ignores: bool) -> W:
    raw = b"".join(chunks)
    chunks.clear()
    return decode(raw, type_, ignore_unknown=ignores)


async def _read(request: AnyRequest, serving: Serving, lease: Lease, max_bytes: int) -> list[bytes]:
    """All bytes of the body, if they come within a fixed time, and longer for as long as they come fast enough.

    Litestar's own `stream` makes a mapping of all headers first, which costs a short request more than the rest.

    Source: Apache's mod_reqtimeout, `body=15,MinRate=16000`.
    """
    settings, began_s = serving.settings, asyncio.get_running_loop().time()
    # Where all of it has come there is no timer, which would cost more than all else here.
    body_s = BODY_TIMES * settings.receive_timeout_s
    timeout_s = None if WHOLE_BODY in request.scope else body_s
    chunks: list[bytes] = []
    num_bytes, is_more = 0, True
    try:
        async with asyncio.timeout(timeout_s) as deadline:
            while is_more:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    await asyncio.Event().wait()  # the server cancels the request of a client that has gone
                assert message["type"] == "http.request"
                chunk, is_more = message["body"], message.get("more_body", False)
                num_bytes += len(chunk)
                if num_bytes > max_bytes:
                    raise RequestEntityTooLarge
                lease.add_bytes(len(chunk))
                chunks.append(chunk)
                if is_more:
                    fair_s = body_s + num_bytes / settings.min_bytes_per_s
                    deadline.reschedule(began_s + min(fair_s, settings.request_timeout_s))
    except TimeoutError:
        raise InputError("body_timeout", f"the body: {num_bytes} bytes came, then too little for too long") from None
    return chunks


def check_kind(context: RequestContext, media_type: bytes) -> None:
    """Refuse a body that its headers mark as another media type than the route's, as compressed, or as not in UTF-8."""
    sent = context.headers.get(b"content-type", b"")
    # Programs that name no type send JSON. A page can send a body without one to any server, with its origin beside it.
    if sent != media_type and (sent or media_type != JSON or b"origin" in context.headers):
        _check_media_type(sent.decode("latin-1"), media_type.decode())
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
