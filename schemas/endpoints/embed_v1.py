"""`POST /v1/embed`: Cohere's older request and answer, used by its v1 client and LangChain's `CohereEmbeddings`.

Source: Cohere's OpenAPI document, commit e814c8a, and what its SDK 7.3.1 sends and reads (`cohere/raw_base_client.py`,
`cohere/types/embed_response.py`).
"""

from typing import Annotated

from msgspec import UNSET, Meta

from schemas.base import Answer, Wire
from schemas.content.parts import ImageBackground
from schemas.endpoints.embed import MetaField, SentImagesField, SentTextsField, VectorsField
from schemas.endpoints.embed_vectors import EmbeddingType
from schemas.fields import EmbeddingIdField, ImagesField, ModelField, TextsField, TruncateField
from schemas.limits import MAX_EMBEDDING_TYPES


class EmbedV1Request(Wire, frozen=True, kw_only=True):
    """Exactly one of `texts` and `images` holds what to embed; the other is absent."""

    model: ModelField = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v2/embed`. Absent means the default instruction.",
            examples=["search_query"],
        ),
    ] = None
    texts: TextsField = None
    images: ImagesField = None
    embedding_types: Annotated[
        Annotated[list[EmbeddingType], Meta(min_length=1, max_length=MAX_EMBEDDING_TYPES)] | None,
        Meta(
            description="Number formats of the answer, as on `/v2/embed`. Absent means one bare list of vectors, which "
            "models without dense vectors refuse.",
            examples=[["float", "ubinary"]],
        ),
    ] = None
    truncate: TruncateField = None
    image_background: ImageBackground = None


class EmbedFloats(Answer, frozen=True, kw_only=True, tag_field="response_type", tag="embeddings_floats"):
    """The vectors as a bare list: the answer when the request names no `embedding_types`."""

    id: EmbeddingIdField
    embeddings: Annotated[
        list[list[float]],
        Meta(description="The vectors, in the order of the request.", examples=[[[0.5, -0.5, 0.5, 0.5]]]),
    ]
    texts: SentTextsField
    images: SentImagesField = UNSET
    meta: MetaField


class EmbedByType(Answer, frozen=True, kw_only=True, tag_field="response_type", tag="embeddings_by_type"):
    """The vectors by number format: the answer when the request names `embedding_types`."""

    id: EmbeddingIdField
    embeddings: VectorsField
    texts: SentTextsField
    images: SentImagesField = UNSET
    meta: MetaField


EmbedV1Response = EmbedFloats | EmbedByType
"""The answer; `response_type` says which."""
