"""A program written against the generated package, as a user would; mypy reads it in the strictest form.

`assert_type` states what a reader of the document expects. A `type: ignore` states what must be refused: mypy reports
one that is not needed. Run as `python usage.py URL PICTURE`, it holds the answers against each other.
"""

import base64
import math
import sys
from pathlib import Path
from typing import assert_type

from cenote_client import (
    ApiClient,
    CohereEmbeddingType,
    CohereEmbedRequest,
    CohereEmbedResponse,
    Configuration,
    ContentPart,
    EmbeddingRequest,
    EmbeddingResponse,
    EmbeddingsApi,
    ErrorCode,
    ErrorResponse,
    ImageUrl,
    ImageUrlPart,
    InputItem,
    Message,
    Modality,
    ModelsApi,
    Pooling,
    Role,
    TextPart,
)
from cenote_client.exceptions import BadRequestException

INSTRUCTION = "Represent the colors of the image."
DIMENSIONS = 64


def text(words: str) -> ContentPart:
    return ContentPart(TextPart(type="text", text=words))


def fused(picture: str) -> list[ContentPart]:
    """A picture and a text, in this order."""
    image = ImageUrlPart(type="image_url", image_url=ImageUrl(url=picture))
    assert_type(image.image_url, ImageUrl)
    return [ContentPart(image), text("a red circle")]


def vector(api: EmbeddingsApi, body: EmbeddingRequest) -> list[float]:
    """The only vector of an answer."""
    answer = api.create_embedding(body)
    assert_type(answer, EmbeddingResponse)
    [entry] = answer.data
    assert_type(entry.index, int)
    return [float(x) for x in entry.embedding]


def inputs_give_a_vector(api: EmbeddingsApi, picture: str) -> list[float]:
    items = [InputItem(content=fused(picture))]
    numbers = vector(api, EmbeddingRequest(inputs=items, instruction=INSTRUCTION, dimensions=DIMENSIONS))
    assert len(numbers) == DIMENSIONS
    assert math.isclose(sum(x * x for x in numbers), 1, abs_tol=1e-5)
    return numbers


def messages_give_the_same(api: EmbeddingsApi, picture: str, want: list[float]) -> None:
    turns = [Message(role=Role.SYSTEM, content=[text(INSTRUCTION)]), Message(role=Role.USER, content=fused(picture))]
    assert_close(vector(api, EmbeddingRequest(messages=turns, dimensions=DIMENSIONS)), want)


def cohere_gives_the_same(api: EmbeddingsApi, picture: str, want: list[float]) -> None:
    body = CohereEmbedRequest(
        inputs=[InputItem(content=fused(picture))],
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


def errors_are_typed(api: EmbeddingsApi) -> None:
    try:
        api.create_embedding(EmbeddingRequest(input=["x"], dimensions=4096))
    except BadRequestException as refused:  # type: ignore[misc]  # the generator types no exception's arguments
        answer = ErrorResponse.from_json(refused.body or "")  # type: ignore[misc]  # pydantic's own hooks hold `Any`
        assert_type(answer, ErrorResponse | None)
        assert answer is not None
        assert_type(answer.error.code, ErrorCode)
        assert_type(answer.error.param, str | None)
        assert (answer.error.code, answer.error.param) == (ErrorCode.INVALID_DIMENSIONS, "dimensions")
        return
    raise AssertionError("not refused")


def models_are_typed(api: ModelsApi) -> None:
    card = api.get_model(api.list_models().data[0].id)
    assert_type(card.pooling, Pooling)
    assert_type(card.matryoshka_dimensions, list[int] | None)
    assert Modality.IMAGE in card.modalities


def wrong_requests_do_not_pass_mypy(picture: str) -> None:
    """Never run: each line is an error, or the `type: ignore` on it is."""
    InputItem(content=[TextPart(type="text", text="x")])  # type: ignore[list-item]
    ImageUrlPart(type="image_url", image_url=picture)  # type: ignore[arg-type]
    Message(role="robot", content=[])  # type: ignore[arg-type]
    EmbeddingRequest(input=[[1, 2]])  # type: ignore[list-item]
    CohereEmbedRequest(embedding_types=["float64"])  # type: ignore[list-item]


def assert_close(got: list[float], want: list[float]) -> None:
    assert len(got) == len(want)
    assert max(abs(a - b) for a, b in zip(got, want, strict=True)) < 1e-5


def main(url: str, picture_path: str) -> None:
    picture = "data:image/png;base64," + base64.b64encode(Path(picture_path).read_bytes()).decode()
    client = ApiClient(Configuration(host=url))
    api = EmbeddingsApi(client)
    want = inputs_give_a_vector(api, picture)
    messages_give_the_same(api, picture, want)
    cohere_gives_the_same(api, picture, want)
    errors_are_typed(api)
    models_are_typed(ModelsApi(client))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
