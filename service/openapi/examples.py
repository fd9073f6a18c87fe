"""Examples of the document, by name: requests that decode, answers that validate, and errors as they are worded.

Vectors are shortened to a few components by `dimensions`, as a real answer could be.
"""

from typing import Any

from schemas.content import EXAMPLE_FEATURES
from schemas.example_image import EXAMPLE_IMAGE

IMAGE_PART = {"type": "image_url", "image_url": {"url": EXAMPLE_IMAGE}}
TEXT_PART = {"type": "text", "text": "a red bicycle"}
FEATURES_PART = {
    "type": "image_embeds",
    "image_embeds": {"image_embeds": EXAMPLE_FEATURES, "image_grid_thw": [1, 2, 2]},
}
_QUERY = "Retrieve images or text relevant to the user's query."

EMBEDDING_REQUESTS: dict[str, Any] = {
    "text": {"summary": "One text", "value": {"model": "builtin", "input": "a red bicycle against a wall"}},
    "texts": {
        "summary": "Many texts, short vectors",
        "value": {"model": "builtin", "input": ["a red bicycle", "a green door", ""], "dimensions": 64},
    },
    "base64": {
        "summary": "A vector as base64",
        "value": {"model": "builtin", "input": ["a red bicycle"], "encoding_format": "base64"},
    },
    "half": {
        "summary": "Many texts, in half the bytes",
        "value": {
            "model": "builtin",
            "input": ["a red bicycle", "a green door"],
            "encoding_format": "base64",
            "embed_dtype": "float16",
            "endianness": "little",
            "normalize": True,
        },
    },
    "query": {
        "summary": "A search query, by its instruction",
        "value": {"model": "builtin", "input": "something to ride", "instruction": _QUERY},
    },
    "passages": {
        "summary": "Passages for a search index, as Voyage's and NVIDIA's clients name them",
        "value": {"model": "builtin", "input": ["a red bicycle"], "input_type": "passage", "truncate": "END"},
    },
    "fused": {
        "summary": "A picture and a text in one vector, twice",
        "value": {
            "model": "builtin",
            "instruction": "Represent the colors of the image.",
            "inputs": [{"content": [IMAGE_PART, TEXT_PART]}, {"content": [IMAGE_PART]}],
        },
    },
    "precomputed": {
        "summary": "A picture that came as features, and a text",
        "value": {"model": "builtin", "inputs": [{"content": [FEATURES_PART, TEXT_PART]}]},
    },
    "conversation": {
        "summary": "One conversation, one vector",
        "value": {
            "model": "builtin",
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": _QUERY}]},
                {"role": "user", "content": [IMAGE_PART, TEXT_PART]},
            ],
        },
    },
    "conversations": {
        "summary": "Two conversations, two vectors",
        "value": {
            "model": "builtin",
            "messages": [
                [{"role": "user", "content": [TEXT_PART]}],
                [{"role": "user", "content": [IMAGE_PART]}],
            ],
        },
    },
}

_USAGE = {
    "prompt_tokens": 26,
    "total_tokens": 26,
    "prompt_tokens_details": {
        "text_tokens": 26,
        "image_tokens": 0,
        "video_tokens": 0,
        "audio_tokens": 0,
        "cached_tokens": 0,
    },
    "num_inputs": 1,
    "image_tokens": 0,
    "encoder_cache_hits": 0,
    "encoder_cache_misses": 0,
    "precomputed_images": 0,
}


def _embedding_response(embedding: list[float] | str) -> dict[str, Any]:
    data = [{"object": "embedding", "index": 0, "embedding": embedding, "truncated": False}]
    head = {"id": "embd-0f9c2a7d41b84e6f", "object": "list", "created": 1790000000, "model": "builtin"}
    return {**head, "data": data, "usage": _USAGE}


EMBEDDING_RESPONSES: dict[str, Any] = {
    "float": {"summary": "Numbers", "value": _embedding_response([0.5, -0.5, 0.5, 0.5])},
    "base64": {"summary": "Base64", "value": _embedding_response("AAAAPwAAAL8AAAA/AAAAPw==")},
}

RAW_EMBEDDINGS: dict[str, Any] = {
    "float16": {
        "summary": "Four components in little-endian float16, each character a byte: 0.1, 0.1, 0.325, 0.525",
        "value": "f.f.3538",
    },
}

EMBED_REQUESTS: dict[str, Any] = {
    "texts": {
        "summary": "Documents for a search index",
        "value": {
            "model": "builtin",
            "input_type": "search_document",
            "texts": ["a red bicycle", "a green door"],
            "embedding_types": ["float", "ubinary"],
            "output_dimension": 64,
            "truncate": "END",
        },
    },
    "images": {
        "summary": "Pictures",
        "value": {"model": "builtin", "input_type": "image", "images": [EXAMPLE_IMAGE]},
    },
    "fused": {
        "summary": "A picture and a text in one vector",
        "value": {
            "model": "builtin",
            "input_type": "search_document",
            "inputs": [{"content": [IMAGE_PART, TEXT_PART]}],
        },
    },
}

COHERE_META = {
    "api_version": {"version": "2"},
    "billed_units": {"input_tokens": 26, "image_tokens": 0, "images": 0},
    "tokens": {"input_tokens": 26},
    "truncated_inputs": [],
}

EMBED_RESPONSES: dict[str, Any] = {
    "texts": {
        "summary": "Of one text, in two formats",
        "value": {
            "id": "embd-0f9c2a7d41b84e6f",
            "response_type": "embeddings_by_type",
            "embeddings": {"float": [[0.5, -0.25, 0.5, 0.25, -0.25, 0.25, 0.25, -0.43301270]], "ubinary": [[182]]},
            "texts": ["a red bicycle"],
            "meta": COHERE_META,
        },
    },
    "images": {
        "summary": "Of one picture",
        "value": {
            "id": "embd-6b1e9d02c7f34a58",
            "response_type": "embeddings_by_type",
            "embeddings": {"float": [[0.5, -0.5, 0.5, 0.5]]},
            "texts": [],
            "images": [{"width": 32, "height": 32, "format": "png", "bit_depth": 24}],
            "meta": COHERE_META | {"billed_units": {"input_tokens": 21, "image_tokens": 4, "images": 1}},
        },
    },
    "pages": {
        "summary": "Of one page, two of its vectors shown",
        "value": {
            "id": "embd-2c7d51e8a09b43f6",
            "response_type": "embeddings_by_type",
            "embeddings": {
                "multi_float": [[[0.5, -0.25, 0.5, 0.25, -0.25, 0.25, 0.25, -0.43301270], [0.25] * 6 + [0.75, -0.25]]],
                "multi_ubinary": [[[182], [254]]],
            },
            "texts": [],
            "images": [{"width": 32, "height": 32, "format": "png", "bit_depth": 24}],
            "meta": COHERE_META | {"billed_units": {"input_tokens": 12, "image_tokens": 4, "images": 1}},
        },
    },
}


def _error(code: str, kind: str, message: str, param: str | None, index: int | None) -> dict[str, Any]:
    body = {"message": message, "type": kind, "param": param, "code": code, "index": index}
    return {"error": {**body, "request_id": "0f9c2a7d41b84e6f"}}


ERRORS: dict[int, Any] = {
    400: _error(
        "unknown_field",
        "invalid_request_error",
        "`dimension`: unknown field; did you mean `dimensions`?",
        "dimension",
        None,
    ),
    401: _error(
        "invalid_api_key", "invalid_request_error", "the API key is not one that this server knows", None, None
    ),
    404: _error(
        "model_not_found",
        "not_found_error",
        "`model`: there is no model of that name; `/v1/models` lists them",
        "model",
        None,
    ),
    422: _error(
        "media_undecodable",
        "invalid_request_error",
        "`inputs[3].content[0].image_url`: expected a picture, got bytes that are none",
        "inputs[3].content[0].image_url",
        3,
    ),
    429: _error("rate_limit_exceeded", "overloaded_error", "this key may send 5 requests a second", None, None),
    503: _error("model_loading", "overloaded_error", "the model is loading; come back in 5 s", None, None),
}


def _cohere(error: dict[str, Any]) -> dict[str, Any]:
    return {"id": error["error"]["request_id"], "message": error["error"]["message"], **error}


COHERE_ERRORS: dict[int, Any] = {status: _cohere(error) for status, error in ERRORS.items() if status != 400} | {
    400: _cohere(
        _error(
            "missing_input",
            "invalid_request_error",
            "expected exactly one of `texts`, `images`, `inputs`, got none",
            "texts",
            None,
        )
    )
}
