"""Examples for the document: requests that decode, answers made of the wire types, errors as they are worded.

Each route has its own beside its handler, made with the functions here. Vectors are shortened to a few components by
`dimensions`, as in a real answer.
"""

from typing import Any, get_type_hints

import msgspec
from msgspec import UNSET, Meta

from schemas.base import Answer
from schemas.content.examples import EXAMPLE_FEATURES, EXAMPLE_IMAGE
from schemas.usage import PromptTokensDetails, Usage

QUERY = "Retrieve images or text relevant to the user's query."
COLORS = "Represent the colors of the image."

IMAGE_PART = {"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}
TEXT_PART = {"type": "text", "text": "a red bicycle"}
FEATURES_PART = {
    "type": "image_embeds",
    "image_embeds": {"image_embeds": EXAMPLE_FEATURES, "image_grid_thw": [1, 2, 2]},
}
VECTOR = [0.5, -0.5, 0.5, 0.5]

REQUEST_ID = "0f9c2a7d41b84e6f"


def example(summary: str, value: Any) -> dict[str, Any]:
    """A body or an answer."""
    return {"summary": summary, "value": value}


def to_builtin(summary: str, **fields: Any) -> dict[str, Any]:
    """A request to the built-in model."""
    return example(summary, {"model": "builtin", **fields})


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    """A message."""
    return {"role": "user", "content": list(parts)}


def sample(type_: type[Answer], **values: Any) -> dict[str, Any]:
    """An answer as JSON: each field as given, or as in the first example of its type; optional ones only as given."""
    hints = get_type_hints(type_, include_extras=True)
    config, sampled = type_.__struct_config__, dict[str, Any]()
    if config.tag_field is not None:
        sampled[config.tag_field] = config.tag
    for field in msgspec.structs.fields(type_):
        if field.name in values:
            sampled[field.encode_name] = values.pop(field.name)
        elif field.default is not UNSET:
            sampled[field.encode_name] = _first_example(hints[field.name])
    if values:
        raise TypeError(f"{type_.__name__} has no fields {list(values)}")
    return sampled


def _first_example(hint: Any) -> Any:
    """The example that a field's description states; a field without one holds a struct, with its own examples."""
    stated = [meta.examples for meta in hint.__metadata__ if isinstance(meta, Meta) and meta.examples]
    return stated[-1][0] if stated else sample(hint.__origin__)


def usage(tokens: int, num_inputs: int = 1) -> dict[str, Any]:
    """`usage` of a request with texts alone."""
    details = sample(PromptTokensDetails, text_tokens=tokens, image_tokens=0)
    counts = {"prompt_tokens": tokens, "total_tokens": tokens, "num_inputs": num_inputs}
    return sample(Usage, **counts, prompt_tokens_details=details, image_tokens=0, encoder_cache_hits=0)


def error(code: str, kind: str, message: str, **place: object) -> dict[str, Any]:
    """An error in OpenAI's shape; `place` is its `param`, and the `index` of the input."""
    fields = {"message": message, "type": kind, "param": None, "code": code, "index": None, "request_id": REQUEST_ID}
    return {"error": fields | place}


def invalid(code: str, message: str, param: str, **place: object) -> dict[str, Any]:
    """An error of the request's own."""
    return error(code, "invalid_request_error", message, param=param, **place)


def missing(field: str, *others: str) -> dict[str, Any]:
    """The error of a request in which none of these fields is set."""
    names = ", ".join(f"`{name}`" for name in (field, *others))
    return invalid("missing_input", f"expected exactly one of {names}, got none", field)


def undecodable(param: str) -> dict[str, Any]:
    """The error of an image at that place of the request, in the fourth item."""
    message = "The image is none of the accepted formats: PNG, JPEG, WebP, GIF, BMP."
    return invalid("media_undecodable", message, param, index=3)


def cohere(example: dict[str, Any]) -> dict[str, Any]:
    """The same error in Cohere's shape."""
    message = example["error"]["message"]
    return {"id": example["error"]["request_id"], "message": message, "detail": message, **example}


ERRORS: dict[int, Any] = {
    400: invalid("unknown_field", "`dimension`: unknown field; did you mean `dimensions`?", "dimension"),
    401: error("invalid_api_key", "invalid_request_error", "the API key is not one that this server knows"),
    404: error(
        "model_not_found",
        "not_found_error",
        "`model`: there is no model of that name; `/v1/models` lists them",
        param="model",
    ),
    422: undecodable("inputs[3].content[0].image_url"),
    429: error("rate_limit_exceeded", "overloaded_error", "this key may send 5 requests a second"),
    503: error("model_loading", "overloaded_error", "the model is loading; come back in 5 s"),
}
"""Of most routes. A route shows those of the statuses that it has."""
