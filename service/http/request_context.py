"""The facts of a request on its way, kept in its ASGI scope: id, headers, log fields, tenant, arrival, caller."""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any

from litestar import Request
from litestar.types import Scope

from service.errors import InputError
from service.front.admission.key_meter import KeyMeter
from service.front.tenant import Caller, Tenant

AnyRequest = Request[Any, Any, Any]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})

PROBES = frozenset({"/livez", "/readyz", "/health", "/metrics"})
"""Paths of orchestrators and monitoring: answered whatever the load, on any host name, and logged at level debug."""

MIN_TIMEOUT_S = 0.001
"""The shortest `X-Request-Timeout`."""

TENANT = "tenant"
LINES = "lines"
"""Log field of a stream: it goes on after its answer has begun, so the rest of its time is not that of writing."""

WHOLE_BODY = "cenote_whole_body"
"""Key of the scope where all of the body has come, and is given in one message."""

_CONTEXT = "cenote_context"

_HARMLESS_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_TIMEOUT = re.compile(rb"[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?")
"""A JSON number without a sign, as clients print it: 30, 0.25, 1e-3."""


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
    """

    id: str
    headers: Mapping[bytes, bytes] = field(default_factory=dict, repr=False)
    log_fields: dict[str, object] = field(default_factory=dict)
    arrived_s: float = field(default_factory=time.monotonic)
    tenant: Tenant = field(init=False, repr=False)
    meter: KeyMeter | None = None


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
    patience_s = max_timeout_s
    if (sent := context.headers.get(b"x-request-timeout")) is not None:
        asked_s = float(sent) if _TIMEOUT.fullmatch(sent) else 0.0
        if asked_s < MIN_TIMEOUT_S:
            message = f"X-Request-Timeout: expected one number of seconds from {MIN_TIMEOUT_S:g}, such as 2.5"
            raise InputError("invalid_request", message, param="X-Request-Timeout")
        patience_s = min(asked_s, max_timeout_s)
    return Caller(context.tenant, context.arrived_s + patience_s, patience_s)
