"""Who sent a request, and how long the client will wait for the answer."""

import re
import time
from collections.abc import Mapping
from typing import Any

from service.errors import InputError
from service.front.key_meter import KeyMeter
from service.front.tenant import Caller, Tenant
from service.http.errors import AnyRequest
from service.openapi.statuses import MIN_TIMEOUT_S

TIMEOUT_HEADER = "x-request-timeout"
TIMEOUT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?([eE][+-]?[0-9]{1,3})?")
"""A JSON number without a sign, which is what clients print: 30, 0.25, 1e-3."""


def mark(scope: Mapping[str, Any], tenant: Tenant, meter: KeyMeter | None = None) -> dict[str, Any]:
    """The scope with what `caller_of` and `meter_of` need.

    Args:
        scope: of an HTTP request that has just come.
        tenant: whose it is.
        meter: of its key, where there are keys.
    """
    return {**scope, "cenote_tenant": tenant, "cenote_meter": meter, "cenote_arrived_s": time.monotonic()}


def meter_of(request: AnyRequest) -> KeyMeter | None:
    """The meter of a request's key; None where nobody is asked for one."""
    meter: KeyMeter | None = request.scope["cenote_meter"]  # type: ignore[typeddict-item]  # ASGI lets rings add keys
    return meter


def caller_of(request: AnyRequest, max_timeout_s: float) -> Caller:
    """Whose request it is, and its deadline: `X-Request-Timeout` after it came, or the server's limit if sooner.

    Args:
        request: one that came through the guard.
        max_timeout_s: the server's own limit, which holds when the header asks for more or is not there.

    Raises:
        InputError: the header is not a number of seconds.
    """
    patience_s = min(_asked_s(request.headers.getall(TIMEOUT_HEADER, [])), max_timeout_s)
    arrived_s: float = request.scope["cenote_arrived_s"]  # type: ignore[typeddict-item]  # ASGI lets rings add keys
    return Caller(request.scope["cenote_tenant"], arrived_s + patience_s, patience_s)  # type: ignore[typeddict-item]


def _asked_s(values: list[str]) -> float:
    if not values:
        return float("inf")
    asked_s = float(values[0]) if len(values) == 1 and TIMEOUT.fullmatch(values[0]) else 0.0
    if asked_s < MIN_TIMEOUT_S:
        message = f"X-Request-Timeout: expected one number of seconds from {MIN_TIMEOUT_S:g}, such as 2.5"
        raise InputError("invalid_request", message, param="X-Request-Timeout")
    return asked_s
