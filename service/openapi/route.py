"""What the document says of one operation: data only; `routes` holds the table."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from schemas.base import Answer, Wire
from schemas.errors import ErrorResponse

KEY_STATUSES = (401, 429, 500, 503)
"""How a request can fail before anybody has looked at what it asks for, where the server has keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation."""

    method: str
    path: str
    operation_id: str
    """Its name in clients. They append `Data`, `Error`, `Response` for types of theirs: no component is so called."""
    tag: str
    summary: str
    description: str
    response: type[Answer] | UnionType | None = None
    """The success type, of an answer in lines that of each; None for a text of `media_type`."""
    media_type: str = "application/json"
    """Media type of the success answer."""
    request: type[Wire] | None = None
    """The body; of a body of lines, each."""
    request_media_type: str = "application/json"
    """Media type of the body."""
    query: type[Wire] | None = None
    """The query parameters, as a type whose fields they are."""
    error: type[Answer] = ErrorResponse
    """The one error type of the operation."""
    error_statuses: tuple[int, ...] = (500,)
    takes_timeout: bool = False
    """Whether `X-Request-Timeout` counts."""
    headers: tuple[str, ...] = ()
    """Headers of the success answer, beside `x-request-id`."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Path parameters with what they mean."""
    request_examples: Mapping[str, Any] = field(default_factory=dict)
    response_examples: Mapping[str, Any] = field(default_factory=dict)
    raw_examples: Mapping[str, Any] = field(default_factory=dict)
    """The success answer as raw bytes, which `Accept` can ask for; empty where there is no such form."""
    error_examples: Mapping[int, Any] = field(default_factory=dict)
    protected: bool = True
    """Whether an API key guards it, once the server has keys."""
