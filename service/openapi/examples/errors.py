"""Error bodies for the examples of the document, by status."""

from typing import Any

REQUEST_ID = "0f9c2a7d41b84e6f"


def error(code: str, kind: str, message: str, param: str | None = None, index: int | None = None) -> dict[str, Any]:
    """An error in OpenAI's shape."""
    body = {"message": message, "type": kind, "param": param, "code": code, "index": index, "request_id": REQUEST_ID}
    return {"error": body}


def invalid(code: str, message: str, param: str, index: int | None = None) -> dict[str, Any]:
    """An error of the request's own."""
    return error(code, "invalid_request_error", message, param, index)


def cohere(example: dict[str, Any]) -> dict[str, Any]:
    """The same error in Cohere's shape."""
    message = example["error"]["message"]
    return {"id": example["error"]["request_id"], "message": message, "detail": message, **example}


_NO_IMAGE = "The image is none of the accepted formats: PNG, JPEG, WebP, GIF, BMP."

ERRORS: dict[int, Any] = {
    400: invalid("unknown_field", "`dimension`: unknown field; did you mean `dimensions`?", "dimension"),
    401: error("invalid_api_key", "invalid_request_error", "the API key is not one that this server knows"),
    404: error(
        "model_not_found",
        "not_found_error",
        "`model`: there is no model of that name; `/v1/models` lists them",
        "model",
    ),
    422: invalid("media_undecodable", _NO_IMAGE, "inputs[3].content[0].image_url", 3),
    429: error("rate_limit_exceeded", "overloaded_error", "this key may send 5 requests a second"),
    503: error("model_loading", "overloaded_error", "the model is loading; come back in 5 s"),
}
"""Of most routes. A route shows those of the statuses that it has."""

_COHERE = {status: cohere(example) for status, example in ERRORS.items()}

EMBED: dict[int, Any] = _COHERE | {
    400: cohere(invalid("missing_input", "expected exactly one of `texts`, `images`, `inputs`, got none", "texts"))
}
EMBED_V1: dict[int, Any] = _COHERE | {
    400: cohere(invalid("missing_input", "expected exactly one of `texts`, `images`, got none", "texts")),
    422: cohere(invalid("media_undecodable", _NO_IMAGE, "images[3]", 3)),
}
TOKENIZE: dict[int, Any] = ERRORS | {
    400: invalid("missing_input", "expected exactly one of `prompt`, `input`, `messages`, `inputs`, got none", "prompt")
}
DETOKENIZE: dict[int, Any] = ERRORS | {
    400: invalid("invalid_request", "`tokens[1]`: expected a token id from 0 to 1791, got 1800", "tokens[1]")
}
COHERE_TOKENIZE: dict[int, Any] = _COHERE | {
    400: cohere(invalid("invalid_request", "`text`: required, got nothing", "text"))
}
COHERE_DETOKENIZE: dict[int, Any] = _COHERE | {400: cohere(DETOKENIZE[400])}

UNHEALTHY: dict[int, Any] = {503: {"status": "loading", "detail": "The model is loading."}}
