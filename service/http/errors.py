"""Errors at the edge: from a code to its status, and to the body that the route family sends.

The table itself stands in `service.openapi.statuses`, so that what is answered is what is documented.
"""

import logging
import math
import random
from typing import Any

import msgspec
from litestar import MediaType, Request, Response
from litestar.exceptions import HTTPException
from msgspec import UNSET

from schemas.errors import CohereErrorResponse, ErrorBody, ErrorCode, ErrorResponse, ErrorType
from schemas.rule_error import RuleError
from service import metrics
from service.errors import CacheMissError, DeadlineError, ModelError, ServiceError, UnavailableError
from service.http.exchange import METHODS, told_of
from service.http.family import family_of, hint
from service.http.request_id import request_id
from service.openapi.statuses import CODES, RETRY_AFTER

logger = logging.getLogger("cenote.http")

STATUS: dict[ErrorCode, int] = {code: status for status, codes in CODES.items() for code in codes}
"""Code to HTTP status: the table that the document publishes, read the other way round."""

FRAMEWORK_CODES: dict[int, tuple[ErrorCode, str]] = {
    400: ("invalid_request", "the request is malformed"),
    404: ("route_not_found", "there is no such route"),
    405: ("method_not_allowed", "this route takes no {}; it takes {}"),
    413: ("body_too_large", "the body is larger than this server takes"),
    415: ("unsupported_media_type", "the body must be application/json"),
}
"""What Litestar raises by itself, in our words."""

LEAST_RETRY_S = 2
"""What `Retry-After` says for one input that had no room: what filled the memory is a batch's time away."""

JITTER = 0.25
"""By how much of it a wait is longer at most."""

BUG = "the service failed on this request; quote the request id in a report"
DESCRIBED = "the API is described at /openapi.json"

AnyRequest = Request[Any, Any, Any]


def error_type(status: int) -> ErrorType:
    """OpenAI's group for a status."""
    if status == 404:
        return "not_found_error"
    if status in (429, 503, 504):
        return "overloaded_error"
    return "server_error" if status >= 500 else "invalid_request_error"


def error_body(error: ServiceError | RuleError, id_: str) -> ErrorBody:
    """What a client is told of an error, as the answer's own or in the place of one item.

    Args:
        error: what was raised.
        id_: the request id.
    """
    metrics.ERRORS.labels(error.code).inc()
    return ErrorBody(
        message=placed(error),
        type=error_type(STATUS[error.code]),
        param=error.param,
        code=error.code,
        index=error.index,
        request_id=id_,
        missing=list(error.missing) if isinstance(error, CacheMissError) else UNSET,
    )


def placed(error: ServiceError | RuleError) -> str:
    """The sentence with the field or item that it is about, which is all that LangChain and the Vercel SDK show."""
    param = error.param
    if not param or f"`{param}" in error.message or error.message.startswith(param):
        return error.message
    return f"`{param}`: {error.message}"


def answer_service_error(request: AnyRequest, error: ServiceError) -> Response[bytes]:
    """A failure that the service raised on purpose."""
    headers = {}
    if STATUS[error.code] in RETRY_AFTER:
        headers = retry_headers(error)
    elif error.code == "uuid_conflict" or (isinstance(error, DeadlineError) and error.is_callers):
        headers = {"x-should-retry": "false"}  # OpenAI's clients repeat a 409 and a 504 unless they are told not to
    return _answer(request, error, headers)


def retry_headers(error: ServiceError) -> dict[str, str]:
    """When to come back: whole seconds as HTTP has it, and milliseconds as OpenAI's clients read it first.

    The milliseconds are spread at random, so that who was refused together does not come back together.
    """
    wait_s = error.retry_after_s if isinstance(error, UnavailableError) else LEAST_RETRY_S
    spread_ms = wait_s * 1000 * random.uniform(1, 1 + JITTER)  # noqa: S311  # spreads, hides nothing
    return {"Retry-After": str(math.ceil(wait_s)), "retry-after-ms": str(math.ceil(spread_ms))}


def answer_rule_error(request: AnyRequest, error: RuleError) -> Response[bytes]:
    """A request that broke the contract."""
    return _answer(request, error)


def answer_framework_error(request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """What Litestar refuses before a handler runs: an unknown path, a wrong method, a body over the limit."""
    code, message = FRAMEWORK_CODES.get(error.status_code, FRAMEWORK_CODES[400])
    if error.status_code >= 500:
        return answer_bug(request, error)
    if code == "body_too_large":
        message += f": at most {request.route_handler.resolve_request_max_body_size()} bytes"
    elif code == "route_not_found":
        message += f"; {hint(request.scope['path']) or DESCRIBED}"
    elif code == "method_not_allowed":
        method = str(request.method)
        taken = [one for one in (error.headers or {}).get("allow", "").split(", ") if one != "OPTIONS"]
        message = f"{message.format(method if method in METHODS else 'such method', ', '.join(taken))}; {DESCRIBED}"
    return _answer(request, ServiceError(code, message), dict(error.headers or {}))  # `Allow`, for a wrong method


def answer_bug(request: AnyRequest, error: Exception) -> Response[bytes]:
    """Everything else is our fault; the client learns the request id and nothing of the inside."""
    logger.error("a request failed", exc_info=error, extra={"request_id": request_id(request.scope)})
    return _answer(request, ModelError("internal_error", BUG))


HANDLERS: dict[type[Exception] | int, Any] = {
    ServiceError: answer_service_error,
    RuleError: answer_rule_error,
    HTTPException: answer_framework_error,
    Exception: answer_bug,
}


def _answer(
    request: AnyRequest, error: ServiceError | RuleError, headers: dict[str, str] | None = None
) -> Response[bytes]:
    if error.code == "body_timeout":  # whoever is slow has had its time, and its connection with it
        headers = {"connection": "close"}
    told_of(request.scope)["code"] = error.code
    encoded = error_answer(error, request_id(request.scope), request.scope["path"])
    return Response(encoded, status_code=STATUS[error.code], headers=headers, media_type=MediaType.JSON)


def error_answer(error: ServiceError | RuleError, id_: str, path: str) -> bytes:
    """The whole body of a refusal, in the form that the clients of `path` read.

    Args:
        error: what was raised.
        id_: the request id.
        path: of the request.
    """
    body = error_body(error, id_)
    # A path that leads nowhere does not say whose client asks: Cohere's form holds the other.
    is_cohere = family_of(path) == "cohere" or error.code == "route_not_found"
    shaped = CohereErrorResponse(id=id_, message=body.message, error=body) if is_cohere else ErrorResponse(error=body)
    return msgspec.json.encode(shaped)
