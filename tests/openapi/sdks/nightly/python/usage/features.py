"""Vision features of an image, computed once and posted back in its place."""

from typing import assert_type

from cenote_client import (
    ContentPart,
    EmbeddingRequest,
    EmbeddingsApi,
    EmbedDtype,
    ImageEmbedsData,
    ImageEmbedsPart,
    ImageEmbedsRequest,
    ImageEmbedsResponse,
    ImageUrl,
    ImageUrlPart,
    Message,
    Role,
)
from usage.vectors import DIMENSIONS, INSTRUCTION, assert_close, text, vector


def features(api: EmbeddingsApi, image: str) -> ImageEmbedsData:
    """The features of one image."""
    part = ImageUrlPart(type="image_url", image_url=ImageUrl(url=image))
    answer = api.create_image_embeds(ImageEmbedsRequest(images=[part], embed_dtype=EmbedDtype.FLOAT32))
    assert_type(answer, ImageEmbedsResponse)
    [entry] = answer.data
    assert_type(entry.shape, list[int] | None)
    assert_type(entry.dtype, EmbedDtype | None)
    assert entry.shape is not None
    assert entry.shape[0] == answer.usage.image_tokens
    assert entry.dtype is EmbedDtype.FLOAT32
    return entry


def features_give_the_same(api: EmbeddingsApi, image: str, want: list[float]) -> None:
    part = features(api, image).part
    assert_type(part, ImageEmbedsPart | None)
    assert part is not None
    turns = [
        Message(role=Role.SYSTEM, content=[text(INSTRUCTION)]),
        Message(role=Role.USER, content=[ContentPart(part), text("a red circle")]),
    ]
    assert_close(vector(api, EmbeddingRequest(messages=turns, dimensions=DIMENSIONS)), want)
