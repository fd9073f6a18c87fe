"""The one table of codes and statuses: the document publishes it, and `service.http.errors` answers by it."""

from schemas.errors import ErrorCode

CODES: dict[int, tuple[ErrorCode, ...]] = {
    400: (
        "invalid_json",
        "invalid_request",
        "unknown_field",
        "missing_input",
        "conflicting_input",
        "empty_input",
        "too_many_inputs",
        "token_arrays_not_accepted",
        "invalid_dimensions",
        "context_length_exceeded",
        "media_source_refused",
        "invalid_image_embeds",
        "cache_miss",
    ),
    404: ("model_not_found", "route_not_found"),
    405: ("method_not_allowed",),
    409: ("uuid_conflict",),
    413: ("body_too_large", "media_too_large"),
    415: ("unsupported_media_type",),
    422: ("media_undecodable",),
    429: ("queue_full",),
    500: ("non_finite_embedding", "internal_error"),
    503: ("model_loading", "engine_restarting"),
    504: ("deadline_exceeded",),
}
"""Codes by status."""

REASONS: dict[int, str] = {
    400: "The request breaks the contract; the message says how.",
    404: "There is no model of that name.",
    405: "The route does not take this method.",
    409: "A `uuid` is bound to other content.",
    413: "The body or a picture is larger than the server takes.",
    415: "The body is not `application/json`.",
    422: "A picture cannot be read.",
    429: "The queue is full; come back after `Retry-After` seconds.",
    500: "The service is at fault.",
    503: "The model is loading or restarting; come back after `Retry-After` seconds.",
    504: "The answer would come too late.",
}
"""What a status says, for people."""

RETRY_AFTER = (429, 503)
"""Statuses that carry `Retry-After`."""
