"""`POST /v1/embeddings`: OpenAI's request and answer, with pictures, conversations and instructions beside them.

Shapes and single-field bounds only; rules that join fields are in `schemas.rules`, model limits in `service.prompt`.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content import Content, ImageBackground
from schemas.errors import ErrorBody
from schemas.limits import MAX_INPUTS, MAX_INT32, MAX_TOKEN_IDS
from schemas.messages import MessageOrConversation
from schemas.usage import Usage

EncodingFormat = Literal["float", "base64"]
"""How a vector is written: JSON numbers, or base64 of little-endian float32."""

TruncationSide = Literal["left", "right"]
"""Which end of a text that is too long goes away: `right` keeps its start, `left` its end."""

Truncate = Literal["NONE", "START", "END"]
"""What happens to a text that is too long: an error, or its start or its end is cut off."""

EmbedDtype = Literal["float32", "float16", "bfloat16"]
"""Number format of a vector's components."""

Endianness = Literal["native", "little", "big"]
"""Byte order of components; `native` is little."""

OnError = Literal["fail", "per_item"]
"""What a bad item does: fail the request, or carry an error in its own place."""

EmbeddingInput = str | Annotated[list[str | int | list[int]], Meta(min_length=1, max_length=MAX_TOKEN_IDS)]
"""Text, texts (at most `MAX_INPUTS`, says `schemas.rules`), or token ids where a server accepts them."""

Embedding = list[float] | str | None
"""A vector in the format that `encoding_format` asked for; None where the item failed."""

IGNORED_FIELDS = ("user", "timeout", "stream")
"""Fields that real clients send to `/v1/embeddings` and that change nothing. Any other unknown field is refused."""


class EmbeddingRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `input`, `messages` and `inputs` holds what to embed; the other two are absent."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    input: Annotated[
        EmbeddingInput | None,
        Meta(
            description="A text, or texts: one vector each. The empty string is a text. Token arrays are refused; with "
            "LangChain's OpenAIEmbeddings set `check_embedding_ctx_length=False`. A server started with "
            "`--token-arrays accept` takes an array of this model's token ids, or an array of such arrays, each as a "
            "whole prompt: nothing is added to it. This document lists texts only, since many client generators cannot "
            "send the union; `/v1/models` says `accepts_token_arrays`.",
            examples=["a red bicycle against a wall", ["a red bicycle", "a green door"]],
        ),
    ] = None
    messages: Annotated[
        Annotated[list[MessageOrConversation], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="One conversation (a list of messages), which gives ONE vector, or a list of conversations, "
            "which gives one vector each. The two are not mixed.",
            examples=[[{"role": "user", "content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    inputs: Annotated[
        Annotated[list[Content], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="Items of text and pictures, one vector each: the same objects as on `/v2/embed`.",
            examples=[[{"content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for; it stands before every item. Absent means the model's default. "
            "Not together with a system message, which says the same.",
            examples=["Retrieve images or text relevant to the user's query."],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v2/embed`: an instruction that `/v1/models` lists. "
            "`query` means `search_query`; `document` and `passage` mean `search_document`. An `instruction` and a "
            "system message take its place.",
            examples=["query"],
        ),
    ] = None
    dimensions: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_INT32)] | None,
        Meta(
            description="Length of the vectors: the first so many components, normalized again (matryoshka). Absent "
            "means the model's own length; `/v1/models` lists what is offered.",
            examples=[64],
        ),
    ] = None
    encoding_format: Annotated[
        EncodingFormat | None,
        Meta(
            description="How JSON holds a vector. Absent means `float`. Raw answers (`Accept: "
            "application/octet-stream`) are not JSON and pass over it.",
            examples=["base64"],
        ),
    ] = None
    embed_dtype: Annotated[
        EmbedDtype | None,
        Meta(
            description="Number format of the components: of the bytes in base64 and raw answers; numbers of a `float` "
            "answer are rounded to it, and printed in the fewest digits that give the rounded value back as float32. A "
            "component that `float16` cannot hold (above 65504, only with `normalize: false`) is an error of its item. "
            "Absent means `float32`.",
            examples=["float16"],
        ),
    ] = None
    endianness: Annotated[
        Endianness | None,
        Meta(
            description="Byte order of the components in base64 and raw answers. `native` and absent mean `little`.",
            examples=["little"],
        ),
    ] = None
    normalize: Annotated[
        bool | None,
        Meta(
            description="Whether vectors are scaled to length 1 after `dimensions` cut them; false gives the raw "
            "pooled state, cut. Absent means what the model's profile says, which is true for embedding models.",
            examples=[True],
        ),
    ] = None
    on_error: Annotated[
        OnError | None,
        Meta(
            description="`fail`: one bad item fails the request, and the error names its index. `per_item`: good items "
            "are answered, and a bad one has `embedding: null` and an `error` in its place. A body that is malformed "
            "fails as a whole either way. Absent means `fail`.",
            examples=["per_item"],
        ),
    ] = None
    add_generation_prompt: Annotated[
        bool | None,
        Meta(
            description="Whether the header of an assistant turn follows the last message. Absent means what the "
            "model's reference does. Not together with `continue_final_message`.",
            examples=[True],
        ),
    ] = None
    continue_final_message: Annotated[
        bool | None,
        Meta(
            description="Whether the last message is left open, without its end marker; only with `messages`, and the "
            "last one must hold text. Absent means what the model's reference does.",
            examples=[False],
        ),
    ] = None
    add_special_tokens: Annotated[
        bool | None,
        Meta(
            description="Whether the tokenizer adds its own special tokens around the prompt. Absent means what the "
            "model's reference does.",
            examples=[True],
        ),
    ] = None
    truncate_prompt_tokens: Annotated[
        Annotated[int, Meta(ge=-1, le=MAX_INT32)] | None,
        Meta(
            description="Shorten a prompt to so many tokens; -1 means the model's limit. Only text is shortened, never "
            "pictures or the template. Absent means that a prompt over the limit is an error.",
            examples=[512],
        ),
    ] = None
    truncation_side: Annotated[
        TruncationSide | None,
        Meta(description="Which end of the text is cut off. Absent means `right`.", examples=["right"]),
    ] = None
    truncate: Annotated[
        Truncate | None,
        Meta(
            description="The same in the words of Cohere and NVIDIA: a text over the model's limit loses its `END` or "
            "its `START`, or is an error (`NONE`). Not together with `truncate_prompt_tokens`.",
            examples=["END"],
        ),
    ] = None
    truncation: Annotated[
        bool | None,
        Meta(
            description="The same in the words of Voyage: whether a text over the model's limit is cut. Not together "
            "with `truncate` or `truncate_prompt_tokens`.",
            examples=[True],
        ),
    ] = None
    image_background: ImageBackground = None
    user: Annotated[str | None, Meta(description="Accepted and ignored.", examples=["user-1234"])] = None
    timeout: Annotated[float | None, Meta(description="Accepted and ignored.", examples=[600.0])] = None
    stream: Annotated[
        bool | None,
        Meta(description="Accepted and ignored when false; true is refused.", examples=[False]),
    ] = None


class EmbeddingData(Answer, frozen=True, kw_only=True):
    """One vector."""

    object: Annotated[Literal["embedding"], Meta(description="Always `embedding`.", examples=["embedding"])] = (
        "embedding"
    )
    index: Annotated[
        Count,
        Meta(description="Which item of the request this is, counted from 0; entries are in order.", examples=[0]),
    ]
    embedding: Annotated[
        Embedding,
        Meta(
            description="The vector: numbers, or with `encoding_format: base64` the base64 of its components "
            "(little-endian float32 unless asked otherwise). Null only beside `error`.",
            examples=[[0.5, -0.5, 0.5, 0.5]],
        ),
    ]
    truncated: Annotated[bool, Meta(description="Whether text of this item was cut off to fit.", examples=[False])]
    error: Annotated[
        ErrorBody | UnsetType,
        Meta(description="Why this item has no vector; only with `on_error: per_item`, and absent when all is well."),
    ] = UNSET


class EmbeddingResponse(Answer, frozen=True, kw_only=True):
    """The vectors, in the order of the request."""

    id: Annotated[str, Meta(description="`embd-` and the request id.", examples=["embd-0f9c2a7d41b84e6f"])]
    object: Annotated[Literal["list"], Meta(description="Always `list`.", examples=["list"])] = "list"
    created: Annotated[
        int,
        Meta(
            description="When the answer was made, in seconds since 1970.",
            extra_json_schema={"format": "int64"},
            examples=[1790000000],
        ),
    ]
    model: Annotated[str, Meta(description="The model's name as the request gave it.", examples=["builtin"])]
    data: Annotated[list[EmbeddingData], Meta(description="One entry for each item of the request, in order.")]
    usage: Annotated[Usage, Meta(description="What the request cost.")]
