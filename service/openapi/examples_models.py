"""Examples of `/v1/models` and of the probes, as `examples` has them of the other routes."""

from typing import Any

from schemas.models import EXAMPLE_FINGERPRINT

_QUERY = "Retrieve images or text relevant to the user's query."
_DEFAULT = "Represent the user's input."

_CARD = {
    "id": "builtin",
    "object": "model",
    "created": 1790000000,
    "owned_by": "cenote",
    "name": "builtin",
    "endpoints": ["embed"],
    "context_length": 8192,
    "root": "builtin",
    "aliases": ["builtin-embed"],
    "revision": None,
    "fingerprint": EXAMPLE_FINGERPRINT,
    "pooling": "last_token",
    "normalize": True,
    "dimensions": 256,
    "max_vectors_per_input": 1,
    "min_dimensions": 32,
    "matryoshka_dimensions": [32, 64, 128, 256],
    "modalities": ["text", "image", "video"],
    "prompt_format": "qwen3-vl-embedding",
    "default_instruction": "Represent the user's input.",
    "takes_instructions": True,
    "input_types": {
        "query": _QUERY,
        "document": _DEFAULT,
        "colors": "Represent the colors of the image.",
        "shapes": "Represent the shapes of the image.",
        "count": "Represent the number of objects in the image.",
        "positions": "Represent the positions of the objects in the image.",
        "search_document": _DEFAULT,
        "search_query": _QUERY,
        "classification": _DEFAULT,
        "clustering": _DEFAULT,
        "image": _DEFAULT,
        "passage": _DEFAULT,
    },
    "mixes_modalities": True,
    "calibrated_dimensions": [32, 64, 128, 256],
    "tail_token_ids": [1784],
    "max_tokens": 8192,
    "min_pixels": 4096,
    "max_pixels": 16384,
    "image_embeds_width": 768,
    "max_inputs": 2048,
    "max_parts_per_input": 32,
    "max_images": 64,
    "max_body_bytes": 33554432,
    "max_image_bytes": 20971520,
    "max_image_pixels": 33200000,
    "max_video_frames": 64,
    "max_video_bytes": 67108864,
    "audio_rate_hz": None,
    "max_audio_bytes": None,
    "max_audio_s": None,
    "accepts_token_arrays": False,
    "fetches_image_urls": False,
    "dtype": "float32",
    "device": "cpu",
}

MODEL_CARDS: dict[str, Any] = {"builtin": {"summary": "The built-in model", "value": _CARD}}
_LIST = {"object": "list", "data": [_CARD], "models": [_CARD]}
MODEL_LISTS: dict[str, Any] = {"builtin": {"summary": "One model", "value": _LIST}}

HEALTHY: dict[str, Any] = {"ok": {"summary": "All is well", "value": {"status": "ok", "detail": None}}}
UNHEALTHY: dict[int, Any] = {503: {"status": "loading", "detail": "The model is loading."}}
