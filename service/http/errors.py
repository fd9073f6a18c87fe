"""Errors as answers: a code's HTTP status, and the body in the API dialect of the route.

The table of codes and statuses stands in `service.statuses`, so that what is answered is what is documented.
"""

import logging
import math
import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from litestar import MediaType, Response
from litestar.exceptions import HTTPException
from litestar.types import Scope, Send
from msgspec import UNSET

from schemas.endpoints.ollama import OllamaErrorResponse
from schemas.errors import CohereErrorResponse, ErrorBody, ErrorCode, ErrorResponse, ErrorType, RuleError
from service import metrics
from service.errors import CacheMissError, DeadlineError, ModelError, ServiceError, UnavailableError
from service.http.api_dialect import dialect_of, hint
from service.http.request import METHODS, AnyRequest, context_of
from service.statuses import CODES, RETRY_AFTER

logger = logging.getLogger("cenote.http")

STATUS: dict[ErrorCode, int] = {code: status for status, codes in CODES.items() for code in codes}
"""HTTP status by code: the inverse of the table that the document publishes."""

FRAMEWORK_CODES: dict[int, tuple[ErrorCode, str]] = {
    400: ("invalid_request", "the request is malformed"),
    404: ("route_not_found", "there is no such route"),
    405: ("method_not_allowed", "this route takes no {}; it takes {}"),
    413: ("body_too_large", "the body is larger than this server takes"),
    415: ("unsupported_media_type", "the body must be application/json"),
}
"""Codes and sentences for what Litestar raises by itself."""

LEAST_RETRY_S = 2
"""`Retry-After` where an input had no room in memory: a batch takes about that long."""

JITTER = 0.25
"""Largest random extension of a wait, as a part of it."""

BUG = "the service failed on this request; quote the request id in a report"
DESCRIBED = "the API is described at /openapi.json"


def error_type(status: int) -> ErrorType:
    """OpenAI's group for a status."""
    if status == 404:
        return "not_found_error"
    if status in (429, 503, 504):
        return "overloaded_error"
    return "server_error" if status >= 500 else "invalid_request_error"


def report_error(error: ServiceError | RuleError, id_: str) -> ErrorBody:
    """Count an error that a client gets, and make its body: of the whole answer, or in the place of one item."""
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
    """The sentence, with the field that it is about: LangChain and the Vercel SDK show nothing else."""
    param = error.param
    if not param or f"`{param}" in error.message or error.message.startswith(param):
        return error.message
    return f"`{param}`: {error.message}"


def answer_service_error(request: AnyRequest, error: ServiceError) -> Response[bytes]:
    """Answer a failure that the service raised on purpose."""
    headers = {}
    if STATUS[error.code] in RETRY_AFTER:
        headers = retry_headers(error)
    elif error.code == "uuid_conflict" or (isinstance(error, DeadlineError) and error.is_final):
        headers = {"x-should-retry": "false"}  # OpenAI's clients repeat a 409 and a 504 otherwise
    return _answer(request, error, headers)


def retry_headers(error: ServiceError) -> dict[str, str]:
    """When to come back: in whole seconds, as HTTP has it, and in milliseconds, which OpenAI's clients prefer.

    The milliseconds are spread at random, so that clients that were refused together do not return together.
    """
    wait_s = error.retry_after_s if isinstance(error, UnavailableError) else LEAST_RETRY_S
    spread_ms = wait_s * 1000 * random.uniform(1, 1 + JITTER)  # noqa: S311  # spreads, hides nothing
    return {"Retry-After": str(math.ceil(wait_s)), "retry-after-ms": str(math.ceil(spread_ms))}


def answer_framework_error(request: AnyRequest, error: HTTPException) -> Response[bytes]:
    """Answer what Litestar refuses before a handler runs: an unknown path, a wrong method, a body over the limit."""
    headers = dict(error.headers or {})
    code, message = FRAMEWORK_CODES.get(error.status_code, FRAMEWORK_CODES[400])
    if error.status_code >= 500:
        return answer_bug(request, error)
    if code == "body_too_large":
        message += f": at most {request.route_handler.resolve_request_max_body_size()} bytes"
    elif code == "route_not_found":
        message += f"; {hint(request.scope['path']) or DESCRIBED}"
    elif code == "method_not_allowed":
        method, allowed = str(request.method), sorted(headers.get("allow", "").split(", "))
        taken = ", ".join(name for name in allowed if name not in ("HEAD", "OPTIONS"))
        message = f"{message.format(method if method in METHODS else 'such method', taken)}; {DESCRIBED}"
        headers["allow"] = ", ".join(allowed)
    return _answer(request, ServiceError(code, message), headers)


def answer_bug(request: AnyRequest, error: Exception) -> Response[bytes]:
    """Log an unexpected failure, and answer with the request id and no detail of it."""
    logger.error("a request failed", exc_info=error, extra={"request_id": context_of(request.scope).id})
    return _answer(request, ModelError("internal_error", BUG))


def _answer(
    request: AnyRequest, error: ServiceError | RuleError, headers: Mapping[str, str] = MappingProxyType({})
) -> Response[bytes]:
    if error.code == "body_timeout":  # the rest of the body is not waited for
        headers = {"connection": "close"}
    body = error_answer(error, request.scope)
    return Response(body, status_code=STATUS[error.code], headers=headers, media_type=MediaType.JSON)


HANDLERS: dict[type[Exception] | int, Any] = {
    ServiceError: answer_service_error,
    RuleError: _answer,
    HTTPException: answer_framework_error,
    Exception: answer_bug,
}


async def refuse(scope: Scope, send: Send, error: ServiceError, headers: Mapping[str, str]) -> None:
    """Answer with an error from a middleware, before Litestar has seen the request."""
    body = error_answer(error, scope)
    headers = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": STATUS[error.code], "headers": encoded})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def error_answer(error: ServiceError | RuleError, scope: Mapping[str, Any]) -> bytes:
    """The body of an answer that is an error, in the dialect of the request's path; its code goes into the log."""
    context, path = context_of(scope), scope["path"]
    context.log_fields["code"] = error.code
    id_, body = context.id, report_error(error, context.id)
    # An unknown path does not say which API its client speaks: Cohere's form holds the fields of all.
    if dialect_of(path) == "cohere" or error.code == "route_not_found":
        return msgspec.json.encode(CohereErrorResponse(id=id_, message=body.message, detail=body.message, error=body))
    if dialect_of(path) == "ollama":
        return msgspec.json.encode(OllamaErrorResponse(error=body.message, detail=body))
    return msgspec.json.encode(ErrorResponse(error=body))
