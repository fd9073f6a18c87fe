"""`POST /v1/embeddings`: OpenAI's request and answer, extended by images, conversations and instructions.

Rules that join fields are in `schemas.parsing.rules`.
"""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from schemas.base import Answer, Count, Wire
from schemas.content.messages import MessageOrConversation
from schemas.content.parts import ImageBackground
from schemas.fields import (
    CreatedField,
    DimensionsField,
    EmbeddingIdField,
    EmbedDtypeField,
    EndiannessField,
    IndexField,
    InputsField,
    ItemErrorField,
    ListField,
    ModelField,
    NormalizeField,
    OnError,
    PartOrderField,
    ServedModelField,
    Truncate,
    TruncatePromptTokensField,
    TruncationSideField,
)
from schemas.limits import MAX_INPUTS, MAX_TOKEN_IDS
from schemas.usage import Usage

EncodingFormat = Literal["float", "base64"]
"""Encoding of a vector: JSON numbers, or base64 of little-endian float32."""

EmbeddingInput = str | Annotated[list[str | int | list[int]], Meta(min_length=1, max_length=MAX_TOKEN_IDS)]
"""A text, texts (`schemas.parsing.rules` bounds them by `MAX_INPUTS`), or token ids where a server accepts them."""

Embedding = list[float] | str | None
"""A vector in the format that `encoding_format` asked for; None where the item failed."""

IGNORED_FIELDS = ("user", "timeout", "stream")
"""Fields that real clients send to `/v1/embeddings` and that change nothing. Any other unknown field is refused."""


class EmbeddingRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `input`, `messages` and `inputs` holds what to embed; the other two are absent."""

    model: ModelField = None
    input: Annotated[
        EmbeddingInput | None,
        Meta(
            description="A text, or texts: one vector each. The empty string is a text. Token arrays are refused; with "
            "LangChain's OpenAIEmbeddings set `check_embedding_ctx_length=False`. A server started with "
            "`--token-arrays accept` takes an array of this model's token ids, or an array of such arrays, each as a "
            "whole prompt: nothing is added to it (`accepts_token_arrays` of `/v1/models`). This document lists texts "
            "only, since many client generators cannot send the union.",
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
    inputs: InputsField = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors are for; it is put before every item. Absent means the model's default. "
            "Refused together with a system message, which has the same role.",
            examples=["Retrieve images or text relevant to the user's query."],
        ),
    ] = None
    input_type: Annotated[
        str | None,
        Meta(
            description="What the vectors are for, by name, as on `/v2/embed`: an instruction that `/v1/models` lists. "
            "`query` means `search_query`; `document` and `passage` mean `search_document`. An `instruction` or a "
            "system message takes precedence.",
            examples=["query"],
        ),
    ] = None
    part_order: PartOrderField = None
    late_chunking: Annotated[
        bool | None,
        Meta(
            description="Whether the strings of `input` are consecutive chunks of one text (Jina's field). The model "
            "reads the text as a whole, and each chunk's vector is the mean of its own tokens, which have seen the "
            "rest. Nothing is put between chunks: cut them from the text with their blanks. A text over the model's "
            "limit goes through it in windows of whole chunks, later ones behind up to 256 tokens of context. For "
            "models that pool by the mean (`late_chunking` of `/v1/models`) and texts in `input`; not with `on_error: "
            "per_item`. Absent means false.",
            examples=[False],
        ),
    ] = None
    dimensions: DimensionsField = None
    encoding_format: Annotated[
        EncodingFormat | None,
        Meta(
            description="How a vector is encoded in JSON. Absent means `float`. Raw answers (`Accept: "
            "application/octet-stream`) are not JSON and ignore it.",
            examples=["base64"],
        ),
    ] = None
    embed_dtype: EmbedDtypeField = None
    endianness: EndiannessField = None
    normalize: NormalizeField = None
    on_error: Annotated[
        OnError | None,
        Meta(
            description="`fail`: one bad item fails the request, and the error names its index. `per_item`: good items "
            "are answered, and a bad one has `embedding: null` and an `error`. A malformed body fails as a whole. "
            "Absent means `fail`.",
            examples=["per_item"],
        ),
    ] = None
    add_generation_prompt: Annotated[
        bool | None,
        Meta(
            description="Whether the header of an assistant turn follows the last message. Absent means as the model's "
            "reference does. Refused together with `continue_final_message`.",
            examples=[True],
        ),
    ] = None
    continue_final_message: Annotated[
        bool | None,
        Meta(
            description="Whether the last message is left open, without its end marker; only with `messages`, and the "
            "last one must hold text. Absent means as the model's reference does.",
            examples=[False],
        ),
    ] = None
    add_special_tokens: Annotated[
        bool | None,
        Meta(
            description="Whether the tokenizer adds its own special tokens around the prompt. Absent means as the "
            "model's reference does.",
            examples=[True],
        ),
    ] = None
    truncate_prompt_tokens: TruncatePromptTokensField = None
    truncation_side: TruncationSideField = None
    truncate: Annotated[
        Truncate | None,
        Meta(
            description="Truncation as Cohere and NVIDIA name it: a text over the model's limit loses its `END` or its "
            "`START`, or is an error (`NONE`). Refused together with `truncate_prompt_tokens`.",
            examples=["END"],
        ),
    ] = None
    truncation: Annotated[
        bool | None,
        Meta(
            description="Truncation as Voyage names it: whether a text over the model's limit is cut. Refused together "
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


class ChunkPlace(Answer, frozen=True, kw_only=True):
    """Where a chunk lies in the text that the chunks of a request with `late_chunking` are."""

    start: Annotated[
        Count, Meta(description="Its first character, in Unicode code points from the text's start.", examples=[0])
    ]
    end: Annotated[Count, Meta(description="The character behind its last.", examples=[48])]
    num_tokens: Annotated[
        Count, Meta(description="Its tokens, without those that the model puts around a text.", examples=[11])
    ]


class EmbeddingData(Answer, frozen=True, kw_only=True):
    """One vector."""

    object: Annotated[Literal["embedding"], Meta(description="Always `embedding`.", examples=["embedding"])] = (
        "embedding"
    )
    index: IndexField
    embedding: Annotated[
        Embedding,
        Meta(
            description="The vector: numbers, or with `encoding_format: base64` the base64 of its components "
            "(little-endian float32 unless asked otherwise). Null only beside `error`.",
            examples=[[0.5, -0.5, 0.5, 0.5]],
        ),
    ]
    truncated: Annotated[bool, Meta(description="Whether text of this item was cut off to fit.", examples=[False])]
    span: Annotated[
        ChunkPlace | UnsetType, Meta(description="The chunk's place in the text. Only with `late_chunking`.")
    ] = UNSET
    error: ItemErrorField = UNSET


class EmbeddingResponse(Answer, frozen=True, kw_only=True):
    """The vectors, in the order of the request."""

    id: EmbeddingIdField
    object: ListField = "list"
    created: CreatedField
    model: ServedModelField
    data: Annotated[list[EmbeddingData], Meta(description="One entry for each item of the request, in order.")]
    usage: Annotated[Usage, Meta(description="The cost of the request.")]
