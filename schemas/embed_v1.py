"""`POST /v1/embed`: Cohere's older request and answer, which its v1 client and LangChain's `CohereEmbeddings` speak.

Shapes and single-field bounds only. Everything that v2 has in the same form is v2's own type, from `schemas.embed`.

Source: Cohere's OpenAPI document, commit e814c8a, and what its SDK 7.3.1 sends and reads (`cohere/raw_base_client.py`,
`cohere/types/embed_response.py`).
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Wire
from schemas.content import ImageBackground
from schemas.embed import EmbedImage, EmbedMeta
from schemas.embed_vectors import EmbeddingType, EmbedVectors
from schemas.embeddings import Truncate
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_EMBEDDING_TYPES, MAX_INPUTS


class EmbedV1Request(Wire, frozen=True, kw_only=True):
    """Exactly one of `texts` and `images` holds what to embed; the other is absent."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v2/embed`. Absent means the default instruction.",
            examples=["search_query"],
        ),
    ] = None
    texts: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="Texts, one vector each. The empty string is a text.",
            examples=[["a red bicycle", "a green door"]],
        ),
    ] = None
    images: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="Pictures as data URIs (`data:image/png;base64,...`), one vector each.",
            examples=[[EXAMPLE_IMAGE]],
        ),
    ] = None
    embedding_types: Annotated[
        Annotated[list[EmbeddingType], Meta(min_length=1, max_length=MAX_EMBEDDING_TYPES)] | None,
        Meta(
            description="Number formats to answer in, by name, as on `/v2/embed`. Absent means one bare list of "
            "vectors, which models with several for each input refuse.",
            examples=[["float", "ubinary"]],
        ),
    ] = None
    truncate: Annotated[
        Truncate | None,
        Meta(
            description="What happens to a text that is too long: `END` cuts its end, `START` its start, `NONE` makes "
            "it an error. Pictures are never cut. Absent means `END`.",
            examples=["END"],
        ),
    ] = None
    image_background: ImageBackground = None


class EmbedFloats(Answer, frozen=True, kw_only=True, tag_field="response_type", tag="embeddings_floats"):
    """The vectors as a bare list: the answer when the request names no `embedding_types`."""

    id: Annotated[str, Meta(description="`embd-` and the request id.", examples=["embd-0f9c2a7d41b84e6f"])]
    embeddings: Annotated[
        list[list[float]],
        Meta(description="The vectors, in the order of the request.", examples=[[[0.5, -0.5, 0.5, 0.5]]]),
    ]
    texts: Annotated[
        list[str], Meta(description="The `texts` of the request; empty when it had none.", examples=[["a red bicycle"]])
    ]
    images: Annotated[
        list[EmbedImage] | UnsetType,
        Meta(description="The pictures of the request, in order; absent when it had none."),
    ] = UNSET
    meta: Annotated[EmbedMeta, Meta(description="Facts about the answer.")]


class EmbedByType(Answer, frozen=True, kw_only=True, tag_field="response_type", tag="embeddings_by_type"):
    """The vectors by number format: the answer when the request names `embedding_types`."""

    id: Annotated[str, Meta(description="`embd-` and the request id.", examples=["embd-0f9c2a7d41b84e6f"])]
    embeddings: Annotated[EmbedVectors, Meta(description="The vectors.")]
    texts: Annotated[
        list[str], Meta(description="The `texts` of the request; empty when it had none.", examples=[["a red bicycle"]])
    ]
    images: Annotated[
        list[EmbedImage] | UnsetType,
        Meta(description="The pictures of the request, in order; absent when it had none."),
    ] = UNSET
    meta: Annotated[EmbedMeta, Meta(description="Facts about the answer.")]


EmbedV1Response = EmbedFloats | EmbedByType
"""The answer; `response_type` says which."""
