"""Examples of `/v1/embed`, by name."""

from typing import Any

from schemas.example_image import EXAMPLE_IMAGE
from service.openapi.examples import COHERE_ERRORS, COHERE_META, EMBED_RESPONSES

EMBED_V1_REQUESTS: dict[str, Any] = {
    "texts": {
        "summary": "Queries",
        "value": {"model": "builtin", "input_type": "search_query", "texts": ["something to ride", "a way in"]},
    },
    "types": {
        "summary": "Documents, in two number formats",
        "value": {
            "model": "builtin",
            "input_type": "search_document",
            "texts": ["a red bicycle"],
            "embedding_types": ["float", "ubinary"],
            "truncate": "END",
        },
    },
    "images": {
        "summary": "A picture",
        "value": {"model": "builtin", "input_type": "image", "images": [EXAMPLE_IMAGE]},
    },
}

_V1_META = COHERE_META | {"api_version": {"version": "1"}}

EMBED_V1_RESPONSES: dict[str, Any] = {
    "floats": {
        "summary": "A bare list",
        "value": {
            "response_type": "embeddings_floats",
            "id": "embd-0f9c2a7d41b84e6f",
            "embeddings": [[0.5, -0.5, 0.5, 0.5]],
            "texts": ["a red bicycle"],
            "meta": _V1_META,
        },
    },
    "types": {"summary": "By number format", "value": EMBED_RESPONSES["texts"]["value"] | {"meta": _V1_META}},
}


def _worded(status: int, message: str, param: str) -> dict[str, Any]:
    """Cohere's example for a status, about a field that v1 has."""
    example: dict[str, Any] = COHERE_ERRORS[status]
    return example | {"message": message, "error": example["error"] | {"message": message, "param": param}}


EMBED_V1_ERRORS: dict[int, Any] = COHERE_ERRORS | {
    400: _worded(400, "expected exactly one of `texts`, `images`, got none", "texts"),
    422: _worded(422, "`images[3]`: expected a picture, got bytes that are none", "images[3]"),
}
