"""The description of a route in the document. It stands beside the handler, whose path and method it has."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from types import UnionType
from typing import Any

from litestar import route
from litestar.handlers import HTTPRouteHandler

from schemas.base import Answer, Wire
from schemas.endpoints.health import Health
from schemas.endpoints.ollama import OllamaErrorResponse
from schemas.errors import CohereErrorResponse, ErrorResponse
from service.http.api_dialect import Dialect, dialect_of
from service.http.examples import ERRORS, cohere

EMBED_STATUSES = (400, 401, 404, 408, 409, 413, 414, 415, 422, 429, 431, 500, 502, 503, 504)
"""Error statuses of a request for vectors."""

TOKEN_STATUSES = (400, 401, 404, 408, 413, 414, 415, 429, 431, 500, 503)
"""Error statuses of a request with text or token ids alone."""

KEY_STATUSES = (401, 429, 500, 503)
"""Error statuses before a request is read, on a server with keys."""

ERROR_TYPES: Mapping[Dialect, type[Answer]] = {
    "openai": ErrorResponse,
    "cohere": CohereErrorResponse,
    "ollama": OllamaErrorResponse,
}

OPEN = "exclude_from_auth"
"""Option of a handler that needs no key on a server with keys, by Litestar's name for it."""

read = partial(route, http_method=("GET", "HEAD"))
"""Decorates a handler that takes GET, and HEAD with it: the server drops the body (RFC 9110 section 9.3.2)."""

AnswerType = type[Answer] | UnionType | type[list[Any]]
"""The type of an answer: a wire type, or a union or an array that `service.openapi.named` names."""

Examples = Mapping[str, Mapping[str, Any]]
"""By name: a summary and a value."""


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the document."""

    handler: HTTPRouteHandler
    """Of one path, and of one method besides HEAD."""
    operation_id: str
    """Its name in clients. They append `Data`, `Error`, `Response` for types of theirs: no component is so called."""
    _: KW_ONLY
    tag: str = "Embeddings"
    summary: str
    description: str
    response: AnswerType | None = None
    """The success type (of each line, in an answer of lines); None for a text of `media_type`."""
    media_type: str = "application/json"
    """Media type of the success answer."""
    request: type[Wire] | None = None
    """The type of the body, or of each line of a body of lines."""
    request_media_type: str = "application/json"
    """Media type of the body."""
    query: type[Wire] | None = None
    """The query parameters, as the fields of a type."""
    error_statuses: tuple[int, ...] = EMBED_STATUSES
    takes_timeout: bool = False
    """True if the operation obeys `X-Request-Timeout`."""
    headers: tuple[str, ...] = ()
    """Headers of the success answer, besides `x-request-id`."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Path parameters with their meaning."""
    request_examples: Examples = field(default_factory=dict)
    response_examples: Examples = field(default_factory=dict)
    raw_examples: Examples = field(default_factory=dict)
    """Examples of the success answer as raw bytes, for which `Accept` can ask; empty if there is no such form."""
    error_examples: Mapping[int, Any] = field(default_factory=dict)
    """Those that differ from `ERRORS`, in OpenAI's shape."""

    @property
    def path(self) -> str:
        """As the document writes it."""
        (path,) = self.handler.paths
        return re.sub(r"\{(\w+):\w+\}", r"{\1}", path)

    @property
    def method(self) -> str:
        """In capitals."""
        (method,) = self.handler.http_methods - {"HEAD"}
        return str(method)

    @property
    def protected(self) -> bool:
        """True if a request needs an API key on a server with keys."""
        return OPEN not in self.handler.opt

    @property
    def error(self) -> type[Answer]:
        """The one type of its errors: of a probe its state, else that of the API that its path belongs to."""
        if self.response is Health:
            return Health
        return ERROR_TYPES[dialect_of(self.path)]

    def error_example(self, status: int) -> Any:
        """In the shape of `error`; None where there is none."""
        found = self.error_examples.get(status, ERRORS.get(status))
        if found and self.error is CohereErrorResponse:
            return cohere(found)
        if found and self.error is OllamaErrorResponse:
            return {"error": found["error"]["message"], "detail": found["error"]}
        return found


def page(
    handler: HTTPRouteHandler, operation_id: str, summary: str, description: str, media_type: str, tag: str = "Pages"
) -> Route:
    """A page for people, a document or the metrics."""
    return Route(
        handler,
        operation_id,
        tag=tag,
        summary=summary,
        description=description,
        media_type=media_type,
        error_statuses=(500,) if OPEN in handler.opt else (401, 429, 500),
    )
