"""`POST /v2/embed`: Cohere's request and answer.

Shapes and single-field bounds only. Rules that join fields are in `schemas.rules`; which `input_type` names exist and
which number formats a model can give is for the model's profile.

Source: Cohere's OpenAPI document, commit e814c8a, and what its SDK 7.3.1 sends (shared/reference/api-contract.md, 2).
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content import Content, ImageBackground
from schemas.embeddings import OnError
from schemas.errors import ErrorBody
from schemas.example_image import EXAMPLE_IMAGE
from schemas.limits import MAX_EMBEDDING_TYPES, MAX_INPUTS, MAX_INT32, MAX_PRIORITY

EmbeddingType = Literal["float", "int8", "uint8", "binary", "ubinary", "base64"]
"""How vectors are written; several may be asked for at once."""

Truncate = Literal["NONE", "START", "END"]
"""What happens to a text that is too long: an error, or its start or its end is cut off."""

COHERE_INPUT_TYPES = ("search_document", "search_query", "classification", "clustering", "image")
"""The five names that Cohere's clients send as `input_type`. Every profile accepts them and may add more."""

Int8 = Annotated[int, Meta(ge=-128, le=127)]
"""A component, or eight bits, with a sign."""

Uint8 = Annotated[int, Meta(ge=0, le=255)]
"""A component, or eight bits, without a sign."""

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
            "known: `search_document`, `search_query`, `classification`, `clustering`, `image`. `/v1/models` lists "
            "the names and their instructions. Absent means the default instruction.",
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
        Meta(description="Number formats to answer in. Absent means `float` alone.", examples=[["float", "ubinary"]]),
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


class EmbedVectors(Answer, frozen=True, kw_only=True, rename={"float_": "float"}):
    """The vectors in each format asked for, and no other; every list is parallel to the items of the request."""

    float_: Annotated[
        list[list[float]] | UnsetType, Meta(description="Components as numbers.", examples=[[[0.5, -0.5, 0.5, 0.5]]])
    ] = UNSET
    int8: Annotated[
        list[list[Int8]] | UnsetType, Meta(description="`uint8` minus 128, so -128 to 127.", examples=[[[64, -64]]])
    ] = UNSET
    uint8: Annotated[
        list[list[Uint8]] | UnsetType,
        Meta(
            description="Components in 8 bits: 255 equal steps over the range of the component, which the checkpoint "
            "ships or which is plus and minus 4/√length (`calibrated_dimensions` of `/v1/models` tells); 0 to 255.",
            examples=[[[192, 64]]],
        ),
    ] = UNSET
    binary: Annotated[
        list[list[Int8]] | UnsetType,
        Meta(
            description="One bit for each component, eight to a number: `ubinary` minus 128, so -128 to 127.",
            examples=[[[54]]],
        ),
    ] = UNSET
    ubinary: Annotated[
        list[list[Uint8]] | UnsetType,
        Meta(
            description="One bit for each component (1 when >= 0), eight to a number, highest first: 0 to 255.",
            examples=[[[182]]],
        ),
    ] = UNSET
    base64: Annotated[
        list[str] | UnsetType,
        Meta(description="Base64 of the little-endian float32 components.", examples=[["AAAAPwAAAL8AAAA/AAAAPw=="]]),
    ] = UNSET


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
    """What the request cost, in Cohere's units."""

    input_tokens: Annotated[Count, Meta(description="Tokens that stand for text and template.", examples=[22])]
    image_tokens: Annotated[Count, Meta(description="Tokens that stand for pictures and videos.", examples=[4])]
    images: Annotated[Count, Meta(description="Pictures of the request; videos are not counted.", examples=[1])]


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
