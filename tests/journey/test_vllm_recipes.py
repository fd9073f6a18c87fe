"""Requests that people tried with vLLM's endpoint and could not do, or only with flags: as they wrote them, they work.

Source: vLLM's `examples/pooling/embed/vision_embedding_online.py`, its `test_vision_embeds.py`, and its issues 32309,
31708, 12234, 15465, 33167 (docs/notes/api-contract.md). Its recipe's messages and flags: tests/models/golden.
"""

import base64
from typing import cast

import numpy as np

from tests.builders import npy_bytes
from tests.conftest import LiveServer, image, image_part, text_part

DEFAULT = "Represent the user's input."
TEXT = "A cat standing in the snow."


def test_dimensions_need_no_flag_of_the_server(server: LiveServer) -> None:
    body = {"inputs": [{"content": [image_part(image(302)), text_part(TEXT)]}]}
    full = server.vectors(body)[0]
    for dimensions in (64, len(full)):
        cut = server.vectors(body | {"dimensions": dimensions})[0]
        np.testing.assert_allclose(
            cut, full[:dimensions] / np.linalg.norm(full[:dimensions].astype(np.float64)), rtol=0, atol=1e-6
        )


def zeros(server: LiveServer, num_tokens: int) -> str:
    return base64.b64encode(npy_bytes(np.zeros((num_tokens, features_width(server)), np.float32))).decode()


def features_width(server: LiveServer) -> int:
    return cast(int, server.http.get("/v1/models").json()["data"][0]["image_embeds_width"])


def test_two_blocks_of_features_with_two_grids_in_one_message(server: LiveServer) -> None:
    """vLLM's own test, on which its HTTP server fails for Qwen3-VL: zeros for grids of 22 x 40 and 44 x 40 patches."""
    blocks = [
        {"type": "image_embeds", "image_embeds": {"image_embeds": zeros(server, 220), "image_grid_thw": [1, 22, 40]}},
        {"type": "image_embeds", "image_embeds": {"image_embeds": zeros(server, 440), "image_grid_thw": [1, 44, 40]}},
    ]
    messages = [{"role": "user", "content": [*blocks, text_part(TEXT)]}]
    answer = server.ask("/v1/embeddings", {"messages": messages})
    usage = answer.json()["usage"]
    assert usage["image_tokens"] == 660
    assert (usage["precomputed_images"], usage["encoder_cache_misses"]) == (2, 0)
