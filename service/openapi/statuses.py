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
        "unsupported_modality",
        "media_source_refused",
        "invalid_image_embeds",
        "cache_miss",
    ),
    401: ("invalid_api_key",),
    404: ("model_not_found", "route_not_found"),
    405: ("method_not_allowed",),
    408: ("body_timeout",),
    409: ("uuid_conflict",),
    413: ("body_too_large", "media_too_large"),
    414: ("target_too_long",),
    415: ("unsupported_media_type",),
    422: ("media_undecodable",),
    429: ("rate_limit_exceeded",),
    431: ("head_too_large",),
    500: ("non_finite_embedding", "internal_error"),
    502: ("media_fetch_failed",),
    503: (
        "model_loading",
        "engine_restarting",
        "out_of_memory",
        "server_draining",
        "overloaded",
        "too_many_connections",
    ),
    504: ("deadline_exceeded",),
}
"""Codes by status."""

REASONS: dict[int, str] = {
    400: "The request breaks the contract; the message says how.",
    401: "The server asks for an API key, and this is none of its keys.",
    404: "There is no model of that name.",
    405: "The route does not take this method.",
    408: "The body came too slowly.",
    409: "A `uuid` is bound to other content.",
    413: "The body, or a picture, video or sound, is larger than the server takes.",
    414: "The request's target is too long.",
    415: "The body is not `application/json`.",
    422: "A picture, video or sound cannot be read.",
    429: "The key has reached one of its limits; come back after `Retry-After` seconds.",
    431: "The request's headers are too many or too large.",
    500: "The service is at fault.",
    502: "A picture, video or sound could not be fetched from its URL.",
    503: "The server loads, restarts, drains or is full; come back after `Retry-After` seconds.",
    504: "The answer would come too late.",
}
"""What a status says, for people."""

MEANINGS: dict[ErrorCode, str] = {
    "invalid_json": "The body is not one JSON object in UTF-8.",
    "invalid_request": "A field has a value of the wrong type or out of bounds, or two fields do not go together.",
    "unknown_field": "The request has a field that the contract does not have.",
    "missing_input": "None of the fields that hold what to embed is there.",
    "conflicting_input": "Two fields are there that exclude each other.",
    "empty_input": "A list is empty, or an item has nothing in it.",
    "too_many_inputs": "The request has more items than one request may have.",
    "token_arrays_not_accepted": "`input` holds token ids; send text.",
    "invalid_dimensions": "The model does not offer vectors of that length.",
    "context_length_exceeded": "An item has more tokens than the model or the request allows.",
    "unsupported_modality": "The model does not read what an item holds, or not together; its `modalities` and "
    "`mixes_modalities` say what it reads.",
    "invalid_image_embeds": "The features are not a tensor that fits the picture's grid and the model.",
    "cache_miss": "A `uuid` without content is not known here; `missing` lists all of them. Send their content.",
    "uuid_conflict": "The `uuid` stands for other content.",
    "media_source_refused": "The source of a picture, video or sound is of a kind that this server does not read.",
    "media_fetch_failed": "The URL gave no file; why is told in the server's log alone.",
    "media_undecodable": "The bytes are not a picture, video or sound that can be read.",
    "media_too_large": "A picture, video or sound is larger or longer than this server takes.",
    "body_too_large": "The body has more bytes than this server takes.",
    "body_timeout": "The body came too slowly: it has a fixed time, and longer while it comes fast enough.",
    "target_too_long": "The path and query of the request are longer than this server takes.",
    "head_too_large": "The request's headers are more, or larger, than this server takes.",
    "unsupported_media_type": "The body's media type is not `application/json`.",
    "invalid_api_key": "No API key came, or several, or one that the server does not know.",
    "model_not_found": "There is no model of that name; `/v1/models` lists them.",
    "route_not_found": "There is no such path.",
    "method_not_allowed": "The path is there, and takes other methods.",
    "model_loading": "The model is still loading; come back later.",
    "engine_restarting": "The engine ended and is starting again; come back later.",
    "out_of_memory": "The device had no memory for this input, even alone; come back later, or send less.",
    "server_draining": "This server is going and had no time left for the request; send it to another.",
    "overloaded": "As much work waits as this server takes; come back later.",
    "rate_limit_exceeded": "This key, or its tenant, has as much under way as it may have; come back later.",
    "too_many_connections": "As many connections are open as this server takes; come back later, or use fewer.",
    "deadline_exceeded": "The answer would have come after the request's time was over.",
    "non_finite_embedding": "The model gave a vector that is not of finite numbers and unit length; it is not sent.",
    "internal_error": "The service failed; quote the request id in a report.",
}
"""What a code says, for people."""

MIN_TIMEOUT_S = 0.001
"""The least that `X-Request-Timeout` may ask for."""

RETRY_AFTER = (429, 503)
"""Statuses that carry `Retry-After` and `retry-after-ms`."""

SHOULD_RETRY = (409, 504)
"""Statuses that may carry `x-should-retry`."""
