"""`POST /v2/embed`: Cohere's request and answer.

Shapes and single-field bounds only. Rules that join fields are in `schemas.rules`; which `input_type` names exist and
which number formats a model can give is for the model's profile.

Source: Cohere's OpenAPI document, commit e814c8a, and what its SDK 7.3.1 sends (shared/reference/api-contract.md, 2).
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content import Content, ImageBackground
from schemas.embed_vectors import EmbeddingType, EmbedVectors
from schemas.embeddings import OnError, Truncate
from schemas.errors import ErrorBody
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_EMBEDDING_TYPES, MAX_INPUTS, MAX_INT32, MAX_PRIORITY

COHERE_INPUT_TYPES = ("search_document", "search_query", "classification", "clustering", "image")
"""The five names that Cohere's clients send as `input_type`. Every profile accepts them and may add more."""

EMBED_IGNORED_FIELDS = ("priority",)
"""Fields that real clients send to `/v2/embed` and that change nothing. Any other unknown field is refused."""


class EmbedRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `texts`, `images` and `inputs` holds what to embed; the other two are absent."""

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
            description="What the vectors are for, by name; the model's profile maps it to an instruction. Always "
            "known: `search_document`, `search_query`, `classification`, `clustering`, `image`, and `query`, "
            "`document` and `passage` for the first two. `/v1/models` lists the names and their instructions. Absent "
            "means the default instruction.",
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
    inputs: Annotated[
        Annotated[list[Content], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="Items of text and pictures, one vector each: the same objects as on `/v1/embeddings`.",
            examples=[[{"content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, in your own words. It takes the place of the instruction that "
            "`input_type` names. Not part of Cohere's API.",
            examples=["Represent the colors of the image."],
        ),
    ] = None
    max_tokens: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
        Meta(
            description="Most tokens of one item, before `truncate` applies. Absent means the model's limit.",
            examples=[512],
        ),
    ] = None
    output_dimension: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
        Meta(
            description="Length of the vectors: the first so many components, normalized again (matryoshka). Absent "
            "means the model's own length; `/v1/models` lists what is offered.",
            examples=[64],
        ),
    ] = None
    embedding_types: Annotated[
        Annotated[list[EmbeddingType], Meta(min_length=1, max_length=MAX_EMBEDDING_TYPES)] | None,
        Meta(
            description="Number formats to answer in. The `multi_` ones are of models that give a vector for each "
            "token (`pooling` of `/v1/models`: `multi_vector`), the others of models that give one. What a model "
            "does not give is refused. Absent means `float` alone, or `multi_float`.",
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
    on_error: Annotated[
        OnError | None,
        Meta(
            description="`fail`: one bad item fails the request, and the error names its index. `per_item`: good items "
            "are answered, a bad one has an empty list (an empty string in `base64`) in its place, and `errors` says "
            "why. A body that is malformed fails as a whole either way. Absent means `fail`. Not part of Cohere's API.",
            examples=["per_item"],
        ),
    ] = None
    image_background: ImageBackground = None
    priority: Annotated[
        Annotated[int, Meta(ge=0, le=MAX_PRIORITY)] | None,
        Meta(description="Accepted and ignored.", examples=[0]),
    ] = None


class EmbedImage(Answer, frozen=True, kw_only=True):
    """A picture as it was sent."""

    width: Annotated[int, Meta(description="Pixels across.", examples=[400])]
    height: Annotated[int, Meta(description="Pixels down.", examples=[300])]
    format: Annotated[
        str,
        Meta(
            description="File format, read from the bytes: `png`, `jpeg`, `webp`, `gif`; `image_embeds` for a picture "
            "that came as features, whose size is the grid's.",
            examples=["jpeg"],
        ),
    ]
    bit_depth: Annotated[int, Meta(description="Bits of one pixel: 24 for RGB.", examples=[24])]


class EmbedApiVersion(Answer, frozen=True, kw_only=True):
    """The version of Cohere's API that this answer follows."""

    version: Annotated[str, Meta(description="`2`; on `/v1/embed` `1`.", examples=["2"])] = "2"


class EmbedBilledUnits(Answer, frozen=True, kw_only=True):
    """What the answered inputs cost, in Cohere's units: `input_tokens` and `image_tokens` have no token in common.

    They add up to `usage.prompt_tokens` of `/v1/embeddings`. A failed input costs nothing; one that comes twice, or
    whose vector was kept, counts as any other.
    """

    input_tokens: Annotated[Count, Meta(description="Tokens that stand for text, template and audio.", examples=[22])]
    image_tokens: Annotated[Count, Meta(description="Tokens that stand for pictures and videos.", examples=[4])]
    images: Annotated[Count, Meta(description="Pictures that were answered; videos are not counted.", examples=[1])]


class EmbedTokens(Answer, frozen=True, kw_only=True):
    """Tokens that the model read."""

    input_tokens: Annotated[Count, Meta(description="Tokens of text, template and pictures together.", examples=[26])]


class EmbedMeta(Answer, frozen=True, kw_only=True):
    """Facts about the answer."""

    api_version: Annotated[EmbedApiVersion, Meta(description="The API version.")] = EmbedApiVersion()
    billed_units: Annotated[EmbedBilledUnits, Meta(description="What the request cost.")]
    tokens: Annotated[EmbedTokens | UnsetType, Meta(description="Tokens that the model read.")] = UNSET
    truncated_inputs: Annotated[
        list[Count], Meta(description="Which inputs had text cut off to fit, counted from 0.", examples=[[1]])
    ]
    warnings: Annotated[
        list[str] | UnsetType,
        Meta(
            description="What the caller should know, such as a text that was cut off. Absent when there is nothing.",
            examples=[["`texts[1]` was cut to 512 tokens"]],
        ),
    ] = UNSET


class EmbedResponse(Answer, frozen=True, kw_only=True):
    """The vectors by number format."""

    id: Annotated[str, Meta(description="`embd-` and the request id.", examples=["embd-0f9c2a7d41b84e6f"])]
    response_type: Annotated[
        Literal["embeddings_by_type"], Meta(description="Always `embeddings_by_type`.", examples=["embeddings_by_type"])
    ] = "embeddings_by_type"
    embeddings: Annotated[EmbedVectors, Meta(description="The vectors.")]
    texts: Annotated[
        list[str], Meta(description="The `texts` of the request; empty when it had none.", examples=[["a red bicycle"]])
    ]
    images: Annotated[
        list[EmbedImage] | UnsetType,
        Meta(description="The pictures of the request, in order; absent when it had none."),
    ] = UNSET
    errors: Annotated[
        list[ErrorBody] | UnsetType,
        Meta(
            description="Why inputs have no vector, each with its `index`; only with `on_error: per_item`, and absent "
            "when all is well."
        ),
    ] = UNSET
    meta: Annotated[EmbedMeta, Meta(description="Facts about the answer.")]
