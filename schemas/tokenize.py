"""`POST /tokenize` and `POST /detokenize`: the tokens that a request would have, without embedding it.

Shapes and single-field bounds only. What is counted is what `/v1/embeddings` embeds, so the fields that shape a prompt
are that route's, under the same names; `prompt` is vLLM's name for one text.

Source: vLLM 0.33.0, `/tokenize` and `/detokenize` (shared/reference/api-contract.md 1.14).
"""

from typing import Annotated, Literal

from msgspec import Meta

from schemas.base import Answer, Count, Wire
from schemas.content import Content
from schemas.embeddings import EmbeddingInput, EmbeddingRequest, TruncationSide
from schemas.limits import MAX_INPUTS, MAX_INT32, MAX_TOKEN_IDS
from schemas.messages import MessageOrConversation

TokenIds = list[Count]
"""Ids of the model's own tokenizer."""


class TokenizeRequest(Wire, frozen=True, kw_only=True):
    """Exactly one of `prompt`, `input`, `messages` and `inputs` holds what to tokenize; the other three are absent."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Meta(
            description="One text, under vLLM's name: the same as `input` with one string.",
            examples=["a red bicycle against a wall"],
        ),
    ] = None
    input: Annotated[
        EmbeddingInput | None,
        Meta(
            description="A text, or texts, as on `/v1/embeddings`.",
            examples=["a red bicycle against a wall", ["a red bicycle", "a green door"]],
        ),
    ] = None
    messages: Annotated[
        Annotated[list[MessageOrConversation], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="One conversation, or a list of conversations, as on `/v1/embeddings`.",
            examples=[[{"role": "user", "content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    inputs: Annotated[
        Annotated[list[Content], Meta(min_length=1, max_length=MAX_INPUTS)] | None,
        Meta(
            description="Items of text and pictures, as on `/v1/embeddings`. No picture is decoded.",
            examples=[[{"content": [{"type": "text", "text": "a red bicycle"}]}]],
        ),
    ] = None
    instruction: Annotated[
        str | None,
        Meta(
            description="What the vectors would be for, as on `/v1/embeddings`.",
            examples=["Retrieve images or text relevant to the user's query."],
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
    return_token_strs: Annotated[
        bool | None,
        Meta(description="Whether `token_strs` is answered. Absent means false.", examples=[True]),
    ] = None


class TokenizeData(Answer, frozen=True, kw_only=True):
    """The tokens of one input."""

    object: Annotated[Literal["tokens"], Meta(description="Always `tokens`.", examples=["tokens"])] = "tokens"
    index: Annotated[
        Count,
        Meta(description="Which input of the request this is, counted from 0; entries are in order.", examples=[0]),
    ]
    count: Annotated[Count, Meta(description="Tokens of this input, template and pictures included.", examples=[26])]
    tokens: Annotated[
        TokenIds,
        Meta(description="Their ids; a picture is a run of one id, as long as its tokens.", examples=[[64, 392]]),
    ]
    image_tokens: Annotated[
        Count, Meta(description="Those of `count` that stand for pictures and videos.", examples=[0])
    ]
    truncated: Annotated[bool, Meta(description="Whether text of this input was cut off to fit.", examples=[False])]


class TokenizeResponse(Answer, frozen=True, kw_only=True):
    """vLLM's four fields over all inputs, and each input by itself."""

    count: Annotated[
        Count, Meta(description="Tokens of all inputs: `usage.prompt_tokens` of `/v1/embeddings`.", examples=[26])
    ]
    max_model_len: Annotated[Count, Meta(description="Most tokens of one input.", examples=[8192])]
    tokens: Annotated[
        TokenIds, Meta(description="The ids of all inputs, one input after another.", examples=[[64, 392]])
    ]
    token_strs: Annotated[
        list[str] | None,
        Meta(
            description="The text of each of `tokens`; null unless `return_token_strs` is true. Joined, those of one "
            "input are its prompt's text. A character that spans several tokens stands with the last of them.",
            examples=[["a", " red"]],
        ),
    ]
    data: Annotated[list[TokenizeData], Meta(description="One entry for each input, in order.")]


class DetokenizeRequest(Wire, frozen=True, kw_only=True):
    """Token ids to turn into text."""

    model: Annotated[
        str | None,
        Meta(
            description="The model's id or an alias, as `/v1/models` lists them. Absent means the one that is served.",
            examples=["builtin"],
        ),
    ] = None
    tokens: Annotated[
        Annotated[list[Annotated[int, Meta(ge=0, le=MAX_INT32)]], Meta(max_length=MAX_TOKEN_IDS)],
        Meta(description="Ids of the model's own tokenizer.", examples=[[64, 392]]),
    ]


class DetokenizeResponse(Answer, frozen=True, kw_only=True):
    """The text of the ids."""

    prompt: Annotated[
        str, Meta(description="The text, special tokens included.", examples=["a red bicycle against a wall"])
    ]


def as_embedding_request(request: TokenizeRequest) -> EmbeddingRequest:
    """The request to `/v1/embeddings` whose tokens are asked for.

    Args:
        request: what came; `prompt` becomes `input`.
    """
    return EmbeddingRequest(
        input=request.input if request.prompt is None else request.prompt,
        messages=request.messages,
        inputs=request.inputs,
        instruction=request.instruction,
        add_generation_prompt=request.add_generation_prompt,
        continue_final_message=request.continue_final_message,
        add_special_tokens=request.add_special_tokens,
        truncate_prompt_tokens=request.truncate_prompt_tokens,
        truncation_side=request.truncation_side,
    )
