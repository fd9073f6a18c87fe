"""Vectors of an image with a text, in every form in which they can be asked for and answered."""

import array
import base64
import math
from typing import assert_type

from cenote_client import AuthenticatedClient
from cenote_client.api.embeddings import create_embedding, embed
from cenote_client.models import (
    AudioUrlPart,
    CohereEmbeddingType,
    CohereEmbedRequest,
    CohereEmbedResponse,
    CohereErrorResponse,
    EmbeddingRequest,
    EmbeddingResponse,
    EncodingFormat,
    ErrorResponse,
    FilePart,
    ImageEmbedsPart,
    ImageUrl,
    ImageUrlPart,
    ImageUrlPartType,
    InputAudioPart,
    InputItem,
    Message,
    Role,
    TextPart,
    TextPartType,
    VideoFramesPart,
    VideoUrlPart,
)
from cenote_client.types import Unset

INSTRUCTION = "Represent the colors of the image."
DIMENSIONS = 64
Content = list[
    AudioUrlPart
    | FilePart
    | ImageEmbedsPart
    | ImageUrlPart
    | InputAudioPart
    | TextPart
    | VideoFramesPart
    | VideoUrlPart
]
"""Lists are invariant: every kind of part stands here."""


def fused(image: str) -> Content:
    """An image and a text, in this order."""
    part = ImageUrlPart(type_=ImageUrlPartType.IMAGE_URL, image_url=ImageUrl(url=image))
    assert_type(part.image_url, ImageUrl | str | Unset)
    return [part, TextPart(type_=TextPartType.TEXT, text="a red circle")]


def embedding(client: AuthenticatedClient, body: EmbeddingRequest) -> list[float] | str:
    """The only vector of an answer, as it is written."""
    answer = create_embedding.sync(client=client, body=body)
    assert_type(answer, EmbeddingResponse | ErrorResponse | None)
    assert isinstance(answer, EmbeddingResponse), answer
    assert_type(answer.usage.image_tokens, int)
    assert_type(answer.usage.prompt_tokens_details.cached_tokens, int)
    [entry] = answer.data
    assert_type(entry.embedding, list[float] | str | None)
    assert entry.embedding is not None, entry.error  # null is only there when `on_error` asked for it
    return entry.embedding


def inputs_give_a_vector(client: AuthenticatedClient, image: str) -> list[float]:
    items = [InputItem(content=fused(image))]
    numbers = embedding(client, EmbeddingRequest(inputs=items, instruction=INSTRUCTION, dimensions=DIMENSIONS))
    assert isinstance(numbers, list)
    assert len(numbers) == DIMENSIONS
    assert math.isclose(sum(x * x for x in numbers), 1, abs_tol=1e-5)
    return numbers


def base64_holds_the_same(client: AuthenticatedClient, image: str, want: list[float]) -> None:
    body = EmbeddingRequest(
        inputs=[InputItem(content=fused(image))],
        instruction=INSTRUCTION,
        dimensions=DIMENSIONS,
        encoding_format=EncodingFormat.BASE64,
    )
    written = embedding(client, body)
    assert isinstance(written, str)
    assert_close(array.array("f", base64.b64decode(written)).tolist(), want)


def messages_give_the_same(client: AuthenticatedClient, image: str, want: list[float]) -> None:
    system: Content = [TextPart(type_=TextPartType.TEXT, text=INSTRUCTION)]
    turns = [Message(role=Role.SYSTEM, content=system), Message(role=Role.USER, content=fused(image))]
    assert_close(embedding(client, EmbeddingRequest(messages=[*turns], dimensions=DIMENSIONS)), want)
    assert_close(embedding(client, EmbeddingRequest(messages=[turns], dimensions=DIMENSIONS)), want)


def cohere_gives_the_same(client: AuthenticatedClient, image: str, want: list[float]) -> None:
    body = CohereEmbedRequest(
        inputs=[InputItem(content=fused(image))],
        instruction=INSTRUCTION,
        output_dimension=DIMENSIONS,
        embedding_types=[CohereEmbeddingType.FLOAT, CohereEmbeddingType.UBINARY],
    )
    answer = embed.sync(client=client, body=body)
    assert_type(answer, CohereEmbedResponse | CohereErrorResponse | None)
    assert isinstance(answer, CohereEmbedResponse), answer
    floats, bits = answer.embeddings.float_, answer.embeddings.ubinary
    assert_type(floats, list[list[float]] | Unset)
    assert_type(bits, list[list[int]] | Unset)
    assert not isinstance(floats, Unset)
    assert not isinstance(bits, Unset)
    assert_close(floats[0], want)
    assert len(bits[0]) == DIMENSIONS // 8
    assert isinstance(answer.embeddings.int8, Unset)


def texts_keep_their_order(client: AuthenticatedClient) -> None:
    one = create_embedding.sync_detailed(client=client, body=EmbeddingRequest(input_="a red circle"))
    two = create_embedding.sync(client=client, body=EmbeddingRequest(input_=["a red circle", ""]))
    assert_type(one.headers["x-request-id"], str)
    assert isinstance(one.parsed, EmbeddingResponse)
    assert isinstance(two, EmbeddingResponse)
    assert [entry.index for entry in two.data] == [0, 1]
    first, again = one.parsed.data[0].embedding, two.data[0].embedding
    assert isinstance(first, list)
    assert isinstance(again, list)
    assert_close(again, first)


def assert_close(got: list[float] | str, want: list[float]) -> None:
    assert isinstance(got, list)
    assert len(got) == len(want)
    assert max(abs(a - b) for a, b in zip(got, want, strict=True)) < 1e-5
