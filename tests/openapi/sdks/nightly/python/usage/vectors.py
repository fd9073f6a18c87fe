"""Vectors of an image with a text, in every form in which they can be asked for."""

import math
from typing import assert_type

from cenote_client import (
    CohereEmbeddingType,
    CohereEmbedRequest,
    CohereEmbedResponse,
    ContentPart,
    EmbeddingRequest,
    EmbeddingResponse,
    EmbeddingsApi,
    ImageUrl,
    ImageUrlPart,
    InputItem,
    Message,
    Role,
    TextPart,
)

INSTRUCTION = "Represent the colors of the image."
DIMENSIONS = 64


def text(words: str) -> ContentPart:
    return ContentPart(TextPart(type="text", text=words))


def fused(image: str) -> list[ContentPart]:
    """An image and a text, in this order."""
    part = ImageUrlPart(type="image_url", image_url=ImageUrl(url=image))
    assert_type(part.image_url, ImageUrl | None)
    return [ContentPart(part), text("a red circle")]


def vector(api: EmbeddingsApi, body: EmbeddingRequest) -> list[float]:
    """The only vector of an answer."""
    answer = api.create_embedding(body)
    assert_type(answer, EmbeddingResponse)
    [entry] = answer.data
    assert_type(entry.index, int)
    assert entry.embedding is not None  # null is only there when `on_error` asked for it
    return [float(x) for x in entry.embedding]


def inputs_give_a_vector(api: EmbeddingsApi, image: str) -> list[float]:
    items = [InputItem(content=fused(image))]
    numbers = vector(api, EmbeddingRequest(inputs=items, instruction=INSTRUCTION, dimensions=DIMENSIONS))
    assert len(numbers) == DIMENSIONS
    assert math.isclose(sum(x * x for x in numbers), 1, abs_tol=1e-5)
    return numbers


def messages_give_the_same(api: EmbeddingsApi, image: str, want: list[float]) -> None:
    turns = [Message(role=Role.SYSTEM, content=[text(INSTRUCTION)]), Message(role=Role.USER, content=fused(image))]
    assert_close(vector(api, EmbeddingRequest(messages=turns, dimensions=DIMENSIONS)), want)


def cohere_gives_the_same(api: EmbeddingsApi, image: str, want: list[float]) -> None:
    body = CohereEmbedRequest(
        inputs=[InputItem(content=fused(image))],
        instruction=INSTRUCTION,
        output_dimension=DIMENSIONS,
        embedding_types=[CohereEmbeddingType.FLOAT, CohereEmbeddingType.UBINARY],
    )
    answer = api.embed(body)
    assert_type(answer, CohereEmbedResponse)
    bits = answer.embeddings.ubinary
    assert_type(bits, list[list[int]] | None)
    assert bits is not None
    assert len(bits[0]) == DIMENSIONS // 8
    assert answer.embeddings.var_float is not None
    assert_close([float(x) for x in answer.embeddings.var_float[0]], want)
    assert answer.embeddings.int8 is None


def assert_close(got: list[float], want: list[float]) -> None:
    assert len(got) == len(want)
    assert max(abs(a - b) for a, b in zip(got, want, strict=True)) < 1e-5
