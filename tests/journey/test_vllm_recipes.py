"""Requests that people tried with vLLM's endpoint and could not do, or only with flags: as they wrote them, they work.

Source: vLLM's `examples/pooling/embed/vision_embedding_online.py`, its `test_vision_embeds.py`, and its issues 32309,
31708, 12234, 15465, 33167 (docs/notes/api-contract.md).
"""

import base64
from typing import Any, cast

import numpy as np
import pytest
from openai import OpenAI
from openai.types.create_embedding_response import CreateEmbeddingResponse

from tests.builders import npy_bytes
from tests.conftest import LiveServer, image, image_part, text_part

DEFAULT = "Represent the user's input."
TEXT = "A cat standing in the snow."


def recipe(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": [{"type": "text", "text": DEFAULT}]},
        {"role": "user", "content": content},
        {"role": "assistant", "content": [{"type": "text", "text": ""}]},
    ]


def create_chat_embeddings(client: OpenAI, messages: list[dict[str, Any]]) -> np.ndarray:
    """vLLM's convenience function, with the flags that its recipe for Qwen3-VL-Embedding needs."""
    answer = client.post(
        "/embeddings",
        cast_to=CreateEmbeddingResponse,
        body={
            "messages": messages,
            "model": "builtin",
            "encoding_format": "float",
            "continue_final_message": True,
            "add_special_tokens": True,
        },
    )
    return np.array(answer.data[0].embedding, "<f4")


RECIPES = [
    pytest.param([{"type": "text", "text": TEXT}], id="text"),
    pytest.param([image_part(image(301)), {"type": "text", "text": ""}], id="image"),
    pytest.param([image_part(image(301)), {"type": "text", "text": TEXT}], id="image and text"),
]


@pytest.mark.parametrize("content", RECIPES)
def test_the_recipes_messages_give_the_vector_that_needs_no_flags(
    server: LiveServer, content: list[dict[str, Any]]
) -> None:
    with OpenAI(base_url=f"{server.url}/v1", api_key="any", max_retries=0) as client:
        got = create_chat_embeddings(client, recipe(content))
    plain = server.vectors({"inputs": [{"content": content}]})[0]
    np.testing.assert_array_equal(got, plain)


def test_many_images_with_texts_go_in_one_request(server: LiveServer) -> None:
    contents = [[image_part(image(310 + i)), text_part(f"number {i}")] for i in range(6)]
    together = server.vectors({"inputs": [{"content": content} for content in contents]})
    batched = server.vectors({"messages": [[{"role": "user", "content": content}] for content in contents]})
    alone = np.concatenate([server.vectors({"inputs": [{"content": content}]}) for content in contents])
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-5)
    np.testing.assert_allclose(batched, alone, rtol=0, atol=1e-5)


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


def test_features_are_computed_over_http_and_posted_back_several_in_one_message(server: LiveServer) -> None:
    urls = [image(320, 96, 64), image(321, 64, 160), image(322, 128, 128)]
    answer = server.ask("/v1/image_embeds", {"images": [image_part(url) for url in urls]})
    parts = [entry["part"] for entry in answer.json()["data"]]
    body = {"messages": recipe([*parts, text_part(TEXT)]), "continue_final_message": True, "add_special_tokens": True}
    raw = {"inputs": [{"content": [*map(image_part, urls), text_part(TEXT)]}]}
    np.testing.assert_allclose(server.vectors(body), server.vectors(raw), rtol=0, atol=1e-6)
