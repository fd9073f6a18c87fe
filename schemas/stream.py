"""`POST /v1/embeddings/stream`: lines of JSON in, lines of JSON out, however many.

Options that hold for the whole stream are query parameters, `StreamOptions`: they are known before the first line, and
typed clients can send them. Each line is one `StreamLine`, an item as `/v1/embeddings` knows it with an id of the
client's; each is answered by one `StreamVector` or `StreamFailure`, and the last line of every whole answer is the
`StreamEnd`. Shapes only; how lines become requests is in `schemas.stream_request`.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content import ContentParts, ImageBackground
from schemas.embeddings import Embedding, EmbedDtype, EncodingFormat, Endianness, TruncationSide
from schemas.errors import ErrorBody
from schemas.limits import MAX_INT32, MAX_LINE_ID_CHARS
from schemas.messages import Conversation
from schemas.models import Fingerprint
from schemas.usage import Usage

LineId = Annotated[str, Meta(max_length=MAX_LINE_ID_CHARS)]
"""A client's name for a line."""

EXAMPLE_ID = "sku-1234"


class StreamOptions(Wire, frozen=True, kw_only=True):
    """What holds for every line of a stream; the query parameters of `/v1/embeddings/stream`."""

    model: Annotated[
        str | None,
        Meta(description="The model's id or an alias. Absent means the one that is served.", examples=["builtin"]),
    ] = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, where a line has neither an instruction nor a system message of its "
            "own. Absent means the model's default.",
            examples=["Represent the colors of the image."],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v1/embeddings`, where neither a line nor the "
            "stream has an instruction.",
            examples=["passage"],
        ),
    ] = None
    dimensions: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
        Meta(description="Length of the vectors. Absent means the model's own length.", examples=[64]),
    ] = None
    encoding_format: Annotated[
        EncodingFormat | None,
        Meta(
            description="How a line holds its vector. `base64` is a third of the bytes of `float`, and faster at both "
            "ends. Absent means `float`.",
            examples=["base64"],
        ),
    ] = None
    embed_dtype: Annotated[
        EmbedDtype | None,
        Meta(description="Number format of the components. Absent means `float32`.", examples=["float16"]),
    ] = None
    endianness: Annotated[
        Endianness | None,
        Meta(description="Byte order of the components in base64. Absent means `little`.", examples=["little"]),
    ] = None
    normalize: Annotated[
        bool | None,
        Meta(
            description="Whether vectors are scaled to length 1. Absent means what the model's profile says.",
            examples=[True],
        ),
    ] = None
    truncate_prompt_tokens: Annotated[
        Annotated[int, Meta(ge=-1, le=MAX_INT32)] | None,
        Meta(
            description="Shorten prompts to so many tokens; -1 means the model's limit. Absent means that a line over "
            "the limit is answered by an error.",
            examples=[512],
        ),
    ] = None
    truncation_side: Annotated[
        TruncationSide | None,
        Meta(description="Which end of a text is cut off. Absent means `right`.", examples=["right"]),
    ] = None
    image_background: ImageBackground = None


class StreamLine(Wire, frozen=True, kw_only=True):
    """One line of the body: exactly one of `input`, `content` and `messages` holds what to embed."""

    id: Annotated[
        LineId | None,
        Meta(
            description="Your own name for the line; its answer carries it. It need not be the only one of its name. "
            "Absent means that `index` alone says which line an answer belongs to.",
            examples=[EXAMPLE_ID],
        ),
    ] = None
    input: Annotated[
        str | None, Meta(description="A text. The empty string is one.", examples=["a red bicycle against a wall"])
    ] = None
    content: Annotated[
        str | ContentParts | None,
        Meta(
            description="An item of text and pictures, as one of `inputs` of `/v1/embeddings`. A bare string is "
            "accepted too and means one text part; this document lists only the array.",
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
    """A line's vector."""

    index: Annotated[
        Count,
        Meta(description="Which line of the body this is, counted from 0; blank lines count.", examples=[0]),
    ]
    id: Annotated[
        str | UnsetType, Meta(description="The line's `id`; absent when it had none.", examples=[EXAMPLE_ID])
    ] = UNSET
    embedding: Annotated[
        Embedding, Meta(description="The vector, as on `/v1/embeddings`.", examples=[[0.5, -0.5, 0.5, 0.5]])
    ]
    truncated: Annotated[bool, Meta(description="Whether text was cut off to fit.", examples=[False])]
    prompt_tokens: Annotated[Count, Meta(description="Tokens that the model read.", examples=[26])]
    image_tokens: Annotated[Count, Meta(description="Those of them that stand for pictures.", examples=[0])]
    encoder_cache_hits: Annotated[
        Count, Meta(description="Pictures whose features were in the encoder cache.", examples=[0])
    ]
    encoder_cache_misses: Annotated[
        Count, Meta(description="Pictures that the vision tower had to encode.", examples=[0])
    ]


class StreamFailure(Answer, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """Why a line has no vector. The stream goes on."""

    index: Annotated[
        Count, Meta(description="Which line of the body this is, counted from 0; blank lines count.", examples=[7])
    ]
    id: Annotated[
        str | UnsetType,
        Meta(description="The line's `id`; absent when it had none that could be read.", examples=[EXAMPLE_ID]),
    ] = UNSET
    error: Annotated[ErrorBody, Meta(description="What went wrong; its `index` is the line's.")]


class StreamEnd(Answer, frozen=True, kw_only=True, tag_field="type", tag="end"):
    """The last line. An answer without it was cut off: lines may have been read that it does not tell of."""

    complete: Annotated[
        bool,
        Meta(
            description="Whether the body was read to its end. If not, `error` says why, and the lines from "
            "`num_lines` on are to be sent again.",
            examples=[True],
        ),
    ]
    num_lines: Annotated[
        Count, Meta(description="Lines that were read, blank ones included: all of them are answered.", examples=[2])
    ]
    num_answered: Annotated[Count, Meta(description="Lines answered with a vector.", examples=[1])]
    num_failed: Annotated[Count, Meta(description="Lines answered with an error.", examples=[1])]
    model: Annotated[str, Meta(description="The model's name as the query gave it.", examples=["builtin"])]
    fingerprint: Fingerprint
    usage: Annotated[Usage, Meta(description="What the stream cost.")]
    error: Annotated[
        ErrorBody | UnsetType,
        Meta(description="Why the rest of the body was not read; absent when `complete` is true."),
    ] = UNSET


StreamAnswer = StreamVector | StreamFailure | StreamEnd
"""A line of the answer; `type` says which."""
