"""Vision features of an image, computed once and posted back in its place."""

from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.embeddings import create_image_embeds
from cenote_client.models import (
    EmbeddingRequest,
    EmbedDtype,
    ErrorResponse,
    ImageEmbedsData,
    ImageEmbedsPart,
    ImageEmbedsRequest,
    ImageEmbedsResponse,
    ImageUrl,
    ImageUrlPart,
    ImageUrlPartType,
    Message,
    Role,
    TextPart,
    TextPartType,
)
from cenote_client.types import Unset
from usage.vectors import DIMENSIONS, INSTRUCTION, assert_close, embedding


def features(client: AuthenticatedClient, image: str) -> ImageEmbedsData:
    """The features of one image."""
    part = ImageUrlPart(type_=ImageUrlPartType.IMAGE_URL, image_url=ImageUrl(url=image))
    body = ImageEmbedsRequest(images=[part], embed_dtype=EmbedDtype.FLOAT32)
    answer = create_image_embeds.sync(client=client, body=body)
    assert_type(answer, ImageEmbedsResponse | ErrorResponse | None)
    assert isinstance(answer, ImageEmbedsResponse), answer
    [entry] = answer.data
    assert_type(entry.shape, list[int] | Unset)
    assert_type(entry.dtype, EmbedDtype | Unset)
    assert not isinstance(entry.shape, Unset)
    assert entry.shape[0] == answer.usage.image_tokens
    assert entry.dtype is EmbedDtype.FLOAT32
    return entry


def features_give_the_same(client: AuthenticatedClient, image: str, want: list[float]) -> None:
    part = features(client, image).part
    assert_type(part, ImageEmbedsPart | Unset)
    assert not isinstance(part, Unset)
    turns = [
        Message(role=Role.SYSTEM, content=[TextPart(type_=TextPartType.TEXT, text=INSTRUCTION)]),
        Message(role=Role.USER, content=[part, TextPart(type_=TextPartType.TEXT, text="a red circle")]),
    ]
    assert_close(embedding(client, EmbeddingRequest(messages=[*turns], dimensions=DIMENSIONS)), want)
