"""The error codes of each HTTP status with their meaning: what is answered, and what the document publishes."""

from schemas.errors import ErrorCode

CODES: dict[int, dict[ErrorCode, str]] = {
    400: {
        "invalid_json": "The body is not one JSON object in UTF-8.",
        "invalid_request": "A field has a value of the wrong type or out of bounds, or two fields contradict each "
        "other.",
        "unknown_field": "The request has a field that is not part of the API.",
        "missing_input": "None of the fields that hold what to embed is set.",
        "conflicting_input": "Two fields are set that exclude each other.",
        "empty_input": "A list is empty, or an item has nothing in it.",
        "too_many_inputs": "The request has more items than one request may have.",
        "token_arrays_not_accepted": "`input` holds token ids; send text.",
        "invalid_dimensions": "The model does not offer vectors of that length.",
        "context_length_exceeded": "An item has more tokens than the model or the request allows.",
        "unsupported_modality": "The model does not take this kind of content, or this mixture of kinds; see its "
        "`modalities` and `mixes_modalities`.",
        "media_source_refused": "The source of an image, video or audio is of a kind that this server does not accept.",
        "invalid_image_embeds": "The features are not a tensor that fits the image's grid and the model.",
        "cache_miss": "A `uuid` sent without content is unknown; `missing` lists all of them. Send their content.",
    },
    401: {"invalid_api_key": "No API key came, or several, or one that the server does not know."},
    404: {
        "model_not_found": "There is no model of that name; `/v1/models` lists them.",
        "route_not_found": "There is no such path.",
    },
    405: {"method_not_allowed": "The path exists, with other methods."},
    408: {"body_timeout": "The body came too slowly: it has a fixed time, extended as long as it comes fast enough."},
    409: {"uuid_conflict": "The `uuid` is bound to other content."},
    413: {
        "body_too_large": "The body has more bytes than this server takes.",
        "media_too_large": "An image, video or audio is larger or longer than this server takes.",
    },
    414: {"target_too_long": "The path and query of the request are longer than this server takes."},
    415: {"unsupported_media_type": "The body's media type is not `application/json`."},
    422: {"media_undecodable": "The bytes are not an image, video, audio file or PDF that can be read."},
    429: {"rate_limit_exceeded": "This key, or its tenant, has reached its limit; retry later."},
    431: {"head_too_large": "The request's headers are more, or larger, than this server takes."},
    500: {
        "non_finite_embedding": "The model gave a vector that is not finite or not of unit length; it is not sent.",
        "internal_error": "The service failed; quote the request id in a report.",
    },
    502: {"media_fetch_failed": "The URL could not be fetched; only the server's log says why."},
    503: {
        "model_loading": "The model is still loading; retry later.",
        "engine_restarting": "The engine has ended and is restarting; retry later.",
        "out_of_memory": "The device has not enough memory for this input, even alone; retry later, or send less.",
        "server_draining": "This server is shutting down and had no time left for the request; send it to another.",
        "overloaded": "The server's queue is full; retry later.",
        "too_many_connections": "The server has reached its limit of connections; retry later, or use fewer.",
    },
    504: {
        "deadline_exceeded": "The request's time was over before its answer, or cannot be enough for so many tokens."
    },
}
"""Codes by status, each with its description."""

REASONS: dict[int, str] = {
    400: "The request is not valid; the message says why.",
    401: "The server needs an API key, and the request has no valid one.",
    404: "There is no model of that name.",
    405: "The route does not take this method.",
    408: "The body came too slowly.",
    409: "A `uuid` is bound to other content.",
    413: "The body, or an image, video, audio file or PDF, is larger than the server takes.",
    414: "The request's target is too long.",
    415: "The body is not `application/json`.",
    422: "An image, video, audio file or PDF cannot be read.",
    429: "The key has reached one of its limits; retry after `Retry-After` seconds.",
    431: "The request's headers are too many or too large.",
    500: "The service is at fault.",
    502: "An image, video or audio could not be fetched from its URL.",
    503: "The server is loading, restarting, draining or full; retry after `Retry-After` seconds.",
    504: "The answer would come too late.",
}
"""Descriptions of statuses."""

RETRY_AFTER = (429, 503)
"""Statuses that carry `Retry-After` and `retry-after-ms`."""

SHOULD_RETRY = (409, 504)
"""Statuses that may carry `x-should-retry`."""
