"""Examples of `/tokenize`, `/detokenize` and their kin in Cohere's form; the ids are the built-in model's."""

from typing import Any

from service.openapi.examples import COHERE_ERRORS, ERRORS, IMAGE_PART, TEXT_PART

TOKENIZE_REQUESTS: dict[str, Any] = {
    "prompt": {
        "summary": "One text, with the text of each token",
        "value": {"model": "builtin", "prompt": "a red bicycle", "return_token_strs": True},
    },
    "texts": {"summary": "Two texts", "value": {"model": "builtin", "input": ["a red bicycle", "a green door"]}},
    "fused": {
        "summary": "How many tokens is this picture?",
        "value": {"model": "builtin", "inputs": [{"content": [IMAGE_PART, TEXT_PART]}]},
    },
    "conversation": {
        "summary": "A conversation, cut to 24 tokens",
        "value": {
            "model": "builtin",
            "messages": [{"role": "user", "content": [TEXT_PART]}],
            "truncate_prompt_tokens": 24,
        },
    },
}

TOKENIZE_RESPONSES: dict[str, Any] = {
    "prompt": {
        "summary": "The first four tokens of a prompt",
        "value": {
            "count": 4,
            "max_model_len": 8192,
            "tokens": [1785, 1288, 198, 443],
            "token_strs": ["<|im_start|>", "system", "\n", "Represent"],
            "data": [
                {
                    "object": "tokens",
                    "index": 0,
                    "count": 4,
                    "tokens": [1785, 1288, 198, 443],
                    "image_tokens": 0,
                    "truncated": False,
                }
            ],
        },
    },
}

DETOKENIZE_REQUESTS: dict[str, Any] = {
    "tokens": {"summary": "Six tokens", "value": {"model": "builtin", "tokens": [64, 392, 268, 582, 88, 415]}},
}
DETOKENIZE_RESPONSES: dict[str, Any] = {
    "text": {"summary": "Their text", "value": {"prompt": "a red bicycle"}},
}


def _refused(message: str, code: str, param: str) -> dict[str, Any]:
    return {"error": ERRORS[400]["error"] | {"message": message, "code": code, "param": param}}


TOKENIZE_ERRORS: dict[int, Any] = ERRORS | {
    400: _refused(
        "expected exactly one of `prompt`, `input`, `messages`, `inputs`, got none", "missing_input", "prompt"
    )
}
DETOKENIZE_ERRORS: dict[int, Any] = {status: ERRORS[status] for status in (401, 404, 429, 503)} | {
    400: _refused("`tokens[1]`: expected a token id from 0 to 1791, got 1800", "invalid_request", "tokens[1]")
}

_V1_META = {"api_version": {"version": "1"}}

COHERE_TOKENIZE_REQUESTS: dict[str, Any] = {
    "text": {"summary": "A text", "value": {"model": "builtin", "text": "a red bicycle"}},
}
COHERE_TOKENIZE_RESPONSES: dict[str, Any] = {
    "text": {
        "summary": "Its six tokens",
        "value": {
            "tokens": [64, 392, 268, 582, 88, 415],
            "token_strings": ["a", " red", " b", "ic", "y", "cle"],
            "meta": _V1_META,
        },
    },
}
COHERE_DETOKENIZE_RESPONSES: dict[str, Any] = {
    "text": {"summary": "Their text", "value": {"text": "a red bicycle", "meta": _V1_META}},
}
CHECKED_KEYS: dict[str, Any] = {"known": {"summary": "A key that is known", "value": {"valid": True}}}


def _cohere(example: dict[str, Any]) -> dict[str, Any]:
    return {"id": example["error"]["request_id"], "message": example["error"]["message"], **example}


COHERE_TOKENIZE_ERRORS: dict[int, Any] = {status: COHERE_ERRORS[status] for status in (401, 404, 429, 503)} | {
    400: _cohere(_refused("`text`: required, got nothing", "invalid_request", "text"))
}
COHERE_DETOKENIZE_ERRORS: dict[int, Any] = COHERE_TOKENIZE_ERRORS | {400: _cohere(DETOKENIZE_ERRORS[400])}
