"""Examples of `/v1/image_embeds`, as `examples` has them of the other routes."""

from typing import Any

from schemas.content import EXAMPLE_UUID
from service.openapi.examples import FEATURES_PART, IMAGE_PART

IMAGE_EMBEDS_REQUESTS: dict[str, Any] = {
    "picture": {"summary": "One picture", "value": {"model": "builtin", "images": [IMAGE_PART]}},
    "named": {
        "summary": "A picture with a name, as npy",
        "value": {
            "model": "builtin",
            "images": [IMAGE_PART | {"uuid": EXAMPLE_UUID}],
            "features_format": "npy",
            "embed_dtype": "float16",
            "on_error": "per_item",
        },
    },
}

IMAGE_EMBEDS_RESPONSES: dict[str, Any] = {
    "picture": {
        "summary": "Of a picture of one visual token",
        "value": {
            "id": "imgemb-0f9c2a7d41b84e6f",
            "object": "list",
            "created": 1790000000,
            "model": "builtin",
            "data": [
                {
                    "object": "image_features",
                    "index": 0,
                    "part": FEATURES_PART | {"uuid": "img-9b74c9897bac770ffc029102a200c5de"},
                    "content_hash": "9b74c9897bac770ffc029102a200c5de9b74c9897bac770ffc029102a200c5de",
                    "shape": [1, 768],
                    "dtype": "float16",
                }
            ],
            "usage": {"num_images": 1, "image_tokens": 1, "encoder_cache_hits": 0, "encoder_cache_misses": 1},
        },
    }
}
