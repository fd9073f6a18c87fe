"""`POST /v2/embed`: Cohere's request and answer.

Rules that join fields are in `schemas.parsing.rules`; the names of `input_type` and the number formats are the model's.

Source: Cohere's OpenAPI document, commit e814c8a, and what its SDK 7.3.1 sends (docs/notes/api-contract.md).
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content.parts import ImageBackground
from schemas.endpoints.embed_vectors import EmbeddingType, EmbedVectors
from schemas.errors import ErrorBody
from schemas.fields import (
    DimensionsField,
    EmbeddingIdField,
    ImagesField,
    InputsField,
    ModelField,
    OnError,
    PartOrderField,
    TextsField,
    TruncateField,
)
from schemas.limits import MAX_EMBEDDING_TYPES, MAX_INT32, MAX_PRIORITY

COHERE_INPUT_TYPES = ("search_document", "search_query", "classification", "clustering", "image")
"""The five names that Cohere's clients send as `input_type`. Every profile accepts them and may add more."""

EMBED_IGNORED_FIELDS = ("priority",)
"""Fields that real clients send to `/v2/embed` and that change nothing. Any other unknown field is refused."""


class EmbedRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `texts`, `images` and `inputs` holds what to embed; the other two are absent."""

    model: ModelField = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name; the model's profile maps it to an instruction. Always "
            "known: `search_document`, `search_query`, `classification`, `clustering`, `image`, and `query`, "
            "`document` and `passage` for the first two. `/v1/models` lists the names and their instructions. Absent "
            "means the default instruction.",
            examples=["search_query"],
        ),
    ] = None
    texts: TextsField = None
    images: ImagesField = None
    inputs: InputsField = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, in your own words; overrides `input_type`. Not part of "
            "Cohere's API.",
            examples=["Represent the colors of the image."],
        ),
    ] = None
    part_order: PartOrderField = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
        Meta(
            description="Most tokens of one item, before `truncate` applies. Absent means the model's limit.",
            examples=[512],
        ),
    ] = None
    output_dimension: DimensionsField = None
    embedding_types: Annotated[
        Annotated[list[EmbeddingType], Meta(min_length=1, max_length=MAX_EMBEDDING_TYPES)] | None,
        Meta(
            description="Number formats of the answer, of the kinds that `outputs` of `/v1/models` lists: `sparse` and "
            "`sparse_tokens` of models with sparse vectors, those with `multi_` of models with a vector for each "
            "token, the others of models with one dense vector per item. One forward makes all of them. A kind that "
            "the model does not have is refused. Absent means `float` alone, or what the model has instead: "
            "`multi_float` or `sparse`.",
            examples=[["float", "ubinary"]],
        ),
    ] = None
    pool_factor: Annotated[
        Annotated[float, Meta(ge=1)] | None,
        Meta(
            description="By how much the vectors of a document's tokens become fewer: vectors that are alike are "
            "joined to their mean (token pooling), all but the first, so that some 1 / `pool_factor` are left, of "
            "length 1. For documents of late-interaction models (`pooling` is `multi_vector`), up to 4,096 tokens "
            "each; queries and other models are refused. Absent and 1 join none. Not part of Cohere's API.",
            examples=[2],
        ),
    ] = None
    truncate: TruncateField = None
    on_error: Annotated[
        OnError | None,
        Meta(
            description="`fail`: one bad item fails the request, and the error names its index. `per_item`: good items "
            "are answered, a bad one has an empty list (an empty string in `base64`, no entries in `sparse` and "
            "`sparse_tokens`) in its place, and `errors` says why. A malformed body always fails as a whole. Absent "
            "means `fail`. Not part of Cohere's API.",
            examples=["per_item"],
        ),
    ] = None
    image_background: ImageBackground = None
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_PRIORITY)] | None,
        Meta(description="Accepted and ignored.", examples=[0]),
    ] = None


class EmbedImage(Answer, frozen=True, kw_only=True):
    """An image as it was sent."""

    width: Annotated[int, Meta(description="Pixels across.", examples=[400])]
    height: Annotated[int, Meta(description="Pixels down.", examples=[300])]
    format: Annotated[
        str,
        Meta(
            description="File format, read from the bytes: `png`, `jpeg`, `webp`, `gif`; `image_embeds` for an image "
            "that came as features, whose size is the grid's.",
            examples=["jpeg"],
        ),
    ]
    bit_depth: Annotated[int, Meta(description="Bits of one pixel: 24 for RGB.", examples=[24])]


class EmbedApiVersion(Answer, frozen=True, kw_only=True):
    """The version of Cohere's API that this answer follows."""

    version: Annotated[str, Meta(description="`2`; on `/v1/embed` `1`.", examples=["2"])] = "2"


class EmbedBilledUnits(Answer, frozen=True, kw_only=True):
    """The cost of the answered inputs in Cohere's units. A token counts in `input_tokens` or in `image_tokens`.

    Together they are `usage.prompt_tokens` of `/v1/embeddings`. Failed inputs cost nothing; repeated and cached inputs
    count like any other.
    """

    input_tokens: Annotated[Count, Meta(description="Tokens that stand for text, template and audio.", examples=[22])]
    image_tokens: Annotated[Count, Meta(description="Tokens that stand for images and videos.", examples=[4])]
    images: Annotated[Count, Meta(description="Images that were answered; videos are not counted.", examples=[1])]


class EmbedTokens(Answer, frozen=True, kw_only=True):
    """Tokens that the model read."""

    input_tokens: Annotated[Count, Meta(description="Tokens of text, template and images together.", examples=[26])]


class EmbedMeta(Answer, frozen=True, kw_only=True):
    """Facts about the answer."""

    api_version: Annotated[EmbedApiVersion, Meta(description="The API version.")] = EmbedApiVersion()
    billed_units: Annotated[EmbedBilledUnits, Meta(description="The cost of the request.")]
    tokens: Annotated[EmbedTokens | UnsetType, Meta(description="Tokens that the model read.")] = UNSET
    truncated_inputs: Annotated[
        list[Count],
        Meta(description="Indices of inputs whose text was cut off to fit, counted from 0.", examples=[[1]]),
    ]
    warnings: Annotated[
        list[str] | UnsetType,
        Meta(
            description="Warnings, such as of a text that was cut off. Absent when there are none.",
            examples=[["`texts[1]` was cut to 512 tokens"]],
        ),
    ] = UNSET


VectorsField = Annotated[EmbedVectors, Meta(description="The vectors.")]

SentTextsField = Annotated[
    list[str], Meta(description="The `texts` of the request; empty when it had none.", examples=[["a red bicycle"]])
]

SentImagesField = Annotated[
    list[EmbedImage] | UnsetType, Meta(description="The images of the request, in order; absent when it had none.")
]

MetaField = Annotated[EmbedMeta, Meta(description="Facts about the answer.")]


class EmbedResponse(Answer, frozen=True, kw_only=True):
    """The vectors by number format."""

    id: EmbeddingIdField
    response_type: Annotated[
        Literal["embeddings_by_type"], Meta(description="Always `embeddings_by_type`.", examples=["embeddings_by_type"])
    ] = "embeddings_by_type"
    embeddings: VectorsField
    texts: SentTextsField
    images: SentImagesField = UNSET
    errors: Annotated[
        list[ErrorBody] | UnsetType,
        Meta(
            description="Why inputs have no vector, each with its `index`. Only with `on_error: per_item`, and only if "
            "an input failed."
        ),
    ] = UNSET
    meta: MetaField
