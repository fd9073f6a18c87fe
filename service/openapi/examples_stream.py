"""Examples of `/v1/embeddings/stream`: lines of a body, and lines of an answer."""

from typing import Any

from schemas.models import EXAMPLE_FINGERPRINT
from schemas.stream import EXAMPLE_ID
from service.openapi.examples import IMAGE_PART, TEXT_PART

STREAM_LINES: dict[str, Any] = {
    "text": {"summary": "A text", "value": {"id": EXAMPLE_ID, "input": "a red bicycle against a wall"}},
    "fused": {
        "summary": "A picture and a text in one vector, under an instruction of its own",
        "value": {
            "id": EXAMPLE_ID,
            "content": [IMAGE_PART, TEXT_PART],
            "instruction": "Represent the colors of the image.",
        },
    },
    "conversation": {
        "summary": "A conversation",
        "value": {"messages": [{"role": "user", "content": [TEXT_PART]}]},
    },
}

STREAM_ANSWERS: dict[str, Any] = {
    "vector": {
        "summary": "Of a line that has its vector",
        "value": {
            "type": "embedding",
            "index": 0,
            "id": EXAMPLE_ID,
            "embedding": [0.5, -0.5, 0.5, 0.5],
            "truncated": False,
            "prompt_tokens": 26,
            "image_tokens": 0,
            "encoder_cache_hits": 0,
            "encoder_cache_misses": 0,
        },
    },
    "failure": {
        "summary": "Of a line that is no JSON",
        "value": {
            "type": "error",
            "index": 7,
            "error": {
                "message": "line 8: expected one JSON object in UTF-8, got text that is malformed at byte 4",
                "type": "invalid_request_error",
                "param": None,
                "code": "invalid_json",
                "index": 7,
                "request_id": "0f9c2a7d41b84e6f",
            },
        },
    },
    "end": {
        "summary": "The last line",
        "value": {
            "type": "end",
            "complete": True,
            "num_lines": 8,
            "num_answered": 7,
            "num_failed": 1,
            "model": "builtin",
            "fingerprint": EXAMPLE_FINGERPRINT,
            "usage": {
                "prompt_tokens": 182,
                "total_tokens": 182,
                "prompt_tokens_details": {
                    "text_tokens": 182,
                    "image_tokens": 0,
                    "video_tokens": 0,
                    "audio_tokens": 0,
                    "cached_tokens": 0,
                },
                "num_inputs": 8,
                "image_tokens": 0,
                "encoder_cache_hits": 0,
                "encoder_cache_misses": 0,
                "precomputed_images": 0,
            },
        },
    },
}
