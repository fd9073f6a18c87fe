"""Vectors as Cohere's answers hold them: one list for each number format.

The `multi_` formats, `sparse` and `sparse_tokens` are ours: several vectors per input, and sparse ones, have fields of
their own, so that each field always has one shape.

Source: Cohere's OpenAPI document, commit e814c8a, for those without `multi_`.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer
from schemas.limits import MAX_INT32

EmbeddingType = Literal[
    "float",
    "int8",
    "uint8",
    "binary",
    "ubinary",
    "base64",
    "multi_float",
    "multi_int8",
    "multi_uint8",
    "multi_binary",
    "multi_ubinary",
    "multi_base64",
    "sparse",
    "sparse_tokens",
]
"""Number format of vectors, or a form of sparse ones; a request may ask for several."""

Int8 = Annotated[int, Meta(ge=-128, le=127)]
"""A component, or eight bits, with a sign."""

Uint8 = Annotated[int, Meta(ge=0, le=255)]
"""A component, or eight bits, without a sign."""


TokenWeights = dict[str, float]
"""Weights of vocabulary entries by their text."""


class SparseVector(Answer, frozen=True, kw_only=True):
    """The entries of a vector that are not zero, as vector stores take them."""

    indices: Annotated[
        list[Annotated[int, Meta(ge=0, le=MAX_INT32)]],
        Meta(description="Ids of vocabulary entries, rising.", examples=[[1037, 2417, 10165]]),
    ]
    values: Annotated[list[float], Meta(description="The weight of each, above zero.", examples=[[0.125, 1.5, 2.25]])]


class EmbedVectors(Answer, frozen=True, kw_only=True, rename={"float_": "float"}):
    """The vectors in each format asked for, and no other; every list is parallel to the items of the request.

    Lists called `multi_` hold for each item the list of its vectors, in the order of the tokens of its prompt.
    """

    float_: Annotated[
        list[list[float]] | UnsetType, Meta(description="Components as numbers.", examples=[[[0.5, -0.5, 0.5, 0.5]]])
    ] = UNSET
    int8: Annotated[
        list[list[Int8]] | UnsetType, Meta(description="`uint8` minus 128, so -128 to 127.", examples=[[[64, -64]]])
    ] = UNSET
    uint8: Annotated[
        list[list[Uint8]] | UnsetType,
        Meta(
            description="Components in 8 bits: 255 equal steps over the component's range, which comes with the "
            "checkpoint or is plus and minus 4/√length; see `calibrated_dimensions` of `/v1/models`.",
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
    multi_float: Annotated[
        list[list[list[float]]] | UnsetType,
        Meta(description="A vector for each token. Components as numbers.", examples=[[[[0.6, -0.8], [0.8, 0.6]]]]),
    ] = UNSET
    multi_int8: Annotated[
        list[list[list[Int8]]] | UnsetType,
        Meta(description="A vector for each token. Components as in `int8`.", examples=[[[[64, -64], [96, 16]]]]),
    ] = UNSET
    multi_uint8: Annotated[
        list[list[list[Uint8]]] | UnsetType,
        Meta(description="A vector for each token. Components as in `uint8`.", examples=[[[[192, 64], [224, 144]]]]),
    ] = UNSET
    multi_binary: Annotated[
        list[list[list[Int8]]] | UnsetType,
        Meta(description="A vector for each token. Bits as in `binary`.", examples=[[[[54], [-1]]]]),
    ] = UNSET
    multi_ubinary: Annotated[
        list[list[list[Uint8]]] | UnsetType,
        Meta(description="A vector for each token. Bits as in `ubinary`.", examples=[[[[182], [127]]]]),
    ] = UNSET
    multi_base64: Annotated[
        list[str] | UnsetType,
        Meta(
            description="A vector for each token. Base64 of the little-endian float32 components, one vector after "
            "another: `dimensions` of `/v1/models` times 4 bytes each.",
            examples=[["mpkZP83MTL/NzEw/mpkZPw=="]],
        ),
    ] = UNSET
    sparse: Annotated[
        list[SparseVector] | UnsetType,
        Meta(description="The weights of a few vocabulary entries for each item; a failed item has none."),
    ] = UNSET
    sparse_tokens: Annotated[
        list[TokenWeights] | UnsetType,
        Meta(
            description="The same weights under the vocabulary's entries themselves, as Elasticsearch and OpenSearch "
            "take them: each as it stands in the tokenizer's vocabulary, with its marks of blanks and word parts, so "
            "that no two are alike. A failed item has none.",
            examples=[[{"a": 0.125, "red": 1.5, "##cycle": 2.25}]],
        ),
    ] = UNSET
