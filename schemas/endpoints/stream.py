"""`POST /v1/embeddings/stream`: any number of lines of JSON in, and as many out.

Options of the whole stream are query parameters (`StreamOptions`), so that they are known before the first line. Each
line is a `StreamLine`, an item of `/v1/embeddings` with a client's id, answered by one `StreamVector` or
`StreamFailure`; a complete answer ends with a `StreamEnd`. `schemas.parsing.stream_request` makes requests of lines.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content.messages import Conversation
from schemas.content.parts import ContentParts, ImageBackground
from schemas.endpoints.embeddings import Embedding, EncodingFormat
from schemas.errors import ErrorBody
from schemas.fields import (
    DimensionsField,
    EmbedDtypeField,
    EndiannessField,
    Fingerprint,
    ModelField,
    NormalizeField,
    PartOrderField,
    ServedModelField,
    TruncatePromptTokensField,
    TruncationSideField,
)
from schemas.limits import MAX_LINE_ID_CHARS
from schemas.usage import Usage

LineId = Annotated[str, Meta(max_length=MAX_LINE_ID_CHARS)]
"""A client's name for a line."""

EXAMPLE_ID = "sku-1234"


class StreamOptions(Wire, frozen=True, kw_only=True):
    """Options of all lines: the query parameters of `/v1/embeddings/stream`."""

    model: ModelField = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, for lines with neither an instruction nor a system message. Absent "
            "means the model's default.",
            examples=["Represent the colors of the image."],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v1/embeddings`, if neither the line nor the stream "
            "has an instruction.",
            examples=["passage"],
        ),
    ] = None
    part_order: PartOrderField = None
    dimensions: DimensionsField = None
    encoding_format: Annotated[
        EncodingFormat | None,
        Meta(
            description="How a line encodes its vector. `base64` has a third of the bytes of `float` and is faster for "
            "server and client. Absent means `float`.",
            examples=["base64"],
        ),
    ] = None
    embed_dtype: EmbedDtypeField = None
    endianness: EndiannessField = None
    normalize: NormalizeField = None
    truncate_prompt_tokens: TruncatePromptTokensField = None
    truncation_side: TruncationSideField = None
    image_background: ImageBackground = None


class StreamLine(Wire, frozen=True, kw_only=True):
    """One line of the body: exactly one of `input`, `content` and `messages` holds what to embed."""

    id: Annotated[
        LineId | None,
        Meta(
            description="Your own name for the line, repeated in its answer. It need not be unique. Absent means that "
            "`index` alone says which line an answer belongs to.",
            examples=[EXAMPLE_ID],
        ),
    ] = None
    input: Annotated[
        str | None, Meta(description="A text. The empty string is one.", examples=["a red bicycle against a wall"])
    ] = None
    content: Annotated[
        str | ContentParts | None,
        Meta(
            description="An item of text and images, as one of `inputs` of `/v1/embeddings`, in the stream's "
            "`part_order`. A bare string is accepted too and means one text part; this document lists only the array.",
            examples=[[{"type": "text", "text": "a red bicycle"}]],
        ),
    ] = None
    messages: Annotated[
        Conversation | None,
        Meta(
            description="One conversation, as `messages` of `/v1/embeddings`.",
            examples=[[{"role": "user", "content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What this vector is for. Absent means the stream's own `instruction`.",
            examples=["Represent the shapes of the image."],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What this vector is for, by name, where the line has no instruction. Absent means the "
            "stream's own.",
            examples=["query"],
        ),
    ] = None


class StreamVector(Answer, frozen=True, kw_only=True, tag_field="type", tag="embedding"):
    """The vector of a line."""

    index: Annotated[
        Count,
        Meta(description="Index of the line in the body, counted from 0; blank lines count.", examples=[0]),
    ]
    id: Annotated[
        str | UnsetType, Meta(description="The line's `id`; absent when it had none.", examples=[EXAMPLE_ID])
    ] = UNSET
    embedding: Annotated[
        Embedding, Meta(description="The vector, as on `/v1/embeddings`.", examples=[[0.5, -0.5, 0.5, 0.5]])
    ]
    truncated: Annotated[bool, Meta(description="Whether text was cut off to fit.", examples=[False])]
    prompt_tokens: Annotated[Count, Meta(description="Tokens that the model read.", examples=[26])]
    image_tokens: Annotated[Count, Meta(description="Those of them that stand for images.", examples=[0])]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Images whose features were in the encoder cache.", examples=[0])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Images that the vision tower had to encode.", examples=[0])
    ]


class StreamFailure(Answer, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """Why a line has no vector. The stream goes on."""

    index: Annotated[
        Count, Meta(description="Index of the line in the body, counted from 0; blank lines count.", examples=[7])
    ]
    id: Annotated[
        str | UnsetType,
        Meta(description="The line's `id`; absent when it had none that could be read.", examples=[EXAMPLE_ID]),
    ] = UNSET
    error: Annotated[ErrorBody, Meta(description="What went wrong; its `index` is the line's.")]


class StreamEnd(Answer, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """The last line. An answer without it was cut off: lines may have been read that were not answered."""

    complete: Annotated[
        bool,
        Meta(
            description="Whether the body was read to its end. If not, `error` says why; send the lines from "
            "`num_lines` on again.",
            examples=[True],
        ),
    ]
    num_lines: Annotated[
        Count, Meta(description="Lines that were read, blank ones included; all were answered.", examples=[2])
    ]
    num_answered: Annotated[Count, Meta(description="Lines answered with a vector.", examples=[1])]
    num_failed: Annotated[Count, Meta(description="Lines answered with an error.", examples=[1])]
    model: ServedModelField
    fingerprint: Fingerprint
    usage: Annotated[Usage, Meta(description="The cost of the stream.")]
    error: Annotated[
        ErrorBody | UnsetType,
        Meta(description="Why the rest of the body was not read; absent if `complete` is true."),
    ] = UNSET


StreamAnswer = StreamVector | StreamFailure | StreamEnd
"""A line of the answer; `type` says which."""
