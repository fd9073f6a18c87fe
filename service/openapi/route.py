"""One operation of the document, as data; `routes` holds the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from schemas.base import Answer, Wire
from schemas.endpoints.health import Health
from schemas.errors import ErrorResponse
from service.openapi.examples import answers, errors

EMBED_STATUSES = (400, 401, 404, 408, 409, 413, 414, 415, 422, 429, 431, 500, 502, 503, 504)
"""Error statuses of a request for vectors."""

TOKEN_STATUSES = (400, 401, 404, 408, 413, 414, 415, 429, 431, 500, 503)
"""Error statuses of a request with text or token ids alone."""

KEY_STATUSES = (401, 429, 500, 503)
"""Error statuses before a request is read, on a server with keys."""


AnswerType = type[Answer] | UnionType | type[list[Any]]
"""The type of an answer: a wire type, or a union or an array that `named` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation."""

    method: str = "POST"
    path: str
    operation_id: str
    """Its name in clients. They append `Data`, `Error`, `Response` for types of theirs: no component is so called."""
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
    error: type[Answer] = ErrorResponse
    """The one error type of the operation."""
    error_statuses: tuple[int, ...] = EMBED_STATUSES
    takes_timeout: bool = False
    """True if the operation obeys `X-Request-Timeout`."""
    headers: tuple[str, ...] = ()
    """Headers of the success answer, besides `x-request-id`."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Path parameters with their meaning."""
    request_examples: Mapping[str, Any] = field(default_factory=dict)
    response_examples: Mapping[str, Any] = field(default_factory=dict)
    raw_examples: Mapping[str, Any] = field(default_factory=dict)
    """Examples of the success answer as raw bytes, for which `Accept` can ask; empty if there is no such form."""
    error_examples: Mapping[int, Any] = field(default_factory=lambda: errors.ERRORS)
    protected: bool = True
    """True if a request needs an API key on a server with keys."""


def probe(path: str, operation_id: str, summary: str, description: str, statuses: tuple[int, ...]) -> Route:
    """A health probe, which needs no key."""
    return Route(
        method="GET",
        path=path,
        operation_id=operation_id,
        tag="Probes",
        summary=summary,
        description=description,
        response=Health,
        error=Health,
        error_statuses=statuses,
        response_examples=answers.HEALTHY,
        error_examples=errors.UNHEALTHY,
        protected=False,
    )


def page(
    path: str,
    operation_id: str,
    summary: str,
    description: str,
    media_type: str,
    *,
    tag: str = "Pages",
    protected: bool = True,
) -> Route:
    """A page for people, a document or the metrics; a `protected` one needs a key on a server with keys."""
    return Route(
        method="GET",
        path=path,
        operation_id=operation_id,
        tag=tag,
        summary=summary,
        description=description,
        media_type=media_type,
        error_statuses=(401, 429, 500) if protected else (500,),
        protected=protected,
    )
