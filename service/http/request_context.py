"""What is known of a request on its way, kept in its ASGI scope: id, log fields, tenant, arrival, caller."""

import os
import re
import time
from collections.abc import Mapping
from typing import Any, cast

from litestar import Request
from litestar.types import Scope

from service.errors import InputError
from service.front.admission.api_keys import KeyMeter
from service.front.tenant import Caller, Tenant
from service.openapi.statuses import MIN_TIMEOUT_S

AnyRequest = Request[Any, Any, Any]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})

PROBES = frozenset({"/livez", "/readyz", "/health", "/metrics"})
"""Paths of orchestrators and monitoring: answered whatever the load, on any host name, and logged at level debug."""

TENANT = "tenant"
LINES = "lines"
"""Log field of a stream: it goes on after its answer has begun, so the rest of its time is not that of writing."""

_ID = "cenote_request_id"
_LOG_FIELDS = "cenote_log_fields"
_TENANT = "cenote_tenant"
_METER = "cenote_meter"
_ARRIVED_S = "cenote_arrived_s"

_HARMLESS_ID = re.compile(rb"[A-Za-z0-9._-]{1,128}")
_TIMEOUT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?")
"""A JSON number without a sign, as clients print it: 30, 0.25, 1e-3."""


def header(scope: Mapping[str, Any], name: bytes) -> bytes:
    """The first value of a header; empty where it is absent. Servers give names in lower case."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return b""


def header_values(request: AnyRequest, name: bytes) -> list[str]:
    """All values of a header, in order. Litestar's own mapping of headers costs a short request more than the rest."""
    return [value.decode("latin-1") for key, value in request.scope["headers"] if key == name]


def open_request(scope: Scope | dict[str, Any]) -> str:
    """Give a request its id and an empty set of log fields.

    The id is the `x-request-id` that came, if it matches `[A-Za-z0-9._-]{1,128}`: it is logged and answered verbatim.
    """
    sent = header(scope, b"x-request-id")
    # Random ids are the bytes of a UUID4; `uuid` itself is slow when it is cold.
    id_ = sent.decode() if _HARMLESS_ID.fullmatch(sent) else os.urandom(16).hex()
    scope[_ID] = id_  # type: ignore[literal-required]  # ASGI lets middleware add keys
    scope[_LOG_FIELDS] = {}  # type: ignore[literal-required]
    return id_


def request_id(scope: Mapping[str, Any]) -> str:
    """The id that `open_request` chose; empty outside of it."""
    return str(scope.get(_ID, ""))


def log_fields(scope: Mapping[str, Any]) -> dict[str, object]:
    """Fields of the request's log line beside its times: numbers, codes, configured names; nothing that a client sent.

    A request without a log line has none, and what is added to the result is lost.
    """
    fields: dict[str, object] = scope.get(_LOG_FIELDS, {})
    return fields


def set_tenant(scope: Scope, tenant: Tenant, meter: KeyMeter | None = None) -> None:
    """Note whose request this is, and when it came."""
    scope[_TENANT] = tenant  # type: ignore[literal-required]
    scope[_METER] = meter  # type: ignore[literal-required]
    scope[_ARRIVED_S] = time.monotonic()  # type: ignore[literal-required]


def meter_of(request: AnyRequest) -> KeyMeter | None:
    """The meter of a request's key; None where the server has no keys."""
    meter: KeyMeter | None = request.scope[_METER]  # type: ignore[literal-required]
    return meter


def caller_of(request: AnyRequest, max_timeout_s: float) -> Caller:
    """The tenant of a request, and its deadline: `X-Request-Timeout` after it came, `max_timeout_s` at most.

    Raises:
        InputError: the header is not a number of seconds.
    """
    scope = cast(Mapping[str, Any], request.scope)
    patience_s = max_timeout_s
    if sent := header_values(request, b"x-request-timeout"):
        asked_s = float(sent[0]) if len(sent) == 1 and _TIMEOUT.fullmatch(sent[0]) else 0.0
        if asked_s < MIN_TIMEOUT_S:
            message = f"X-Request-Timeout: expected one number of seconds from {MIN_TIMEOUT_S:g}, such as 2.5"
            raise InputError("invalid_request", message, param="X-Request-Timeout")
        patience_s = min(asked_s, max_timeout_s)
    return Caller(scope[_TENANT], scope[_ARRIVED_S] + patience_s, patience_s)
